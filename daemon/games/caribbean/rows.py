"""The round of Caribbean Stud as a table: every state, every input, and what is meant to happen.

``ROWS`` are the transitions, ``REFUSALS`` the inputs a state does not accept. Together they
decide every pair of state and input; a test walks them all.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from daemon.games.machine import No, Row


class Phase(Enum):
    """Where a round stands."""

    OUT_OF_SERVICE = "out-of-service"
    BETWEEN_ROUNDS = "between-rounds"
    BETTING = "betting"
    DEALING = "dealing"
    DECIDING = "deciding"
    SHOWDOWN = "showdown"
    SETTLING = "settling"
    VOID = "void"


OUT, REST, BETTING, DEALING = Phase.OUT_OF_SERVICE, Phase.BETWEEN_ROUNDS, Phase.BETTING, Phase.DEALING
DECIDING, SHOWDOWN, SETTLING, VOID = Phase.DECIDING, Phase.SHOWDOWN, Phase.SETTLING, Phase.VOID

RESTING: Final = (REST, VOID)
AFTER_DEAL: Final = (DECIDING, SHOWDOWN, SETTLING)
LIVE: Final = (DEALING, *AFTER_DEAL)
IDLE: Final = (OUT, *RESTING)
ALL: Final = tuple(Phase)

ACTS: Final = (
    "open-table", "close-table", "shuffle", "cut", "open-betting", "ante", "progressive", "take-back",
    "close-betting", "card", "raise", "fold", "expose", "empty-box", "misdeal", "shuffler-failed",
    "reveal", "declare", "settle", "confirm-award", "count", "refund-carried", "correct-pool", "change-rules",
    "dispute", "breach",
)  # fmt: skip
NEWS: Final = (
    "card-drawn", "packet-out", "packet-taken", "cut-card", "stray-cards", "shuffle-started",
    "shuffle-done", "cards-returned", "shuffler-fault", "shuffler-restarted", "deck-source-changed",
    "deal-refused", "shoe-restarted", "pool-seen", "pool-lost", "award-decided",
)  # fmt: skip
# An act that names the record it replaces, whatever its own name, and `withdraw`.
CORRECT: Final = "correct"
WITHDRAW: Final = "withdraw"
KNOWN_ACTS: Final = (*ACTS, WITHDRAW)
TRIGGERS: Final = (*ACTS, *NEWS, CORRECT)


def _first(unit: str, checks: tuple[str, ...] = ()) -> tuple[Row, ...]:
    """The first card or packet of a round, however it is reported."""
    return (
        Row(unit, (BETTING,), when=("nothing_bet",), check=checks, do=("latch_card_without_bets",)),
        Row(unit, (BETTING,), when=("deck_unproven",), do=("latch_card_without_shuffle",)),
        Row(unit, (BETTING,), VOID, when=("wrong_packet",), do=("first_card", "void_wrong_number")),
        Row(unit, (BETTING,), DEALING, do=("first_card", "deal_unit")),
    )


def _next(unit: str, checks: tuple[str, ...] = ()) -> tuple[Row, ...]:
    return (
        Row(unit, (DEALING,), VOID, when=("wrong_packet",), check=checks, do=("void_wrong_number",)),
        Row(unit, (DEALING,), VOID, when=("second_exposure_in_shoe",), do=("deal_unit", "void_two_exposed")),
        Row(unit, (DEALING,), DECIDING, when=("last_unit",), do=("deal_unit",)),
        Row(unit, (DEALING,), do=("deal_unit",)),
    )


ROWS: Final = (
    Row("open-table", (OUT,), REST, do=("open_table",)),
    Row("close-table", RESTING, OUT, check=("nothing_pending",), do=("close_table",)),
    Row("change-rules", IDLE, check=("may_change_rules",), do=("change_rules",)),
    # The deck: CS-03
    Row("shuffle", (*RESTING, BETTING), check=("may_shuffle",), do=("order_shuffle",)),
    Row("cut", (*RESTING, BETTING), check=("may_cut",), do=("record_cut",)),
    Row("shuffle-started", (*IDLE, BETTING), do=("forget_proof",)),
    Row("shuffle-started", LIVE, do=("note_other_deck",)),
    Row("shuffle-done", (*IDLE, BETTING), do=("take_proof",)),
    Row("shuffle-done", LIVE, do=("note_other_deck",)),
    Row("deck-source-changed", (*IDLE, BETTING), do=("forget_deck",)),
    Row("cards-returned", RESTING, do=("count_returned",)),
    Row("cards-returned", (OUT, BETTING, *LIVE), do=("note_untimely_return",)),
    Row("count", RESTING, check=("may_count",), when=("deck_is_uncounted",), do=("count_deck",)),
    Row("count", RESTING, do=("count_stub",)),
    Row("count", (BETTING,), check=("may_count_deck",), do=("count_deck",)),
    # Betting: CS-06
    Row("open-betting", RESTING, BETTING, check=("may_open",), do=("open_round",)),
    Row("ante", (BETTING,), check=("may_ante",), do=("place_ante",)),
    Row("progressive", (BETTING,), check=("may_bet_progressive",), do=("place_progressive",)),
    Row("take-back", (BETTING,), check=("may_take_back",), do=("take_back",)),
    Row("close-betting", (BETTING,), REST, when=("nothing_bet",), do=("cancel_round",)),
    Row("close-betting", (BETTING,), check=("may_close_betting",), do=("close_betting",)),
    # Dealing: CS-07, CS-11
    *_first("card-drawn"),
    Row("card-drawn", LIVE, VOID, when=("second_exposure_keyed",), do=("match_hand_entry", "void_two_exposed")),
    Row("card-drawn", (DEALING,), when=("owed_to_hand_entry",), do=("match_hand_entry",)),
    *_next("card-drawn"),
    *_first("card", ("shoe_is_away",)),
    *_next("card", ("shoe_is_away",)),
    *_first("packet-out"),
    *_next("packet-out"),
    Row("card-drawn", AFTER_DEAL, VOID, when=("not_owed_to_hand_entry",), do=("void_surplus",)),
    Row("card-drawn", AFTER_DEAL, do=("match_hand_entry",)),
    Row("card", AFTER_DEAL, VOID, check=("shoe_is_away",), do=("void_surplus",)),
    Row("packet-out", AFTER_DEAL, VOID, do=("void_surplus",)),
    Row("card-drawn", RESTING, do=("latch_card_without_bets",)),
    Row("packet-out", RESTING, when=("was_told_to_stop",), do=("count_late_packet",)),
    Row("packet-out", RESTING, do=("latch_card_without_bets",)),
    Row("card-drawn", (OUT,), do=("forget_deck",)),
    Row("packet-out", (OUT,), do=("forget_deck",)),
    Row("packet-taken", ALL, do=("note_packet_taken",)),
    Row("deal-refused", ALL, do=("deal_refused",)),
    Row("shoe-restarted", LIVE, do=("shoe_restarted",)),
    Row("shoe-restarted", (*IDLE, BETTING)),
    Row("cut-card", LIVE, do=("latch_cut_card",)),
    Row("cut-card", (*IDLE, BETTING), do=("note_cut_card",)),
    Row("stray-cards", LIVE, VOID, do=("void_wrong_source",)),
    Row("stray-cards", (*IDLE, BETTING), do=("latch_stray_cards",)),
    # Irregularities: CS-11
    Row("expose", LIVE, VOID, check=("may_expose",), when=("another_was_exposed",), do=("expose", "void_two_exposed")),
    Row("expose", LIVE, check=("may_expose",), do=("expose",)),
    Row("empty-box", (DEALING,), check=("may_empty_box",), do=("empty_box",)),
    Row("empty-box", (DECIDING,), DEALING, check=("may_empty_box",), do=("empty_box", "take_decisions_back")),
    Row("misdeal", LIVE, VOID, do=("void_misdeal",)),
    Row("shuffler-fault", (OUT, *RESTING), do=("latch_shuffler_fault",)),
    Row("shuffler-fault", (BETTING,), when=("nothing_bet",), do=("latch_shuffler_fault",)),
    Row("shuffler-fault", (BETTING,), do=("shuffler_fails_before_deal",)),
    Row("shuffler-fault", (DEALING,), VOID, do=("void_shuffler_failed",)),
    Row("shuffler-fault", AFTER_DEAL, do=("latch_shuffler_fault",)),
    Row("shuffler-restarted", (*IDLE,), do=("forget_proof",)),
    Row("shuffler-restarted", (BETTING,), when=("nothing_bet",), do=("forget_proof",)),
    Row("shuffler-restarted", (BETTING,), do=("shuffler_fails_before_deal",)),
    Row("shuffler-restarted", (DEALING,), VOID, do=("void_shuffler_failed",)),
    Row("shuffler-restarted", AFTER_DEAL, do=("note_other_deck",)),
    Row("shuffler-failed", (BETTING,), check=("shuffler_deals",), when=("nothing_bet",), do=("latch_shuffler_fault",)),
    Row("shuffler-failed", (BETTING,), do=("shuffler_fails_before_deal",)),
    Row("shuffler-failed", (DEALING,), VOID, check=("shuffler_deals",), do=("void_shuffler_failed",)),
    Row("dispute", IDLE, check=("may_dispute",), do=("dispute",)),
    Row("breach", (*RESTING, BETTING, *LIVE), check=("may_record_breach",), do=("record_breach",)),
    # Decisions and showdown: CS-06, CS-09
    Row("raise", (DECIDING,), SETTLING, check=("may_raise",), when=("ends_known",), do=("raise_bet", "open_hands")),
    Row("raise", (DECIDING,), SHOWDOWN, when=("last_decision",), do=("raise_bet", "open_hands")),
    Row("raise", (DECIDING,), do=("raise_bet",)),
    Row("fold", (DECIDING,), SETTLING, check=("may_decide",), when=("ends_known",), do=("fold", "open_hands")),
    Row("fold", (DECIDING,), SHOWDOWN, when=("last_decision",), do=("fold", "open_hands")),
    Row("fold", (DECIDING,), do=("fold",)),
    Row("reveal", (DECIDING,), check=("may_reveal_fifth",), do=("reveal_fifth",)),
    Row("reveal", (SHOWDOWN,), SETTLING, check=("may_reveal",), when=("all_revealed_then",), do=("reveal",)),
    Row("reveal", (SHOWDOWN, SETTLING), check=("may_reveal",), do=("reveal",)),
    Row("declare", (SETTLING,), check=("may_declare",), do=("declare",)),
    Row("count", (SETTLING,), check=("may_count",), do=("count_before_settling",)),
    Row("settle", (SETTLING,), REST, check=("may_settle",), do=("settle",)),
    # A slip put right: CS-06
    Row(CORRECT, (BETTING, DEALING, DECIDING), check=("supersede",)),
    Row(CORRECT, (SHOWDOWN, SETTLING), SETTLING, check=("supersede",), when=("hands_are_known",)),
    Row(CORRECT, (SHOWDOWN, SETTLING), SHOWDOWN),
    # The jackpot: CS-10
    Row("confirm-award", ALL, check=("may_confirm_award",), do=("confirm_award",)),
    Row("refund-carried", (*RESTING, BETTING), check=("may_refund",), do=("refund_carried",)),
    Row("correct-pool", RESTING, check=("may_correct",), do=("correct_pool",)),
    Row("pool-seen", ALL, check=("is_linked",), do=("see_pool",)),
    Row("pool-lost", ALL, check=("is_linked",), do=("lose_pool",)),
    Row("award-decided", ALL, check=("may_be_decided",), do=("take_decision",)),
)  # fmt: skip

_BETS = ("ante", "progressive", "take-back", "close-betting")
_SHOW = ("reveal", "declare", "settle")
_MISDEALT = ("expose", "empty-box", "misdeal", "shuffler-failed")
_EVERY_OTHER_ACT = tuple(
    a for a in ACTS if a not in ("open-table", "confirm-award", "change-rules", "dispute")
)

REFUSALS: Final = (
    No(_EVERY_OTHER_ACT, (OUT,), "", "the table is closed", "open-table first"),
    No(("open-table",), (*RESTING, BETTING, *LIVE), "", "the table is open already"),
    No(("close-table",), (BETTING, *LIVE), "", "a round is open", "finish the round, then close the table"),
    No(("shuffle", "cut"), LIVE, "CS-03", "cards are out", "settle or void the round first"),
    No(("dispute",), (BETTING, *LIVE), "CS-11", "a round is open", "declare the irregularity itself"),
    No(("change-rules",), (BETTING, *LIVE), "CS-13", "a round is open", "rules change between rounds only"),
    No(("open-betting",), (BETTING,), "", "betting is open already"),
    No(("open-betting",), LIVE, "CS-06", "a round is being played", "settle or void it first"),
    No(_BETS, RESTING, "CS-06", "betting is not open", "open-betting first"),
    No(_BETS, LIVE, "CS-06", "the first card closed all betting"),
    No(("card",), RESTING, "CS-06", "betting is not open", "open-betting first"),
    No(("count",), (DEALING, DECIDING, SHOWDOWN), "CS-07", "cards are counted when all hands are known"),
    No(("refund-carried",), LIVE, "CS-11", "the carried bet may be in force", "wait until the round is closed"),
    No(("correct-pool",), (BETTING, *LIVE), "CS-10", "the pool of a round stands", "wait until the round is closed"),
    No(("raise", "fold"), RESTING, "CS-06", "no round is open"),
    No(("raise", "fold"), (BETTING, DEALING), "CS-06", "decisions open when the dealer's last card is out"),
    No(("raise", "fold"), (SHOWDOWN, SETTLING), "CS-06", "every box has decided; a decision is final"),
    No((CORRECT,), (OUT, *RESTING), "CS-06", "nothing can be put right any more that way"),
    No(_SHOW, (*RESTING, BETTING), "CS-06", "no cards are on the table"),
    No(_SHOW, (DEALING,), "CS-06", "no showdown before every box has decided"),
    No(("declare", "settle"), (DECIDING,), "CS-06", "no showdown before every box has decided"),
    No(("declare", "settle"), (SHOWDOWN,), "CS-09", "cards are still to be shown", "reveal them first"),
    No(_MISDEALT, RESTING, "CS-11", "no round is open; after settlement only a supervisor may dispute it"),
    No(("expose", "empty-box", "misdeal"), (BETTING,), "CS-11", "no card is out yet"),
    No(("empty-box",), (SHOWDOWN, SETTLING), "CS-11", "the hands have been opened", "declare a misdeal"),
    No(("shuffler-failed",), AFTER_DEAL, "CS-11", "the last card is out: the round stands"),
    No(("deck-source-changed",), LIVE, "CS-11", "cards are out: the device stays", "settle or void the round first"),
)  # fmt: skip
