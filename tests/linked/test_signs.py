"""Signs everywhere show the linked pool and what was won, and a table that was away shows the present."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.linked.hall import LOST_TEXT, rules_of
from tests.linked.house import House
from tests.linked.postgres import Server
from tests.linked.tables import Place, hall, until

ROYAL = "AS KS QS JS TS"
pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def pair(tmp_path: Path, server: Server) -> Iterator[list[Place]]:
    with House(server, rules_of(tmp_path)) as house, hall(tmp_path, house, "A", "B", max_age=3) as places:
        yield places


@pytest.mark.slow
def test_two_tables_one_pool(pair: list[Place]) -> None:
    """A bet, a royal, and a table that was away: at the signs of both."""
    one, other = pair
    house, before = one.house, one.house.balance
    one.open_round(1)
    one.draw("AS")
    took = until(lambda: other.amount == before + 710, "the other sign")
    until(lambda: one.amount == before + 710, "its own sign")
    print(f"\nfrom a bet to the other table's sign: {took:.2f} s")

    # The other one is away while a royal is won.
    other.kill("link")
    until(lambda: LOST_TEXT in other.text, "the text of a lost link")
    other.open_round()
    other.act("ante", box=2, amount=10_000)
    refused = other.client.act("progressive", role="dealer", box=2)
    assert (refused["accepted"], refused["refusal"]["clause"]) == (False, "CS-10")

    rest, dealer = ROYAL.split()[1:], "AC KD 9D 6C 3S".split()
    one.draw(dealer[0] + "".join(f" {player} {bank}" for player, bank in zip(rest, dealer[1:], strict=True)))
    one.act("raise", box=1)
    one.act("settle")
    took = until(lambda: "WINNER BOX 1" in one.text, "the amount at the winner's sign")
    print(f"from the settlement to the winner's sign: {took:.2f} s")
    assert took < 30
    won, minimum = before + 710, house.rules.minimum
    assert one.status()["pending_awards"][0]["amount"] == won
    until(lambda: one.amount == minimum, "the pool that begins again")
    one.act("confirm-award", role="supervisor", box=1)

    # Back again it shows the present value, and no award that is history.
    other.spawn("link", "link", "run", "--config", "feltd.toml")
    until(lambda: other.amount == minimum, "the present value")
    assert "WON" not in other.text
    other.act("progressive", box=2)
    assert house.problems() == []


@pytest.mark.slow
def test_an_award_is_told_at_the_other_tables(pair: list[Place]) -> None:
    one, other = pair
    one.open_round(1)
    one.play("2H 4H 5H 7H 9H")
    took = until(lambda: f"WON $50.00 AT {one.name}" in other.text, "the award at the other sign")
    print(f"\nfrom the settlement to the other table's sign: {took:.2f} s")
    assert took < 30
    for place in pair:
        until(lambda place=place: place.amount == place.house.balance, "what is left of the pool")
