"""A dealer's slip put right (CS-06): by an act that names what it replaces, before it is too late."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.games.desk import Act
from daemon.table import Outcome
from tests.table.floor import ANTE, STAKE, Floor
from tests.table.test_caribbean import AK, LOW


def correct(floor: Floor, replaces: int, name: str, **args: Any) -> Outcome:
    return floor.take(Act(name, args, role="dealer", replaces=replaces))


def done(floor: Floor, replaces: int, name: str, **args: Any) -> None:
    outcome = correct(floor, replaces, name, **args)
    assert outcome.refusal is None, outcome.refusal


def refused(floor: Floor, replaces: int, name: str, **args: Any) -> str:
    before = floor.picture()
    outcome = correct(floor, replaces, name, **args)
    assert outcome.refusal is not None
    assert floor.picture() == before
    return f"{outcome.refusal.clause} {outcome.refusal.reason}"


def players(floor: Floor) -> list[int]:
    return [floor.player(box) for box in range(1, 8)]


def test_a_wrong_amount() -> None:
    floor = Floor()
    floor.bets(1, 2, progressive=(1,))
    wrong = floor.seq - 2
    done(floor, wrong, "ante", box=1, amount=3 * ANTE)
    assert players(floor)[:2] == [-3 * ANTE - STAKE, -ANTE]  # the progressive bet stays
    assert [(m.source, m.target, m.amount, m.reason) for m in floor.last.moves] == [
        ("player.1", "ante.1", 2 * ANTE, "corrected")
    ]
    assert floor.notes[-1].detail == f"record {wrong} (ante box 1) superseded by ante"
    done(floor, floor.seq, "ante", box=1, amount=ANTE)  # the correction was a slip, too
    assert players(floor)[:2] == [-ANTE - STAKE, -ANTE]
    assert "no act of this round" in refused(floor, wrong, "ante", box=1, amount=ANTE)


def test_a_wrong_box() -> None:
    floor = Floor()
    floor.bets(1, 2)
    done(floor, floor.seq, "ante", box=3, amount=ANTE)
    assert players(floor)[:3] == [-ANTE, 0, -ANTE]
    assert floor.game.round is not None
    assert sorted(floor.game.round.boxes) == [1, 3]


def test_a_bet_that_others_rest_on_stays_possible_or_is_refused_whole() -> None:
    floor = Floor()
    floor.bets(1, 2, progressive=(2,))
    ante = floor.seq - 1
    text = refused(floor, ante, "ante", box=3, amount=ANTE)
    assert text == f"CS-06 progressive of record {floor.seq - 1}: box 2 has no ante"
    assert "outside the limits" in refused(floor, ante, "ante", box=2, amount=1)
    assert "is taken" in refused(floor, ante, "ante", box=1, amount=ANTE)
    done(floor, ante + 1, "withdraw")
    done(floor, ante, "ante", box=3, amount=ANTE)


def test_a_taking_back_that_was_a_slip() -> None:
    floor = Floor()
    floor.bets(1, 2, progressive=(1,))
    floor.do("take-back", box=1)
    done(floor, floor.seq, "take-back", box=2)
    assert players(floor)[:2] == [-ANTE - STAKE, 0]


def test_a_carried_bet_goes_with_its_box() -> None:
    floor = Floor()
    floor.bets(1, progressive=(1,))
    floor.draw(count=1)
    floor.do("misdeal")
    floor.bets(1)
    done(floor, floor.seq, "ante", box=2, amount=ANTE)
    assert floor.game.carried == {1: STAKE}
    done(floor, floor.seq, "ante", box=1, amount=ANTE)
    assert floor.game.carried == {}
    assert floor.game.round is not None
    assert floor.game.round.boxes[1].progressive is not None


def test_the_first_card_ends_it_for_bets() -> None:
    floor = Floor()
    floor.bets(1, 2)
    ante = floor.seq
    floor.do("close-betting")
    done(floor, ante, "ante", box=3, amount=ANTE)
    assert "closed the betting" in floor.refused("ante", box=4, amount=ANTE)
    ante = floor.seq - 1
    floor.draw(count=1)
    assert "no longer" in refused(floor, ante, "ante", box=2, amount=ANTE)


def test_a_shuffler_that_was_told_to_deal_holds_the_boxes() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1, 2)
    ante = floor.seq
    floor.do("close-betting")
    assert "CS-07" in refused(floor, ante, "ante", box=3, amount=ANTE)
    done(floor, ante, "ante", box=2, amount=2 * ANTE)


def test_a_decision_keyed_to_the_neighbour() -> None:
    floor = Floor()
    floor.bets(1, 2, 3)
    floor.deal(LOW, AK)
    floor.do("raise", box=1)
    done(floor, floor.seq, "raise", box=2)
    assert players(floor)[:3] == [-ANTE, -3 * ANTE, -ANTE]
    slip = floor.seq
    floor.do("fold", box=1)
    done(floor, slip, "fold", box=2)
    assert players(floor)[:3] == [-ANTE, -ANTE, -ANTE]
    assert "has decided" in refused(floor, floor.seq, "fold", box=1)
    assert "cannot take the place" in refused(floor, floor.seq - 1, "ante", box=2, amount=ANTE)
    floor.do("fold", box=3)
    assert floor.phase == "settling"
    assert "no longer" in refused(floor, floor.seq, "raise", box=3)


def test_cards_keyed_wrong_at_the_showdown() -> None:
    floor = Floor(mode="shuffler")
    floor.bets(1)
    for index in range(2):
        floor.packet(index)
    floor.do("reveal", box="dealer", cards="4S")
    done(floor, floor.seq, "reveal", box="dealer", cards="3S")
    floor.do("raise", box=1)
    floor.do("reveal", box="dealer", cards="AC QD 9H 6C 3S")
    assert floor.phase == "settling"  # ace-queen does not qualify
    slip = floor.seq
    text = refused(floor, slip, "reveal", box="dealer", cards="AC KD 9H 6C 4S")  # without the open 3S
    assert "read other cards" in text
    done(floor, slip, "reveal", box="dealer", cards=AK)
    assert floor.phase == "showdown"  # ace-king does: the player's hand is to be shown
    floor.do("reveal", box=1, cards=LOW[1])
    done(floor, floor.seq, "reveal", box=1, cards=LOW[2])
    assert floor.phase == "settling"
    floor.do("settle")
    assert floor.closed[-1]["boxes"][0]["cards"] == LOW[2].split()
    assert floor.closed[-1]["dealer"]["cards"] == AK.split()


def test_a_declaration_that_was_a_slip() -> None:
    floor = Floor()
    floor.bets(1)
    floor.deal({1: LOW[1]}, AK)
    floor.do("raise", box=1)
    floor.do("declare", box=1, result="win")
    assert "CS-09" in floor.refused("settle")
    done(floor, floor.seq - 1, "withdraw")
    floor.do("settle")


@pytest.mark.parametrize("instead", [{"box": 1, "card": 2}, None])
def test_an_exposure_that_was_a_slip(instead: dict[str, Any] | None) -> None:
    floor = Floor()
    floor.bets(1, 2)
    floor.draw(count=6)
    floor.do("expose", box="dealer", card=2)
    slip = floor.seq
    assert "has no card" in refused(floor, slip, "expose", box=1, card=3)
    if instead is None:
        done(floor, slip, "withdraw")
    else:
        done(floor, slip, "expose", **instead)
    floor.draw(count=9)
    assert floor.phase == "deciding"
    view = floor.game.round_view()
    assert view is not None
    assert view["dealer"]["cards"][1] is None  # type: ignore[index]
    assert view["dealer"]["cards"][4] is not None  # type: ignore[index]  # the fifth lies open again
    floor.do("expose", box=1, card=1)
    assert floor.phase == ("deciding" if instead is None else "void")


def test_what_cannot_be_replaced() -> None:
    floor = Floor()
    assert "CS-06" in refused(floor, 1, "open-table")
    floor.bets(1)
    assert "replaces= is missing" in floor.refused("withdraw")
    assert "no act of this round" in refused(floor, 1, "ante", box=1, amount=ANTE)
    assert "no act of this round" in refused(floor, floor.seq + 9, "withdraw")
