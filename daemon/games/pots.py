"""Main and side pots: who plays for what, what the house takes, and who gets the rest (FC-04, FC-09, FC-15).

Amounts are whole numbers in minor units. A seat is any whole number that names a hand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pot:
    """An amount, and the seats still in that play for it, in the order of dealing."""

    amount: int
    seats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """How one pot was divided: ``won`` tells each winner's part; rake and parts are the whole amount."""

    pot: Pot
    rake: int
    won: Mapping[int, int]


def unfollowed(bets: Mapping[int, int], still_in: Collection[int]) -> tuple[int, int]:
    """The seat whose bets nobody followed to the end, and by how much: it returns to its owner (FC-15).

    ``bets`` are those of the whole round, folded hands included, without the antes. (0, 0) when
    every bet was followed, or the hand that bet most is not ``still_in``.
    """
    seat = max(bets, key=bets.__getitem__)
    if seat not in still_in:
        return 0, 0
    *_, second, most = sorted([0, *bets.values()])
    return (seat, most - second) if most > second else (0, 0)


def divide(bets: Mapping[int, int], still_in: Collection[int], antes: int) -> list[Pot]:
    """The main pot and the side pots, by what each hand ``still_in`` has matched (FC-15).

    ``bets`` are the followed ones of every seat, in the order of dealing; ``antes``, what is left of
    them after the first rake, belong to the main pot. What a folded hand bet above every hand that
    is still in goes to the last pot. At least one hand is still in.
    """
    levels = sorted({bets[seat] for seat in still_in})
    pots, below = [], 0
    for level in levels:
        top = level if level != levels[-1] else max(bets.values())
        reached = sum([bet if bet < top else top for bet in bets.values()])
        seats = tuple([seat for seat, bet in bets.items() if bet >= level and seat in still_in])
        pots.append(Pot(reached - below, seats))
        below = reached
    pots[0] = Pot(pots[0].amount + antes, pots[0].seats)
    return pots


def rake_of(amount: int, percent: int, pay_unit: int) -> int:
    """What the house takes of one pot, floored to the pay unit (FC-09)."""
    return amount * percent // 100 // pay_unit * pay_unit


def share(pot: Pot, orders: Mapping[int, int], rake: int, pay_unit: int) -> Share:
    """One pot among its highest hands; odd pay units go one each to the first of them dealt (FC-04).

    ``orders`` are the hands' orders; with one seat none is needed, for nothing is compared.
    """
    winners = _highest(pot.seats, orders)
    each = (pot.amount - rake) // len(winners) // pay_unit * pay_unit
    won, odd = dict.fromkeys(winners, each), pot.amount - rake - each * len(winners)
    for seat in winners:
        more = min(odd, pay_unit)
        won[seat] += more
        odd -= more
    return Share(pot, rake, won)


def _highest(seats: Sequence[int], orders: Mapping[int, int]) -> list[int]:
    if len(seats) == 1:
        return list(seats)
    best = max(orders[seat] for seat in seats)
    return [seat for seat in seats if orders[seat] == best]
