"""The round of five-card stud as a table: every state, every input, and what is meant to happen.

``ROWS`` are the transitions, ``REFUSALS`` the inputs a state does not accept. Together they
decide every pair of state and input; a test walks them all.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from daemon.games.machine import No, Row


class Phase(Enum):
    """Where a round stands. The number of the betting round is the round's own, 1 to 4."""

    # The library's own is written in Python, as is the way to a member by its name: with every input
    # a phase is looked up, and a game compares with the names below.
    __hash__ = object.__hash__

    OUT_OF_SERVICE = "out-of-service"
    BETWEEN_ROUNDS = "between-rounds"
    ANTES = "antes"
    DEALING = "dealing"
    OPENING = "opening"  # the first betting round: bet or be out (FC-10)
    SPEAKING = "speaking"  # a later one before its first bet: fold, check or bet (FC-11)
    ANSWERING = "answering"  # a bet is down: fold, call or raise
    SHOWDOWN = "showdown"
    SETTLING = "settling"


OUT, REST, ANTES, DEALING = Phase.OUT_OF_SERVICE, Phase.BETWEEN_ROUNDS, Phase.ANTES, Phase.DEALING
OPENING, SPEAKING, ANSWERING = Phase.OPENING, Phase.SPEAKING, Phase.ANSWERING
SHOWDOWN, SETTLING = Phase.SHOWDOWN, Phase.SETTLING

TURNS: Final = (OPENING, SPEAKING, ANSWERING)
BEFORE: Final = (REST, ANTES)
IDLE: Final = (OUT, *BEFORE)
ENDING: Final = (SHOWDOWN, SETTLING)
LIVE: Final = (DEALING, *TURNS, *ENDING)
OPEN: Final = (*BEFORE, *LIVE)

ACTS: Final = (
    "open-table", "close-table", "change-rules", "buy-in", "top-up", "leave", "new-deck", "shuffle", "cut",
    "ante", "take-back", "burn", "card", "hand-entry", "expose-hole", "correct-deal", "wrong-deck",
    "bet", "call", "raise", "check", "fold", "reveal", "settle", "breach",
)  # fmt: skip
NEWS: Final = ("card-drawn", "cut-card", "stray-cards", "shoe-restarted", "deck-source-changed", "time-up")
# An act that keys a card again: it names the record it replaces.
CORRECT: Final = "correct"
KEYS_CARDS: Final = ("card", "reveal")
TRIGGERS: Final = (*ACTS, *NEWS, CORRECT)


# fmt: off
def _turn(trigger: str, state: Phase, check: str, do: str) -> tuple[Row, ...]:
    """An act of the player whose turn it is, and all that it may lead to."""
    ends, end = ("betting_ends_then",), (do, "end_betting")
    return (
        Row(trigger, (state,), SHOWDOWN, check=(check,), when=(*ends, "last_betting_round"), do=(*end, "lay_aside", "begin_showdown")),
        Row(trigger, (state,), DEALING, when=ends, do=(*end, "begin_street")),
        Row(trigger, (state,), do=(do, "pass_turn")),
    )


def _gives_up(trigger: str, state: Phase, check: str, do: str) -> tuple[Row, ...]:
    """The hand is out; the first betting round ends with a bet, or with one hand."""
    wins = Row(trigger, (state,), SETTLING, check=(check,), when=("one_hand_left_then",), do=(do, "end_betting", "lay_aside"))
    if state is OPENING:
        return wins, Row(trigger, (state,), do=(do, "pass_turn"))
    return wins, *_turn(trigger, state, check, do)


def _out(state: Phase) -> tuple[Row, ...]:
    """The three ways to give up a hand: saying so, leaving the table, and two minutes of silence."""
    return (
        *_gives_up("fold", state, "may_act", "fold"),
        Row("leave", (state,), check=("may_leave",), when=("leaver_holds_no_hand",), do=("leave",)),
        *_gives_up("leave", state, "may_leave", "fold_and_leave"),
        *_gives_up("time-up", state, "time_is_up", "fold"),
    )


def _dealt(trigger: str, do: tuple[str, ...], check: tuple[str, ...] = ()) -> tuple[Row, ...]:
    """What puts cards where they belong, and all that it may lead to."""
    ends, opens = ("deal_complete_then",), ("open_betting",)
    return (
        Row(trigger, (DEALING,), OPENING, check=check, when=(*ends, "first_betting_round"), do=(*do, *opens)),
        Row(trigger, (DEALING,), SPEAKING, when=(*ends, "two_have_chips"), do=(*do, *opens)),
        Row(trigger, (DEALING,), SHOWDOWN, when=(*ends, "last_betting_round"), do=(*do, "lay_aside", "begin_showdown")),
        Row(trigger, (DEALING,), when=ends, do=(*do, "begin_street")),
        Row(trigger, (DEALING,), do=do),
    )
