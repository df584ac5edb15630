"""``feltd hand|award|diagram``: the regulation by itself, without a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from daemon.cli.answers import Config, Json, caribbean_of, pairs_of, settings_of, tell
from daemon.games.money import MAX_AMOUNT

if TYPE_CHECKING:
    from daemon.games.jackpot import Claim

RULES: Final = ("61/2004", "104/85/M")


def hand(
    hands: Annotated[list[str], typer.Argument(metavar='"AS KS QS JS TS"…')],
    rules: Annotated[str, typer.Option(help="The regulation that ranks them.")] = "61/2004",
    as_json: Json = False,
) -> None:
    """Rank hands of five cards under a regulation."""
    from daemon import show

    if rules not in RULES:
        raise typer.BadParameter(f"no ranking for {rules!r} (known: {', '.join(RULES)})")
    ranked = [_ranked(text, rules) for text in hands]
    highest = max(each["order"] for each in ranked)
    best = [index for index, each in enumerate(ranked) if each["order"] == highest]
    tell({"rules": rules, "hands": ranked, "best": best}, as_json, show.hands)


def _ranked(text: str, rules: str) -> dict[str, Any]:
    from daemon.games.hands import category_of, qualifies, rank_61_2004, rank_104_85
    from drivers.cards import parse_cards

    caribbean = rules == RULES[0]
    try:
        cards = parse_cards(text)
        order = (rank_61_2004 if caribbean else rank_104_85)(cards)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r}: {error}") from None
    return {
        "cards": " ".join(card.text for card in cards),
        "category": category_of(order).label,
        "order": order,
        "dealer_qualifies": qualifies(cards) if caribbean else None,
    }


def award(
    config: Config,
    pool: Annotated[
        int, typer.Option(min=0, max=MAX_AMOUNT, help="The pool as the round began, minor units.")
    ],
    words: Annotated[list[str], typer.Argument(metavar="BOX=CATEGORY…")],
    as_json: Json = False,
) -> None:
    """What the progressive pays for a round's awarded hands (CS-10)."""
    from daemon import show
    from daemon.games.jackpot import LocalPool

    claims = [_claim(box, category) for box, category in pairs_of(words).items()]
    rules = caribbean_of(settings_of(config, as_json), as_json).jackpot
    decision = LocalPool(rules).decide(claims, pool)
    told = {
        "pool": pool,
        "awards": [
            {
                "box": a.box,
                "category": a.category.label,
                "amount": a.amount,
                "from_pool": a.from_pool,
                "from_house": a.from_house,
            }
            for a in decision.awards
        ],
        "pay_order": [a.box for a in decision.awards],
        "pool_after": decision.pool_after(rules.minimum),
    }
    tell(told, as_json, show.awards)


def _claim(box: str, category: str) -> Claim:
    from daemon.games.caribbean.rules import BOXES
    from daemon.games.jackpot import AWARDED, Claim

    awarded = {each.label: each for each in AWARDED}
    if box not in map(str, BOXES):
        raise typer.BadParameter(f"{box!r} is no box: 1 to {BOXES[-1]}")
    if category not in awarded:
        raise typer.BadParameter(f"{category!r} is not awarded: {', '.join(awarded)}")
    return Claim(int(box), awarded[category])


def diagram(
    machine: Annotated[str, typer.Argument(metavar="caribbean|five-card|link|…")],
    form: Annotated[str, typer.Option("--format", help="mermaid or svg.")] = "mermaid",
) -> None:
    """Draw a state machine from the rows that run it."""
    from daemon.diagram import draw

    try:
        print(draw(machine, form), end="")
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
