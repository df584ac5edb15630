"""``feltd simulate``: the real table on simulated devices, with numbers that do not depend on our code."""

from __future__ import annotations

import hashlib
import io
from collections.abc import MutableSequence, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon import simulate
from daemon.audit import export, verify
from daemon.build import build_table
from daemon.cli import app
from daemon.config import ConfigError
from daemon.games.jackpot import Meter
from daemon.journal import MemoryJournal
from daemon.simulate import (
    BUILT_IN_RULES,
    Evening,
    SimulateOptions,
    SimulationError,
    key_path,
    run,
    settings_of,
)
from drivers.base import Send
from drivers.cards import DECK, parse_cards
from drivers.sign.sim_alpha import AlphaSim

RETURN_OF_AK = -0.0568177
AK_OR_BETTER = 1_463_700 / 2_598_960
MODES = ("shoe", "shuffler")


def simulated(**options: object) -> dict[str, object]:
    return run(SimulateOptions(**options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def long_run() -> dict[str, object]:
    return simulated(rounds=2_000, seed=11)


# --- nothing is broken, and nothing is left to chance ------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_rounds_break_nothing_and_come_again_from_their_seed(mode: str) -> None:
    first, again = (simulated(rounds=150, mode=mode, seed=5) for _ in range(2))
    other = simulated(rounds=150, mode=mode, seed=6)
    assert first["rounds"] == 150
    assert (first["invariant_violations"], first["void"], first["faults_injected"]) == (0, 0, 0)
    assert first["journal_sha256"] == again["journal_sha256"]
    assert first["journal_sha256"] != other["journal_sha256"]
    assert first["player_return_per_ante"] == again["player_return_per_ante"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("boxes", range(1, 8))
def test_every_number_of_boxes(mode: str, boxes: int) -> None:
    report = simulated(rounds=15, boxes=boxes, mode=mode, strategy="blind")
    categories = report["categories"]
    assert isinstance(categories, dict)
    assert sum(categories.values()) == 15 * boxes
    assert report["invariant_violations"] == 0
    assert report["raise_rate"] == 1.0


def test_the_journal_file_is_the_same_journal(tmp_path: Path) -> None:
    file = tmp_path / "evening.db"
    on_disk = simulated(rounds=20, seed=4, journal=file)
    in_memory = simulated(rounds=20, seed=4)
    lines = io.BytesIO()
    export(file, lines, canonical=True, key=key_path(file))
    assert on_disk["journal_sha256"] == in_memory["journal_sha256"]
    assert on_disk["journal_sha256"] == hashlib.sha256(lines.getvalue()).hexdigest()
    assert verify(file)["errors"] == []
    assert verify(file)["rounds"] == 20


def test_a_journal_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "evening.db"
    simulated(rounds=1, journal=file)
    before = file.read_bytes()
    with pytest.raises(FileExistsError):
        simulated(rounds=1, journal=file)
    assert file.read_bytes() == before
    key_path(file).unlink()
    with pytest.raises(FileExistsError):
        simulated(rounds=1, journal=file)
    assert not key_path(file).exists()


@pytest.mark.parametrize(("name", "code"), [("none/evening.db", 1), ("", 2)])
def test_a_place_without_a_folder_is_a_sentence(name: str, code: int, tmp_path: Path) -> None:
    place = str(tmp_path / name) if name else ""
    done = CliRunner().invoke(app, ["simulate", "--rounds", "1", "--journal", place])
    assert (done.exit_code, list(tmp_path.iterdir())) == (code, [])
    said = f"feltd: {place}: there is no folder {tmp_path / 'none'}: make it" if name else "names no file"
    assert said in done.stderr


def test_progress_tells_every_round() -> None:
    told: list[int] = []
    simulated(rounds=4, progress=told.append)
    assert told == [1, 2, 3, 4]


# --- known numbers -----------------------------------------------------------------------


def test_return_and_rates_of_ace_king(long_run: dict[str, object]) -> None:
    error = long_run["standard_error"]
    returned, raised = long_run["player_return_per_ante"], long_run["raise_rate"]
    qualified = long_run["dealer_qualifies"]
    assert isinstance(error, float)
    assert isinstance(returned, float)
    assert isinstance(raised, float)
    assert isinstance(qualified, float)
    assert 0.01 < error < 2.243 / 2_000**0.5
    assert abs(returned - RETURN_OF_AK) < 4 * error
    assert raised == pytest.approx(AK_OR_BETTER, abs=0.015)
    assert qualified == pytest.approx(AK_OR_BETTER, abs=0.04)


def test_categories_are_as_frequent_as_they_should_be(long_run: dict[str, object]) -> None:
    counted = long_run["categories"]
    assert isinstance(counted, dict)
    assert next(iter(counted)) == "royal-flush"
    for label, of_all in (
        ("no-pair", 1_302_540),
        ("pair", 1_098_240),
        ("two-pair", 123_552),
        ("trips", 54_912),
    ):
        expected = 14_000 * of_all / 2_598_960
        assert counted[label] == pytest.approx(expected, abs=5 * expected**0.5)


def test_a_pair_or_better_raises_less() -> None:
    report = simulated(rounds=400, strategy="pair-plus", seed=2)
    assert report["raise_rate"] == pytest.approx(1 - 1_302_540 / 2_598_960, abs=0.04)


def test_always_raising_costs_more_than_ace_king_on_the_same_cards() -> None:
    blind, ak = (simulated(rounds=200, strategy=name, seed=9) for name in ("blind", "ak"))
    lost, kept = blind["player_return_per_ante"], ak["player_return_per_ante"]
    assert isinstance(lost, float)
    assert isinstance(kept, float)
    assert lost < kept
    assert blind["categories"] == ak["categories"]
    assert blind["journal_sha256"] != ak["journal_sha256"]


# --- what a long evening meets once --------------------------------------------------------


class Stacked(Random):
    """A shuffle that always ends with these cards on top."""

    def __init__(self, hands: Sequence[str]) -> None:
        super().__init__(1)
        cards = [parse_cards(hand) for hand in hands]
        self._top = [hand[number].text for number in range(5) for hand in cards]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        x[:] = self._top + [card.text for card in DECK if card.text not in self._top]


def evening_with(hands: Sequence[str], strategy: str = "ak") -> Evening:
    """One evening at a table whose boxes and dealer always get these hands."""
    options = SimulateOptions(boxes=len(hands) - 1, strategy=strategy)
    evening = Evening(options, settings_of(options), MemoryJournal(), Stacked(hands))
    evening.open()
    return evening


def test_a_royal_and_a_straight_flush_are_confirmed_paid_and_shown() -> None:
    evening = evening_with(("AS KS QS JS 10S", "9H 8H 7H 6H 5H", "AD KD 4C 3H 2C"))
    evening.play()
    evening.play()  # nothing is pending, and the sign shows the new minimum
    summary, jackpot = evening.journal.summary, BUILT_IN_RULES.jackpot
    tenth, contributed = jackpot.minimum // 10, int(2 * jackpot.stake * jackpot.contribution)
    share = (jackpot.minimum + contributed) // 10
    assert [row["award"] for row in summary["boxes"]] == [jackpot.minimum + contributed - share, share]
    assert share > tenth
    assert summary["pay_order"] == [2, 1]
    assert summary["pool"]["closed"] == jackpot.minimum
    assert evening.tally.net == 2 * (201 + 101) * BUILT_IN_RULES.ante_min
    assert (evening.tally.qualified, evening.tally.raises) == (2, 4)


def test_the_return_counts_folds_unqualified_dealers_and_losses() -> None:
    evening = evening_with(("9H 8D 7C 5S 3D", "AH KC 4H 3C 2S", "QH JC 9D 5D 2D"))
    evening.play()  # the dealer does not qualify: the fold loses its ante, the raise wins one
    assert evening.tally.net == 0
    evening = evening_with(("9H 8D 7C 5S 3D", "AH KC 4H 3C 2S", "AD KD 9D 5D 2C"))
    evening.play()
    assert evening.tally.net == -(1 + 3) * BUILT_IN_RULES.ante_min


def test_an_act_that_is_refused_ends_the_evening() -> None:
    evening = evening_with(("9H 8D 7C 5S 3D", "QH JC 9D 5D 2D"))
    with pytest.raises(SimulationError, match="settle was refused"):
        evening.bench.act("settle")


def test_a_shoe_that_is_empty_ends_the_evening() -> None:
    evening = evening_with(("9H 8D 7C 5S 3D", "QH JC 9D 5D 2D"))
    evening.bench.handle("shoe", "load", deck=[])
    with pytest.raises(SimulationError, match="no card can be drawn"):
        evening.bench.handle("shoe", "draw")


def test_what_never_happens_is_not_waited_for() -> None:
    evening = evening_with(("9H 8D 7C 5S 3D", "QH JC 9D 5D 2D"))
    with pytest.raises(SimulationError, match="in vain for a miracle"):
        evening.bench.wait(lambda: False, "a miracle")


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_broken_pool_equation_is_counted_and_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, on_disk: bool
) -> None:
    whole = Meter.holds
    monkeypatch.setattr(Meter, "holds", lambda meter: whole(meter) and meter.contributed < 20_000)
    report = simulated(rounds=50, journal=tmp_path / "evening.db" if on_disk else None)
    assert report["invariant_violations"] == 1
    assert report["rounds"] == 4  # seven boxes bring 4,900 a round


def test_a_sign_that_shows_something_else_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_more(sign: AlphaSim, verb: dict[str, object], now: int) -> tuple[dict[str, object], list[Send]]:
        told, sends = tell(sign, verb, now)
        assert isinstance(told["amount"], int)
        return told | {"amount": told["amount"] + 1}, sends

    tell = AlphaSim.control
    monkeypatch.setattr(AlphaSim, "control", one_more)
    assert simulated(rounds=5)["invariant_violations"] == 1


# --- options -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("game", "baccarat", "caribbean and five-card"),
        ("strategy", "luck", "pair-plus"),
        ("mode", "tower", "shoe or shuffler"),
        ("boxes", 0, "1 to 7"),
        ("boxes", 8, "1 to 7"),
        ("rounds", 0, "at least 1"),
    ],
)
def test_an_option_that_cannot_be_is_refused(option: str, value: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        simulated(**{option: value})


def test_one_round_has_no_standard_error() -> None:
    assert simulated(rounds=1)["standard_error"] is None


CONFIG = """
[table]
id = "BJ-07"
game = "caribbean"
mode = "shoe"
journal = "journal.db"
key = "feltd.key"
socket = "feltd.sock"

[rules]
version = "61/2004"
edition = "demo"
ante_min = 700
ante_max = 9000
royal_odds = 50

[rules.royal_approval]
reference = "specimen"
applied = 2024-09-02
permitted = 2024-09-04
effective = 2024-09-05

[rules.progressive]
stake = 100
contribution = "71/100"
minimum = 2000000
prizes = { royal_flush = 500000, straight_flush = 50000, quads = 5000, full_house = 1000, flush = 500 }

[devices]
shoe = { protocol = "fdp", link = "/dev/shoe" }
sign = { protocol = "alpha", link = "/dev/sign" }
"""


def test_the_rules_of_a_configuration(tmp_path: Path) -> None:
    file = tmp_path / "feltd.toml"
    file.write_text(CONFIG)
    journal = tmp_path / "evening.db"
    report = simulated(rounds=3, mode="shuffler", config=file, journal=journal)
    assert report["invariant_violations"] == 0
    assert verify(journal)["pool"] == 2_000_000 + 3 * 7 * 71


def test_a_configuration_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "feltd.toml"
    file.write_text(CONFIG.replace("ante_min = 700", "ante_min = -1"))
    with pytest.raises(ConfigError, match=r"rules\.ante_min"):
        simulated(config=file)


def test_the_compiled_machine_plays_the_rounds_of_the_library_s(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = [simulated(rounds=60, mode=mode, seed=4)["journal_sha256"] for mode in ("shoe", "shuffler")]
    monkeypatch.setattr(simulate, "build_table", lambda settings, compiled: build_table(settings))
    library = [simulated(rounds=60, mode=mode, seed=4)["journal_sha256"] for mode in ("shoe", "shuffler")]
    assert compiled == library
