"""What all chapters of a five-card stud round share: its memory, its halts, and the faces of cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from daemon.games.desk import Act, Desk, DeviceNews, Devices, Fault, GameInput, Refused, Timer
from daemon.games.five_card.round import Deck, Hand, Irregularity, Round, Seat
from daemon.games.five_card.rows import TURNS, Phase
from daemon.games.five_card.rules import DECISION, FORTY, RULES_ID, FiveCardRules, of_the_forty
from daemon.games.five_card.speaking import speaking_order
from drivers.base import CardDrawn
from drivers.cards import Card, FaceDownCard, parse_card

NO_ROOM: Final = "disk-low"
WRONG_DECK: Final = ("duplicate-card", "foreign-card")  # FC-19
IN_DOUBT: Final = (*WRONG_DECK, "shoe-restarted", "other-face")  # faults that halt a round


class Memory:
    """The memory of one table. The chapters are mixed into :class:`daemon.games.five_card.game.FiveCard`."""

    name = "five-card"
    rules_id = RULES_ID
    state: Phase
    rules: FiveCardRules
    fingerprint: str

    def __init__(self, rules: FiveCardRules) -> None:
        self.play_by(rules)
        self.rules_in_force = False  # until the first record of the journal tells them
        self.seats: dict[int, Seat] = {}  # in the order of dealing
        self.deck = Deck()
        self.round: Round | None = None
        self.last_round_id = 0
        self.raked = 0  # ever, minor units
        self.added = 0  # by the house to a pot that lacked an ante (FC-18), minor units

    def play_by(self, rules: FiveCardRules) -> None:
        """These rules are in force from now on."""
        self.rules = rules
        self.fingerprint = rules.fingerprint()
        self.rules_in_force = True

    @property
    def _now(self) -> Round:
        if self.round is None:
            raise RuntimeError("no round is open")
        return self.round

    # --- seats and hands --------------------------------------------------------------------

    def _seat_number(self, act: Act) -> int:
        number = act.number("seat")
        if not 1 <= number <= self.rules.seats:
            raise Refused(f"there is no seat {number}", "FC-03", f"seats are 1 to {self.rules.seats}")
        return number

    def _seat(self, act: Act) -> Seat:
        number = self._seat_number(act)
        seat = self.seats.get(number)
        if seat is None:
            raise Refused(f"nobody sits at seat {number}", "FC-06", "buy-in first")
        return seat

    def _holds_hand(self, seat: int) -> bool:
        """This seat's chips or cards may still change hands in the running round."""
        hand = self.round.hands.get(seat) if self.round else None
        return hand is not None and hand.still_in

    def _with_chips(self) -> list[Hand]:
        """The hands still in that are not all-in (FC-15)."""
        return [hand for hand in self._now.still_in() if not hand.all_in]

    def _speaking_order(self) -> list[int]:
        return speaking_order({hand.seat: hand.up() for hand in self._now.still_in()})

    def _pay(self, seat: int, amount: int, reason: str, desk: Desk) -> None:
        """From the pot to a stack."""
        self.seats[seat].stack += amount
        desk.move("pot", f"stack.{seat}", amount, reason)

    # --- halts and time ---------------------------------------------------------------------

    def _halt(self, devices: Devices, faults: Mapping[str, Fault]) -> str:
        """Why nobody may go on now; "" when they may."""
        for code in IN_DOUBT:
            if code in faults:
                return faults[code].text
        lost = devices.mode == "shoe" and self.state not in (Phase.SHOWDOWN, Phase.SETTLING)
        return devices.source_trouble() if lost and not self._now.by_hand else ""

    def _not_halted(self, desk: Desk) -> None:
        why = self._halt(desk.devices, desk.faults)
        if why:
            raise Refused(
                f"the table is halted: {why}", "FC-16", "wait for the device, or hand-entry; or clear-fault"
            )

    def timer(self, devices: Devices, faults: Mapping[str, Fault]) -> Timer | None:
        """The two minutes of whoever has to decide now (FC-16)."""
        if self.state not in TURNS or self._halt(devices, faults):
            return None
        return Timer(self._now.turn, DECISION)

    def deck_in_doubt(self, act: Act, desk: Desk) -> None:
        for code in IN_DOUBT:
            if code in desk.faults:
                raise Refused(desk.faults[code].text, "FC-19", "clear-fault, or wrong-deck by a supervisor")

    # --- faces --------------------------------------------------------------------------------

    def _keyed(self, act: Act) -> Card:
        """The card that the dealer keyed. A card that is on the table already is none he can see."""
        try:
            card = parse_card(act.text("card"))
        except ValueError:
            raise Refused(
                "that is no card", "FC-01", "card= a rank A K Q J 10 to 5, a suit S H C D"
            ) from None
        if not of_the_forty(card):
            raise Refused("that card is none of the forty", "FC-01", "look again; or wrong-deck")
        return card

    def _keyed_new(self, act: Act) -> Card:
        card = self._keyed(act)
        if card.index in self._now.faces_seen:
            raise Refused("that card is on the table already", "FC-01", "look again; or wrong-deck")
        return card

    def _read(self, item: GameInput) -> FaceDownCard | None:
        """The face that an input tells, if it can be believed."""
        if isinstance(item, Act):
            return FaceDownCard(parse_card(item.text("card"))) if item.args.get("card") else None
        event = item.event
        assert isinstance(event, CardDrawn)
        if event.face is None or event.foreign or not of_the_forty(event.face.turn()):
            return None
        return None if event.face.turn().index in self._now.faces_seen else event.face

    def _see(self, face: FaceDownCard | None) -> FaceDownCard | None:
        if face is not None:
            self._now.faces_seen.add(face.turn().index)
        return face

    def _doubts(self, item: GameInput, desk: Desk) -> None:
        """A face twice, or none of the forty, halts the table until people decide. It is not named."""
        event = item.event if isinstance(item, DeviceNews) else None
        if not isinstance(event, CardDrawn):
            return
        if event.foreign or (event.face is not None and not of_the_forty(event.face.turn())):
            text = f"a card is none of the {len(FORTY)} (FC-01)"
            desk.latch("foreign-card", text, "clear-fault, or wrong-deck")
        elif event.face is not None and self._read(item) is None:
            desk.latch("duplicate-card", "a face came twice in one round", "clear-fault, or wrong-deck")
        elif event.face is not None and not event.sure:
            desk.note("FC-19", "a card was read with low confidence: compare it")

    def _irregular(self, clause: str, detail: str, desk: Desk) -> None:
        self._now.irregularities.append(Irregularity(clause, detail, desk.at))
        desk.note(clause, detail)


def supervisor(act: Act, clause: str) -> None:
    if act.role != "supervisor":
        raise Refused(f"{act.name} is a supervisor's act now", clause, "role=supervisor")


def confirmed(act: Act) -> str:
    """The text of an act, and who gave it."""
    return f"{act.text('text')[:200]} (confirmed by {act.by[:64] or act.role[:64] or 'the dealer'})"
