"""What may be seen of a Caribbean Stud table: only cards that the regulation has turned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from daemon.games.caribbean.deal import DEALER, HAND, DealtCard
from daemon.games.caribbean.rules import RULES_ID
from daemon.games.desk import Desk
from daemon.games.hands import category_of, qualifies, rank_61_2004
from drivers.cards import Card

if TYPE_CHECKING:
    from daemon.games.caribbean.memory import Memory
    from daemon.games.caribbean.round import Box, Irregularity, Round
    from daemon.games.caribbean.settlement import Result
    from daemon.games.jackpot import Decision


def place_name(place: int) -> str:
    return "the dealer" if place == DEALER else f"box {place}"


def detail(now: Round, told: Irregularity) -> str:
    """What went wrong, in words; an exposed card is named by where it lies now."""
    if told.card is None or now.deal is None:
        return told.detail
    place, position = now.deal.where(told.card)
    return f"card {position} of {place_name(place)} {told.detail}"


def _open_card(card: DealtCard, open_by_rule: bool = False) -> str | None:
    if card.face is not None and (card.exposed or card.turned or open_by_rule):
        return card.face.turn().text
    return None


def hand(now: Round, place: int) -> list[str | None] | None:
    """A hand as everybody may see it: null for a card that lies face down, null for no card up."""
    if now.deal is None:
        return None
    cards = now.deal.hands.get(place, [])
    by_rule = place == DEALER and not now.fifth_stays_down
    seen = [_open_card(card, by_rule and index == HAND - 1) for index, card in enumerate(cards)]
    return seen if any(seen) else None


def _whole(seen: list[str | None] | None, faces: list[Card] | None) -> list[Card] | None:
    """The hand, if all five of its cards are open."""
    return faces if seen is not None and faces is not None and None not in seen else None


def _category(cards: list[Card] | None) -> str | None:
    return category_of(rank_61_2004(cards)).label if cards else None


def _boxes(
    now: Round, results: Mapping[int, Result], awards: Mapping[int, int | None]
) -> list[dict[str, object]]:
    boxes = [_box(now, now.boxes[n], results.get(n), awards.get(n, 0)) for n in sorted(now.boxes)]
    if now.deal is None:
        return boxes
    for box in sorted(set(now.deal.strays.values())):
        boxes.append(_void_box(now, box))
    return sorted(boxes, key=lambda row: str(row["box"]))


def _box(now: Round, box: Box, result: Result | None, award: int | None) -> dict[str, object]:
    seen = hand(now, box.number)
    faces = now.deal.faces(box.number) if now.deal else None
    bet = box.progressive
    return {
        "box": box.number,
        "ante": box.ante,
        "raise": box.raised,
        "progressive": bet.stake if bet else 0,
        "carried": bool(bet and bet.carried),
        "decision": box.decision,
        "cards": seen,
        "category": _category(_whole(seen, faces)),
        "result": result.result if result else None,
        "ante_paid": result.ante_paid if result else 0,
        "raise_paid": result.raise_paid if result else 0,
        "award": award,
    }


def _void_box(now: Round, box: int) -> dict[str, object]:
    nothing = dict.fromkeys(("ante", "raise", "progressive", "ante_paid", "raise_paid", "award"), 0)
    return nothing | {
        "box": box,
        "carried": False,
        "decision": "void",
        "cards": hand(now, box),
        "category": None,
        "result": "void",
    }


def _dealer(now: Round) -> dict[str, object]:
    seen = hand(now, DEALER)
    cards = _whole(seen, now.deal.faces(DEALER) if now.deal else None)
    return {"cards": seen, "qualifies": qualifies(cards) if cards else None, "category": _category(cards)}


def _round(
    game: Memory, now: Round, outcome: str, results: Mapping[int, Result], awards: Mapping[int, int | None]
) -> dict[str, object]:
    return {
        "id": now.id,
        "game": game.name,
        "rules": RULES_ID,
        "fingerprint": now.rules,
        "mode": now.mode,
        "opened_at": now.opened_at,
        "closed_at": None,
        "outcome": outcome,
        "irregularities": [
            {"clause": i.clause, "detail": detail(now, i), "at": i.at} for i in now.irregularities
        ],
        "boxes": _boxes(now, results, awards),
        "dealer": _dealer(now),
        "pool": {
            "opened": now.pool_opened,
            "contributed": now.contributed,
            "awarded": 0,
            "closed": None,
            **_linked_name(game),
        },
        "inputs": [now.first_seq, None],
    }


def _linked_name(game: Memory) -> dict[str, str]:
    """``linked``: the pool is that of many tables, and what it was before and after is no sum of this one."""
    return {"linked": game.linked.terms.pool} if game.linked is not None else {}


def open_round(game: Memory) -> dict[str, object]:
    """The running round (``feltd round --json``)."""
    assert game.round is not None
    return _round(game, game.round, "open", {}, {})


def summary(
    game: Memory, outcome: str, results: Mapping[int, Result], decision: Decision, desk: Desk
) -> dict[str, object]:
    """A closed round. Call it when awards are taken and before the round is forgotten.

    An award that the authority of a linked pool has not decided is null.
    """
    assert game.round is not None
    now = game.round
    claimed = [a.box for a in game.pending if a.round_id == now.id and a.amount is None]
    awards = dict.fromkeys(claimed) | {a.box: a.amount for a in decision.awards}
    view = _round(game, now, outcome, results, awards)
    if outcome == "void":
        for row in view["boxes"]:  # type: ignore[attr-defined]  # the list that _boxes made
            row["result"] = "void"
    view["closed_at"] = desk.at
    view["inputs"] = [now.first_seq, desk.seq]
    view["pool"] = {
        "opened": now.pool_opened,
        "contributed": now.contributed,
        "awarded": sum(a.from_pool for a in decision.awards),
        "closed": game.pool,
        **_linked_name(game),
    }
    view["cards_out"] = now.dealt.cards
    view["pay_order"] = claimed or [a.box for a in decision.awards]
    return view


def state(game: Memory) -> dict[str, object]:
    """What staff see of the game now: what is bet, carried, pending, and due next."""
    now = game.round
    meter = game.meter
    return {
        "pool": {
            "now": game.pool,
            "minimum": meter.minimums,
            "contributed": meter.contributed,
            "awarded_from_pool": meter.awarded,
            "overflow": meter.overflow,
            "reserve": meter.reserve,
            "wagered": meter.wagered,
            "hits": meter.hits,
            "corrected": meter.corrected,
            **_linked(game),
        },
        "announcement": game.announcement,
        "limits": {
            "ante_min": game.rules.ante_min,
            "ante_max": game.rules.ante_max,
            "progressive": game.rules.jackpot.stake,
        },
        "betting_closed": bool(now and now.closed),
        "deck": {"shuffled": game.deck.shuffled, "cut": game.deck.cut, "shuffler": game.deck.shuffler},
        "carried": {str(box): stake for box, stake in sorted(game.carried.items())},
        "refundable": {str(box): stake for box, stake in sorted(game.refundable.items())},
        "pending_awards": [
            {
                "round": a.round_id,
                "box": a.box,
                "category": a.category.label,
                "amount": a.amount,
                "confirmed": a.confirmed,
            }
            for a in game.pending
        ],
        "undecided": now.undecided() if now and now.deal else [],
        "cards": {"out": now.deal.cards, "due": now.deal.due} if now and now.deal else {"out": 0, "due": 0},
        "next_place": _next_place(game),
    }


def _linked(game: Memory) -> dict[str, object]:
    """What the table knows of its linked pool; the other counts are then its own part."""
    linked = game.linked
    if linked is None:
        return {}
    return {
        "linked": linked.terms.pool,
        "version": linked.version,
        "acked": linked.acked,
        "waiting": len(linked.waiting),
        "waiting_amount": linked.amount,
        "stopped": linked.stopped(),
    }


def _next_place(game: Memory) -> str | None:
    now = game.round
    if now is None or now.deal is None or now.deal.due <= 0:
        return None
    return place_name(now.deal.next_place())
