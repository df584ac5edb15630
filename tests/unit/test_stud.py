"""What a console is told of a five-card table: decisions as the game takes and refuses them, and the pots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.api import stud
from daemon.games.five_card.game import FiveCard
from daemon.games.five_card.round import Hand, Round
from daemon.games.pots import divide
from drivers.base import CardDrawn
from drivers.cards import FaceDownCard, parse_cards
from tests.fakes.stage import DEMO, Api, Stage, accepted, do, played

FIVE_CARD = DEMO.with_name("five-card.toml")
# The burn, then door cards and hole cards of three seats; the first one speaks.
DEAL = "5C KS QH 7D 8H 8C 6S"
STACKS = {1: 400_000, 2: 600_000, 3: 200_000}
Status = dict[str, Any]


def game_of(stage: Stage) -> FiveCard:
    game = stage.service.engine.table.game
    assert isinstance(game, FiveCard)
    return game


async def status(api: Api) -> Status:
    told: Status = (await api.get("/status")).json()
    return told


async def decision(api: Api) -> Status:
    told: Status = (await status(api))["decision"]
    return told


async def until_the_first_word(api: Api, stage: Stage, **rules: object) -> None:
    game = game_of(stage)
    game.play_by(replace(game.rules, **rules))  # type: ignore[arg-type]
    await accepted(api, "open-table")
    for seat, chips in STACKS.items():
        await accepted(api, "buy-in", seat=seat, amount=chips)
    await accepted(api, "shuffle")
    for seat in STACKS:
        await accepted(api, "ante", seat=seat)
    for card in parse_cards(DEAL):
        stage.device_says("shoe", CardDrawn(FaceDownCard(card)))


def play(tmp_path: Path, story: Any, **rules: object) -> None:
    async def with_cards(api: Api, stage: Stage) -> None:
        await until_the_first_word(api, stage, **rules)
        await story(api, stage)

    played(tmp_path, with_cards, there=True, config=FIVE_CARD)


def test_another_game_is_told_nothing(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        assert not {"decision", "pots", "by_hand"} & (await status(api)).keys()

    played(tmp_path, story)


def test_what_the_house_fixes(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        told = await status(api)
        assert (told["decision"], told["pots"], told["by_hand"]) == (None, [], False)
        limits = told["limits"]
        assert (limits["ante"], limits["smallest_chip"], limits["buy_in_min"]) == (2_000, 500, 200_000)
        assert (limits["seats"], limits["deck_rounds"], limits["cut_min"]) == (7, 10, 6)

    played(tmp_path, story, config=FIVE_CARD)


@pytest.mark.parametrize("min_raise", ["last_increment", "last_total"])
def test_a_decision_s_amounts_are_those_that_the_game_takes(min_raise: str, tmp_path: Path) -> None:
    """Less than the least and more than the most are refused, and both of them are taken."""

    async def story(api: Api, stage: Stage) -> None:
        told = await decision(api)
        assert (told["seat"], told["may"], told["call"]) == (1, ["fold", "bet"], 0)
        assert 0 < told["left_ms"] <= 120_000
        assert await refused(api, "bet", told)
        await accepted(api, "bet", seat=1, amount=told["least"] + 9_500)
        told = await decision(api)
        assert (told["seat"], told["may"], told["call"]) == (2, ["fold", "call", "raise"], 10_000)
        assert await refused(api, "raise", told)
        await accepted(api, "raise", seat=2, amount=told["least"])
        third = await decision(api)
        assert third["call"] == told["least"] == 20_000
        await accepted(api, "raise", seat=3, amount=third["most"])  # all-in
        again = await decision(api)
        assert (again["seat"], again["bet"], again["call"]) == (1, 10_000, third["most"] - 10_000)
        rise = again["least"] - third["most"]
        # The last full bettor's whole bet, or by how much he raised.
        assert rise == (third["most"] if min_raise == "last_total" else third["most"] - 20_000)
        assert await refused(api, "raise", again)
        await accepted(api, "call", seat=1, amount=again["call"])

    play(tmp_path, story, min_raise=min_raise)


async def refused(api: Api, act: str, told: Status) -> bool:
    chip = 500
    for amount in (told["least"] - chip, told["most"] + chip):
        answer = await do(api, act, seat=told["seat"], amount=amount)
        assert answer.status_code == 409, (act, amount, answer.text)
    return True


@pytest.mark.parametrize("check_raise", [False, True])
def test_who_has_checked_may_raise_only_where_the_house_says_so(check_raise: bool, tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        await accepted(api, "bet", seat=1, amount=1_000)
        for seat in (2, 3):
            await accepted(api, "call", seat=seat)
        for card in parse_cards("KD 9H 7C"):
            stage.device_says("shoe", CardDrawn(FaceDownCard(card)))
        told = await decision(api)
        assert (told["seat"], told["may"]) == (1, ["fold", "check", "bet"])
        await accepted(api, "check", seat=1)
        told = await decision(api)
        await accepted(api, "bet", seat=told["seat"], amount=1_000)
        told = await decision(api)
        assert (told["seat"], "raise" in told["may"]) == (1, check_raise)
        answer = await do(api, "raise", seat=1, amount=told["least"])
        assert answer.status_code == (200 if check_raise else 409)

    play(tmp_path, story, check_raise=check_raise)


def test_the_time_stands_while_the_table_is_halted(tmp_path: Path) -> None:
    async def story(api: Api, stage: Stage) -> None:
        stage.service.engine.table.rig.devices["shoe"].ready = False
        assert (await decision(api))["left_ms"] is None
        stage.service.engine.table.rig.devices["shoe"].ready = True
        assert (await decision(api))["left_ms"] is not None

    play(tmp_path, story)


# --- the pots -----------------------------------------------------------------------------------


def round_of(*hands: Hand, antes: int = 0) -> Round:
    return Round(1, "", 1, "shoe", "", hands={hand.seat: hand for hand in hands}, antes=antes)


def test_there_is_one_pot_until_somebody_is_all_in() -> None:
    now = round_of(Hand(1, staked=500), Hand(2, staked=300), Hand(3, staked=100, folded=True), antes=60)
    assert stud.pots(now) == [{"amount": 960, "seats": [1, 2]}]


def test_side_pots_are_those_that_the_settlement_makes() -> None:
    hands = (
        Hand(1, staked=900),
        Hand(2, staked=900),
        Hand(3, staked=200, all_in=True),
        Hand(4, staked=500, all_in=True),
        Hand(5, staked=300, folded=True),
    )
    now = round_of(*hands, antes=80)
    settled = divide({h.seat: h.staked for h in hands}, [h.seat for h in hands if h.still_in], 80)
    assert stud.pots(now) == [{"amount": pot.amount, "seats": list(pot.seats)} for pot in settled]
    assert sum(pot["amount"] for pot in stud.pots(now)) == now.pot


@pytest.mark.parametrize(
    ("hands", "told"),
    [
        # Everybody is all-in: what nobody can follow is still in the last pot.
        (
            (Hand(1, staked=100, all_in=True), Hand(2, staked=400, all_in=True)),
            [{"amount": 200, "seats": [1, 2]}, {"amount": 300, "seats": [2]}],
        ),
        # A folded hand bet above all that are still in.
        (
            (Hand(1, staked=100, all_in=True), Hand(2, staked=400, folded=True), Hand(3, staked=100)),
            [{"amount": 600, "seats": [1, 3]}],
        ),
    ],
)
def test_what_stands_above_the_last_all_in(hands: tuple[Hand, ...], told: list[Status]) -> None:
    assert stud.pots(round_of(*hands)) == told
