"""A dealer's slip put right: an act supersedes an earlier one, before the next irreversible step.

Nothing is edited. The acts of the chapter are played again with the new one in the place of the
old one; what then lies differently on the layout is moved, and both stay in the journal.
The steps that end it: the first card for a bet, the opening of the hands for a decision, the
settlement for what was shown, declared or exposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Final

from daemon.games.caribbean.betting import Betting
from daemon.games.caribbean.misdeals import Misdeals
from daemon.games.caribbean.round import Irregularity, Slip
from daemon.games.caribbean.rows import AFTER_DEAL, LIVE, WITHDRAW, Phase
from daemon.games.caribbean.settling import Settling
from daemon.games.caribbean.showdown import Showdown
from daemon.games.desk import Act, Desk, GameInput, Refused

_CHAPTERS: Final = {
    "bet": ("ante", "progressive", "take-back"),
    "decision": ("raise", "fold"),
    "showing": ("reveal",),
    "declaration": ("declare",),
    "exposure": ("expose",),
}
CHAPTER_OF: Final = {name: chapter for chapter, names in _CHAPTERS.items() for name in names}
_WHILE: Final = {
    "bet": (Phase.BETTING,),
    "decision": (Phase.DECIDING,),
    "showing": AFTER_DEAL,
    "declaration": (Phase.SETTLING,),
    "exposure": LIVE,
}
Way = tuple[Callable[[Act, Desk], None], Callable[[Act, Desk], None]]
Layout = dict[tuple[int, str], int]


class Slips(Betting, Misdeals, Showdown, Settling):
    """A chapter of :class:`daemon.games.caribbean.game.Caribbean`."""

    def remember(self, item: GameInput, desk: Desk) -> None:
        """An act of a chapter was accepted; it may be superseded later."""
        if self.round is not None and isinstance(item, Act):
            self.round.slips.append(Slip(desk.seq, item))

    def supersede(self, act: Act, desk: Desk) -> None:
        """Play the chapter again. Raises Refused, having changed nothing."""
        old = self._superseded(act)
        new = [] if act.name == WITHDRAW else [Slip(desk.seq, act)]
        at = self._now.slips.index(old)
        saved, laid = (deepcopy(self.round), dict(self.carried)), self._layout()
        self._now.slips[at : at + 1] = new
        try:
            self._play_again(old, desk)
        except Refused:
            self.round, self.carried = saved
            raise
        self._move_difference(laid, desk)
        what = "withdrawn" if act.name == WITHDRAW else f"superseded by {act.name}"
        desk.note("CS-06", f"record {old.seq} ({old.act.name} box {old.act.args['box']}) {what}")

    def _superseded(self, act: Act) -> Slip:
        if not act.replaces:
            raise Refused("replaces= is missing", "CS-06", "name the record to withdraw")
        old = next((slip for slip in self._now.slips if slip.seq == act.replaces), None)
        if old is None:
            raise Refused(f"record {act.replaces} is no act of this round that can be replaced", "CS-06")
        chapter = CHAPTER_OF[old.act.name]
        if self.state not in _WHILE[chapter]:
            raise Refused(f"a {chapter} of this round can no longer be put right", "CS-06")
        if act.name != WITHDRAW and CHAPTER_OF.get(act.name) != chapter:
            raise Refused(f"{act.name} cannot take the place of {old.act.name}", "CS-06")
        return old

    def hands_are_known(self, act: Act, desk: Desk) -> bool:
        raised = self._now.raised()
        return not raised or self._all_known(raised, {})

    # --- each chapter played again --------------------------------------------------------

    def _play_again(self, old: Slip, desk: Desk) -> None:
        chapter = CHAPTER_OF[old.act.name]
        ways: Mapping[str, Way] = {
            "ante": (self.may_ante, self.place_ante),
            "progressive": (self.may_bet_progressive, self.place_progressive),
            "take-back": (self.may_take_back, self.take_back),
            "raise": (self.may_raise, self.raise_bet),
            "fold": (self.may_decide, self.fold),
            "reveal": (self.may_show, self.show),
            "declare": (self.may_declare, self.declare),
            "expose": (self.may_expose, self.expose),
        }
        closed, boxes = self._now.closed, set(self._now.boxes)
        self._clear(chapter, old, desk)
        for slip in self._now.slips:
            if CHAPTER_OF[slip.act.name] == chapter:
                self._once_more(slip, ways[slip.act.name], desk)
        self._now.closed = closed
        if self._now.order is not None and self.state is Phase.BETTING and set(self._now.boxes) != boxes:
            raise Refused("the shuffler was told to deal to the boxes as they were", "CS-07")

    def _once_more(self, slip: Slip, way: Way, desk: Desk) -> None:
        """Check and do one act; what it moves is booked as the difference in the end."""
        check, do = way
        quiet = Desk(desk.devices, desk.seq, desk.at, desk.faults)
        quiet.effects = desk.effects
        try:
            check(slip.act, quiet)
        except Refused as refusal:
            text = f"{slip.act.name} of record {slip.seq}: {refusal.reason}"
            raise Refused(text, refusal.clause, refusal.todo) from None
        do(slip.act, quiet)

    def _clear(self, chapter: str, old: Slip, desk: Desk) -> None:
        """Bring the round to where the chapter began."""
        now = self._now
        if chapter == "bet":
            now.boxes, self.carried, now.closed = {}, dict(now.carried_at_opening), False
        for box in now.boxes.values():
            if chapter == "decision":
                box.decision, box.raised = None, 0
            elif chapter == "declaration":
                box.declared = None
        if chapter == "showing":
            self._turn_back(old)
        elif chapter == "exposure":
            self._cover(old, desk)

    def _turn_back(self, old: Slip) -> None:
        """Forget every face that was keyed, and turn down the hand of the slip."""
        now = self._now
        for card in now.dealt.all_cards():
            if card.by_hand:
                card.face, card.by_hand, card.turned = None, False, False
        for slip in (old, *now.slips):
            if slip.act.name == "reveal":
                for card in now.dealt.hands.get(self._place(slip.act), []):
                    card.turned = False
        now.faces_seen = {card.face.turn().index for card in now.dealt.all_cards() if card.face is not None}

    def _cover(self, old: Slip, desk: Desk) -> None:
        """At most one exposure is there in a round that stands: this one."""
        now = self._now
        assert now.exposure is not None
        now.exposure.card.exposed = False
        now.exposure = None
        now.irregularities.append(Irregularity("CS-11b", f"record {old.seq} was a slip", desk.at))

    # --- money ----------------------------------------------------------------------------

    def _layout(self) -> Layout:
        """What lies on every spot, minor units; a carried bet lies nowhere."""
        laid: Layout = {}
        for n, box in self._now.boxes.items():
            bet = box.progressive
            laid[n, "ante"] = box.ante
            laid[n, "raise"] = box.raised
            laid[n, "progressive"] = bet.stake if bet is not None and not bet.carried else 0
        return laid

    def _move_difference(self, before: Layout, desk: Desk) -> None:
        after = self._layout()
        for n, spot in sorted({*before, *after}):
            more = after.get((n, spot), 0) - before.get((n, spot), 0)
            source, target = f"player.{n}", f"{spot}.{n}"
            if more < 0:
                source, target = target, source
            desk.move(source, target, abs(more), "corrected")