# fmt: on


ROWS: Final = (
    Row("open-table", (OUT,), REST, do=("open_table",)),
    Row("close-table", (REST,), OUT, check=("nobody_seated",), do=("close_table",)),
    Row("change-rules", (OUT, REST), check=("may_change_rules",), do=("change_rules",)),
    Row("breach", OPEN, check=("may_record_breach",), do=("record_breach",)),
    # Chips: FC-06
    Row("buy-in", OPEN, check=("may_buy_in",), do=("buy_in",)),
    Row("top-up", OPEN, check=("may_top_up",), do=("top_up",)),
    Row("leave", (*BEFORE, DEALING, *ENDING), check=("may_leave_now",), do=("leave",)),
    # The deck: FC-02
    Row("new-deck", BEFORE, do=("new_deck",)),
    Row("shuffle", BEFORE, do=("shuffle",)),
    Row("cut", BEFORE, check=("may_cut",), do=("cut",)),
    Row("deck-source-changed", IDLE, do=("forget_shuffle",)),
    # Antes and the burn: FC-02, FC-03, FC-06, FC-08
    Row("ante", (REST,), ANTES, check=("may_open", "may_ante"), do=("open_round", "ante")),
    Row("ante", (ANTES,), check=("may_ante",), do=("ante",)),
    Row("take-back", (ANTES,), REST, check=("may_take_back",), when=("last_ante",), do=("take_back", "cancel_round")),
    Row("take-back", (ANTES,), do=("take_back",)),
    Row("card-drawn", (ANTES,), when=("too_few_antes",), do=("latch_card_without_antes",)),
    Row("card-drawn", (ANTES,), when=("deck_unproven",), do=("latch_card_without_shuffle",)),
    Row("card-drawn", (ANTES,), DEALING, do=("begin_round", "burn")),
    Row("burn", (ANTES,), DEALING, check=("keyed_by_hand", "may_burn"), do=("begin_round", "burn")),
    # The deal: FC-10 to FC-13, FC-19
    Row("card-drawn", LIVE, when=("owed_to_hand_entry",), do=("match_hand_entry",)),
    Row("card-drawn", (DEALING,), when=("deal_in_error",), do=("hold_card",)),
    Row("card-drawn", (DEALING,), when=("no_card_due",), do=("hold_early_card",)),
    *_dealt("card-drawn", ("deal_card",)),
    Row("card-drawn", TURNS, when=("last_betting_round",), do=("note_surplus",)),
    Row("card-drawn", TURNS, do=("hold_early_card",)),
    Row("card-drawn", ENDING, do=("note_surplus",)),
    Row("card", (DEALING,), check=("may_key_card",), when=("keyed_in_error",), do=("hold_keyed_card",)),
    *_dealt("card", ("deal_card",)),
    Row("hand-entry", (DEALING, *TURNS), check=("may_enter_by_hand",), do=("enter_by_hand",)),
    Row("card-drawn", (REST,), do=("latch_card_without_antes",)),
    Row("card-drawn", (OUT,), do=("forget_shuffle",)),
    *_dealt("correct-deal", ("correct_deal",), check=("may_correct_deal",)),
    Row("correct-deal", (*TURNS, *ENDING), check=("may_correct_later",), do=("record_correction",)),
    Row(CORRECT, (DEALING,), check=("may_key_again",), when=("street_not_begun",), do=("key_again", "due_anew")),
    Row(CORRECT, (DEALING,), do=("key_again",)),
    Row(CORRECT, (ANSWERING, SETTLING), check=("may_key_again",), do=("key_again",)),
    Row(CORRECT, (OPENING, SPEAKING), check=("may_key_again",), when=("nobody_has_spoken",), do=("key_again", "open_betting")),
    Row(CORRECT, (OPENING, SPEAKING), do=("key_again",)),
    Row(CORRECT, (SHOWDOWN,), check=("may_key_again",), when=("no_hole_card_turned",), do=("key_again", "begin_showdown")),
    Row(CORRECT, (SHOWDOWN,), do=("key_again",)),
    Row("cut-card", (OUT, *OPEN), do=("note_cut_card",)),
    Row("stray-cards", (OUT, *OPEN), do=("latch_stray_cards",)),
    Row("shoe-restarted", LIVE, do=("latch_shoe_restarted",)),
    Row("shoe-restarted", IDLE),
    # A hole card exposed in the deal: FC-18
    Row("expose-hole", (DEALING, OPENING), SETTLING, check=("may_expose",), when=("one_hand_left_after",), do=("kill_hand", "lay_aside")),
    Row("expose-hole", (DEALING,), OPENING, when=("deal_complete_without",), do=("kill_hand", "open_betting")),
    Row("expose-hole", (OPENING,), do=("kill_hand", "open_betting")),
    Row("expose-hole", (DEALING,), do=("kill_hand",)),
    Row("expose-hole", (SETTLING,), check=("may_expose",), do=("kill_hand",)),
    Row("wrong-deck", LIVE, REST, check=("may_void",), do=("void_wrong_deck",)),
    # Betting: FC-10, FC-11, FC-15, FC-16
    Row("bet", (OPENING, SPEAKING), ANSWERING, check=("may_bet",), do=("bet", "pass_turn")),
    *_turn("check", SPEAKING, "may_act", "checks"),
    *_turn("call", ANSWERING, "may_call", "call"),
    *_turn("raise", ANSWERING, "may_raise", "bet"),
    *_out(OPENING),
    *_out(SPEAKING),
    *_out(ANSWERING),
    # Showdown: FC-14, FC-04
    Row("reveal", (SHOWDOWN,), SETTLING, check=("may_reveal",), when=("last_to_turn",), do=("reveal",)),
    Row("reveal", (SHOWDOWN,), check=("may_reveal",), do=("reveal",)),
    Row("settle", (SETTLING,), REST, check=("deck_in_doubt",), do=("settle",)),
)  # fmt: skip

