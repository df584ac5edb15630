"""What all chapters of a five-card stud round share: its memory, its halts, and the faces of cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from daemon.games.desk import Act, Desk, Devices, Fault, GameInput, Refused, Timer
from daemon.games.five_card.programme import programme
from daemon.games.five_card.round import SHOE, STACKS, DealtCard, Deck, Hand, Irregularity, Round, Seat
from daemon.games.five_card.rows import ENDING, TURNS, Phase
from daemon.games.five_card.rules import DECISION, FORTY, RULES_ID, FiveCardRules, of_the_forty, rules_from
from daemon.games.five_card.speaking import speaking_order
from daemon.games.in_force import InForce
from drivers.base import CardDrawn
from drivers.cards import Card, FaceDownCard, parse_card

NO_ROOM: Final = "disk-low"
WRONG_DECK: Final = ("duplicate-card", "foreign-card")  # FC-19
IN_DOUBT: Final = (*WRONG_DECK, "shoe-restarted", "other-face")  # faults that halt a round


class Memory(InForce[FiveCardRules]):
    """The memory of one table. The chapters are mixed into :class:`daemon.games.five_card.game.FiveCard`."""

    name = "five-card"
    rules_id = RULES_ID
    rules_clause = "FC-06"
    shuffle_clause = "FC-02"
    rules_from = staticmethod(rules_from)
    state: Phase
    round: Round | None = None
    _now: Round  # the same for those who know that it is open; two, for it is asked for with every step

    def __init__(self, rules: FiveCardRules) -> None:
        self.play_by(rules)
        self.rules_in_force = False  # until the first record of the journal tells them
        self.seats: dict[int, Seat] = {}  # in the order of dealing
        self.deck = Deck()
        self.last_round_id = 0
        self.raked = 0  # ever, minor units
        self.added = 0  # by the house to a pot that lacked an ante (FC-18), minor units

    def play_by(self, rules: FiveCardRules) -> None:
        super().play_by(rules)
        self._signs = programme(rules, closed=False), programme(rules, closed=True)

    def _open(self, now: Round) -> None:
        self.round = self._now = now

    def _forget(self) -> None:
        self.round = None
        del self._now

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
        return [hand for hand in self._now.live if not hand.all_in]

    def _speaking_order(self) -> list[int]:
        """Of the hands still in; it stays until another face is known or a card is laid."""
        now = self._now
        if now.order is None:
            now.order = speaking_order({hand.seat: hand.up() for hand in now.live})
        if len(now.order) == len(now.live):  # nobody gave up since
            return [*now.order]
        return [seat for seat in now.order if now.hands[seat].still_in]

    def _pay(self, seat: int, amount: int, reason: str, desk: Desk) -> None:
        """From the pot to a stack."""
        self.seats[seat].stack += amount
        desk.move("pot", STACKS[seat], amount, reason)

    # --- halts and time ---------------------------------------------------------------------

    def _halt(self, devices: Devices, faults: Mapping[str, Fault]) -> str:
        """Why nobody may go on now; "" when they may."""
        if faults:
            for code in IN_DOUBT:
                if code in faults:
                    return faults[code].text
        if devices.mode != "shoe" or self.state in ENDING or self._now.by_hand:
            return ""
        return devices.source_trouble()

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
        if not desk.faults:
            return
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

    def _keyed_new(self, act: Act, instead: DealtCard | None = None) -> None:
        """The card that was keyed can be a new one, or ``instead`` of what is known of one. Raises Refused.

        Where the shoe read that face of a card that lies face down, a supervisor says which of the two
        was misread: the open one is what people see.
        """
        face = FaceDownCard(self._keyed(act))
        if face.turn().index not in self._now.faces_seen or (instead is not None and instead.face == face):
            return
        if act.role != "supervisor" or self._seen_by_people(face, instead):
            raise Refused("that card is on the table already", "FC-01", "look again; or wrong-deck")

    def _seen_by_people(self, face: FaceDownCard, but: DealtCard | None) -> bool:
        """Another card than ``but`` lies open with this face, or somebody keyed it so."""
        others = [card for card in self._now.out if card.face == face and card is not but]
        return any(card.open is not None or card.by != SHOE for card in others)

    def _believed(self, card: DealtCard) -> FaceDownCard | None:
        """The face that is known of a card. What the shoe read of a hidden one counts for nothing while
        people see that face elsewhere."""
        if not self._now.misread or card.face is None or card.by != SHOE:
            return card.face
        return None if self._seen_by_people(card.face, card) else card.face

    def _forget_face(self, card: DealtCard) -> None:
        """This card is another one. Its face may still be that of a hidden one, as the shoe read it."""
        now, face = self._now, card.face
        if face is not None and not any(each.face == face and each is not card for each in now.out):
            now.faces_seen.discard(face.turn().index)

    def _read(self, item: GameInput) -> FaceDownCard | None:
        """The face that an input tells, if it can be believed."""
        if isinstance(item, Act):
            return FaceDownCard(parse_card(item.text("card"))) if item.args.get("card") else None
        event = item.event
        assert isinstance(event, CardDrawn)
        return self._told(event)

    def _told(self, event: CardDrawn) -> FaceDownCard | None:
        """The face that the shoe tells: one of the forty, which is on the table once."""
        face = event.face
        if face is None or event.foreign:
            return None
        card = face.turn()
        return face if of_the_forty(card) and card.index not in self._now.faces_seen else None

    def _see(self, face: FaceDownCard | None) -> FaceDownCard | None:
        if face is not None:
            self._now.faces_seen.add(face.turn().index)
            self._now.order = None
        return face

    def _heard(self, event: CardDrawn, desk: Desk) -> FaceDownCard | None:
        """The face that the shoe tells, from now on seen; what cannot be believed is told."""
        face = self._told(event)
        if face is None:
            self._doubt(event, desk)
            return None
        if not event.sure:
            desk.note("FC-19", "a card was read with low confidence: compare it")
        return self._see(face)

    @staticmethod
    def _doubt(event: CardDrawn, desk: Desk) -> None:
        """A face twice, or none of the forty, halts the table until people decide. It is not named."""
        if event.foreign or (event.face is not None and not of_the_forty(event.face.turn())):
            text = f"a card is none of the {len(FORTY)} (FC-01)"
            desk.latch("foreign-card", text, "clear-fault, or wrong-deck")
        elif event.face is not None:
            desk.latch("duplicate-card", "a face came twice in one round", "clear-fault, or wrong-deck")

    def _irregular(self, clause: str, detail: str, desk: Desk) -> None:
        self._now.irregularities.append(Irregularity(clause, detail, desk.at))
        desk.note(clause, detail)


def confirmed(act: Act) -> str:
    """The text of an act, and who gave it."""
    return f"{act.text('text')[:200]} {by_whom(act)}"


def by_whom(act: Act) -> str:
    return f"(confirmed by {act.by[:64] or act.role[:64] or 'the dealer'})"