_PLAY = ("bet", "call", "raise", "check", "fold")
_EVERY_OTHER_ACT = tuple(act for act in ACTS if act not in ("open-table", "change-rules"))
_LATER = (DEALING, *TURNS, *ENDING)

REFUSALS: Final = (
    No((*_EVERY_OTHER_ACT, CORRECT), (OUT,), "", "the table is closed", "open-table first"),
    No(("open-table",), OPEN, "", "the table is open already"),
    No(("close-table",), (ANTES, *LIVE), "", "a round is open", "finish the round, then close the table"),
    No(("change-rules",), (ANTES, *LIVE), "FC-06", "a round is open", "rules change between rounds only"),
    No(("new-deck", "shuffle", "cut"), LIVE, "FC-02", "the round is played with this deck", "settle first"),
    No(("ante",), LIVE, "FC-06", "the round has begun: nobody changes the ante"),
    No(("take-back",), (REST,), "FC-06", "nobody has placed an ante"),
    No(("take-back",), LIVE, "FC-06", "the round has begun: no bet is taken back"),
    No(("burn",), (REST,), "FC-03", "no round is open", "two antes at least, then burn"),
    No(("burn",), LIVE, "FC-02", "the first card is burned already"),
    No(("card",), (REST,), "FC-08", "no round is open", "antes first, then burn"),
    No(("card",), (ANTES,), "FC-02", "the first card of the deck is burned", "burn"),
    No(("card",), TURNS, "FC-19", "no card is due: a betting round goes on"),
    No(("card",), ENDING, "FC-19", "no card is due: the deal is over"),
    No(("hand-entry",), (*BEFORE, *ENDING), "FC-19", "no card is to be entered now"),
    No((CORRECT,), BEFORE, "FC-19", "no card can be keyed again now"),
    No(("expose-hole",), BEFORE, "FC-18", "no card is out"),
    No(("expose-hole",), (SPEAKING, ANSWERING, SHOWDOWN), "FC-18", "after the deal an exposed hole card kills nothing"),
    No(("correct-deal", "wrong-deck"), BEFORE, "FC-19", "no card is out"),
    No(_PLAY, BEFORE, "FC-10", "no round is being played"),
    No(_PLAY, (DEALING,), "FC-17", "cards are due: nobody speaks before they are dealt"),
    No(_PLAY, ENDING, "FC-14", "the betting is over"),
    No(("check",), (OPENING,), "FC-10", "the highest card must bet or is out", "bet or fold"),
    No(("call",), (OPENING,), "FC-10", "there is no bet to call", "bet or fold"),
    No(("call",), (SPEAKING,), "FC-11", "there is no bet to call", "bet, check or fold"),
    No(("raise",), (OPENING,), "FC-10", "there is no bet to raise", "bet"),
    No(("raise",), (SPEAKING,), "FC-11", "there is no bet to raise", "bet"),
    No(("check",), (ANSWERING,), "FC-11", "after a bet nobody may check", "fold, call or raise"),
    No(("bet",), (ANSWERING,), "FC-11", "a bet is down", "fold, call or raise"),
    No(("reveal",), (*BEFORE, DEALING, *TURNS), "FC-14", "hole cards are turned after the last betting round"),
    No(("reveal",), (SETTLING,), "FC-14", "no further card is turned"),
    No(("settle",), (*BEFORE, DEALING, *TURNS), "FC-14", "the round is not decided"),
    No(("settle",), (SHOWDOWN,), "FC-14", "hole cards are still to be turned", "reveal them first"),
    No(("time-up",), (*IDLE, DEALING, *ENDING), "FC-16", "no decision is waited for"),
    No(("deck-source-changed",), LIVE, "FC-19", "cards are out: the device stays", "settle first"),
)  # fmt: skip
