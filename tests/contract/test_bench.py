"""The acceptance of ``feltd bench`` on every simulated device, over a real PTY, and on broken ones."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from subprocess import PIPE

import pytest
from typer.testing import CliRunner

from daemon.bench import checks, every, shoe
from daemon.bench.checks import Check
from daemon.bench.file import load as load_bench
from daemon.bench.hands import (
    CLOSE_COVER,
    CUT_CARD,
    DRAW,
    LOAD,
    OPEN_COVER,
    REPLUG,
    UNPLUG,
    Act,
    CannotDo,
    Refused,
    SimulatorHands,
    find_control,
)
from daemon.bench.page import BEGINS, page
from daemon.bench.results import Cards, CheckResult, Latency, Outcome, Report
from daemon.bench.run import CHECKS, Subject, accept
from daemon.bench.terminal import Technician
from daemon.cli import app
from daemon.config import ConfigError
from daemon.links.url import make_link
from daemon.registry import known, protocol
from daemon.simhost import ControlClient, control_beside
from drivers.base import CardDrawn
from drivers.cards import DECK, FaceDownCard

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0  # seconds, for a process to start on a busy machine

# What a protocol cannot have is skipped by name. One that is not listed here may skip what it likes.
SKIPPED = {
    ("shoe", "fdp"): set(),
    ("shoe", "angel_eye"): {"commands", "lock", "face-up", "cover", "kept-event", "asked-command"},
    ("shoe", "bee_tek"): {
        *("commands", "lock", "cut-card", "face-up", "cover"),
        *("kept-event", "asked-command", "restart"),
    },
    ("shuffler", "fdp"): set(),
    ("shuffler", "reshuffled"): {"return", "cover", "kept-event", "restart"},
    ("sign", "alpha"): set(),
    ("sign", "sas_progressive"): {"pages", "announcement", "memory", "noise", "split"},
}
OPTIONS = {("shuffler", "reshuffled"): {"take_seconds": 1}}


class Silence:
    """A screen that shows nothing, and keeps what was asked."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def begin(self, check: Check) -> None:
        pass

    def progress(self, done: int, of: int) -> None:
        pass

    def end(self, result: CheckResult) -> None:
        pass

    def ask(self, request: str, left: float, of: float) -> None:
        if request not in self.requests:
            self.requests.append(request)

    def asked(self) -> None:
        pass


Simulate = Callable[..., Path]


@pytest.fixture
def simulate(tmp_path: Path) -> Iterator[Simulate]:
    """Start simulated devices; each answers its control when this returns the path of its port."""
    started: list[subprocess.Popen[bytes]] = []

    def start(role: str, name: str, *words: str) -> Path:
        pty = tmp_path / f"{role}.tty"
        arguments = ["sim", role, "--protocol", name, "--pty", str(pty), *words]
        started.append(feltd(*arguments))
        client = ControlClient(tmp_path / f"{role}.tty.control", PATIENCE)
        client.do("state")
        client.close()
        return pty

    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def feltd(*words: str, **streams: int) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "daemon", *words], env=environment, stdin=subprocess.DEVNULL, **streams
    )


def accepted(role: str, name: str, link: Path, *names: str, **subject: object) -> Report:
    """The report of a simulated device, as ``feltd bench`` would find it."""
    control = find_control(str(link))
    assert control is not None

    async def run() -> Report:
        what = replace(Subject(protocol(role, name), str(link)), **subject)
        return await accept(
            what, make_link(what.link, what.speaks.line), SimulatorHands(control), Silence(), names
        )

    return asyncio.run(run())


def outcomes(report: Report, outcome: Outcome) -> dict[str, str]:
    return {check.name: check.detail for check in report.checks if check.outcome is outcome}


# --- every simulated device ----------------------------------------------------------------------


SIMULATED = [key for key in known() if protocol(*key).simulator]
SLOW = {("sign", "alpha"), ("shuffler", "reshuffled")}  # they take their time on the wire
QUICK = ("identity", "commands", "shuffle", "meter", "unplug")


def device(key: tuple[str, str], *marks: pytest.MarkDecorator) -> object:
    return pytest.param(*key, id="-".join(key), marks=marks)


@pytest.mark.parametrize(
    ("role", "name"), [device(key, *([pytest.mark.slow] if key in SLOW else [])) for key in SIMULATED]
)
def test_a_simulated_device_is_accepted(role: str, name: str, simulate: Simulate) -> None:
    report = accepted(role, name, simulate(role, name), options=OPTIONS.get((role, name), {}))
    assert outcomes(report, Outcome.FAILED) == {}
    assert report.passed
    assert report.complete
    skipped = outcomes(report, Outcome.SKIPPED)
    assert set(skipped) == SKIPPED.get((role, name), set(skipped))
    assert all(skipped.values())
    assert [check.name for check in report.checks] == [check.name for check in CHECKS[role]]


def test_what_the_bench_has_recorded_is_acknowledged(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    accepted("shoe", "fdp", link, "deck", "cover")
    client = ControlClient(control_beside(link))
    assert client.do("state")["unacknowledged"] == 0
    client.close()


@pytest.mark.parametrize(("role", "name"), [device(key) for key in sorted(SLOW)])
def test_the_quick_checks_of_slow_devices(role: str, name: str, simulate: Simulate) -> None:
    names = [check.name for check in CHECKS[role] if check.name in QUICK]
    report = accepted(role, name, simulate(role, name), *names)
    assert list(outcomes(report, Outcome.PASSED)) == names


# --- what is wrong with a device is found -----------------------------------------------------------


class OtherDeck(SimulatorHands):
    """Loads the cards it is given, whatever deck is asked for."""

    def __init__(self, control: Path, deck: list[str]) -> None:
        super().__init__(control)
        self._deck = deck

    async def do(self, act: Act, seen: asyncio.Future[object] | None) -> None:
        await super().do(Act(act.ask, act.verb, {"deck": self._deck}) if act is LOAD else act, seen)


class Sabotage(SimulatorHands):
    """Does one more verb, ``also``, whenever ``verb`` is done."""

    def __init__(self, control: Path, verb: str, also: Act) -> None:
        super().__init__(control)
        self._when, self._also = verb, also

    async def do(self, act: Act, seen: asyncio.Future[object] | None) -> None:
        await super().do(act, seen)
        if act.verb == self._when:
            await super().do(self._also, None)


def judged(role: str, link: Path, check: str, hands: SimulatorHands) -> tuple[CheckResult, Report]:
    """One check of an FDP device in other hands."""

    async def run() -> Report:
        speaks = protocol(role, "fdp")
        subject = Subject(speaks, str(link))
        return await accept(subject, make_link(str(link), speaks.line), hands, Silence(), [check])

    report = asyncio.run(run())
    return report.checks[0], report


def test_a_missing_and_a_doubled_card_are_named_and_no_other(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    deck = ["AS" if card.text == "2D" else card.text for card in DECK]
    result, report = judged("shoe", link, "deck", OtherDeck(control_beside(link), deck))
    assert result.outcome is Outcome.FAILED
    assert result.detail == "52 cards, 1 missing: 2D, 1 twice: AS"
    assert report.cards == Cards(52, 0, ("2D",), ("AS",))
    assert not report.passed
    assert report.json()["cards_missing"] == ["2D"]


def test_a_deck_that_is_short_fails_with_the_count(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    deck = [card.text for card in DECK[1:]]
    result, report = judged("shoe", link, "deck", OtherDeck(control_beside(link), deck))
    assert result.outcome is Outcome.FAILED
    assert report.cards.seen == 51
    assert report.cards.missing == ("2D",)


def test_an_event_that_is_told_twice_fails(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    hands = Sabotage(control_beside(link), "draw", DRAW)
    result, _ = judged("shoe", link, "kept-event", hands)
    assert (result.outcome, result.detail) == (Outcome.FAILED, "CardDrawn was told 2 times")


def test_a_shuffle_that_counts_other_than_52_fails(simulate: Simulate) -> None:
    link = simulate("shuffler", "fdp")
    hands = OtherDeck(control_beside(link), [card.text for card in DECK[:51]])
    result, report = judged("shuffler", link, "shuffle", hands)
    assert result.detail == "51 cards were counted, not 52"
    assert report.cards.seen == 51


def test_a_device_that_does_not_come_back_fails(simulate: Simulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every, "RETURN_LIMIT", 1.0)
    link = simulate("shoe", "fdp")
    result, _ = judged("shoe", link, "unplug", Sabotage(control_beside(link), "replug", UNPLUG))
    assert result.outcome is Outcome.FAILED


def test_a_slow_return_fails(simulate: Simulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every, "BACK_WITHIN", -1.0)
    link = simulate("shoe", "fdp")
    result, _ = judged("shoe", link, "unplug", SimulatorHands(control_beside(link)))
    assert re.fullmatch(r"ready only [0-9.]+ s after the port was back", result.detail)


def test_the_wrong_device_fails_its_identity_and_is_not_checked_further(
    simulate: Simulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks.Bench.ready, "__defaults__", (1.5,))
    report = accepted("shoe", "fdp", simulate("shoe", "fdp"), serial="OTHER")
    failed = outcomes(report, Outcome.FAILED)
    assert list(failed) == ["identity"]
    assert "expected shoe OTHER, found shoe SHOE0001" in failed["identity"]
    rest = outcomes(report, Outcome.SKIPPED)
    assert len(rest) == len(CHECKS["shoe"]) - 1
    assert set(rest.values()) == {f"not run: {failed['identity']}"}
    assert not report.passed
    assert not report.complete


def test_what_the_bench_lacks_is_left_out_with_its_reason(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    report = accepted("shoe", "fdp", link, "identity", "cover", lacks={"cover": "no switch"})
    assert outcomes(report, Outcome.SKIPPED) == {"cover": "no switch"}
    assert report.complete


# --- hands ------------------------------------------------------------------------------------------


class Person(Silence):
    """Somebody at the device, who does these acts, each the first time it is asked for."""

    def __init__(self, link: Path, *does: Act) -> None:
        super().__init__()
        self._client = ControlClient(control_beside(link))
        self._does = {act.ask: act for act in does}

    def ask(self, request: str, left: float, of: float) -> None:
        if request not in self.requests and request in self._does:
            act = self._does[request]
            self._client.do(act.verb, **act.words)
        super().ask(request, left, of)


class Pressed:
    """Keys of a terminal at which one key is held down."""

    def __init__(self, key: str) -> None:
        self._key = key

    def forget(self) -> None:
        pass

    def pressed(self, wanted: str) -> str:
        return self._key if self._key in wanted else ""


def asked(link: Path, check: str, person: Person, key: str = "", patience: float = 5) -> Report:
    """One check of an FDP shoe by a technician."""

    async def run() -> Report:
        speaks = protocol("shoe", "fdp")
        keys = Pressed(key) if key else None
        hands = Technician(person, patience, keys)  # type: ignore[arg-type]  # no terminal here
        return await accept(
            Subject(speaks, str(link)), make_link(str(link), speaks.line), hands, person, [check]
        )

    return asyncio.run(run())


def test_the_event_itself_answers_a_request(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    person = Person(link, OPEN_COVER, CLOSE_COVER)
    report = asked(link, "cover", person)
    assert report.passed
    assert report.hands == "none"
    assert person.requests == [OPEN_COVER.ask, CLOSE_COVER.ask]


def test_a_technician_unplugs_and_the_return_is_measured(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    report = asked(link, "unplug", Person(link, UNPLUG, REPLUG, DRAW), "?")
    assert report.hands == "technician"
    assert report.passed, report.checks


def test_nobody_there_skips_and_is_not_complete(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    report = asked(link, "cover", Person(link), patience=0.2)
    assert outcomes(report, Outcome.SKIPPED) == {
        "cover": f"needs hands: {OPEN_COVER.ask}: nobody did within 0.2 s"
    }
    assert not report.complete
    assert not report.passed  # nothing was run


def test_done_without_an_event_fails_and_leaving_out_skips(
    simulate: Simulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = simulate("shoe", "fdp")
    monkeypatch.setattr(checks.Bench.by_hand, "__defaults__", (None, None, 0.3, True))
    failed = asked(link, "cut-card", Person(link), "\n").checks[0]
    assert (failed.outcome, failed.detail[:26]) == (Outcome.FAILED, "CutCardDrawn was not told ")
    skipped = asked(link, "cut-card", Person(link), "s").checks[0]
    assert (skipped.outcome, skipped.applies) == (Outcome.SKIPPED, True)


def test_no_person_can_make_noise(simulate: Simulate) -> None:
    link = simulate("shoe", "fdp")
    noise = asked(link, "noise", Person(link)).checks[0]
    assert noise.outcome is Outcome.SKIPPED
    assert noise.detail == "needs the wire of a simulated device"


def test_a_verb_that_is_not_there_is_not_a_refusal(simulate: Simulate) -> None:
    hands = SimulatorHands(control_beside(simulate("shoe", "bee_tek")))
    with pytest.raises(CannotDo):
        asyncio.run(hands.do(CUT_CARD, None))
    with pytest.raises(Refused):
        asyncio.run(hands.do(Act("", "clear"), None))
    hands.close()


# --- where the control is ---------------------------------------------------------------------------


def test_the_control_is_found_beside_the_port_and_in_a_demo_folder(tmp_path: Path) -> None:
    assert find_control(str(tmp_path / "shoe.tty")) is None
    for name in ("shoe.control", "shoe.tty.control"):
        with socket.socket(socket.AF_UNIX) as there:
            there.bind(str(tmp_path / name))
            assert find_control(str(tmp_path / "shoe.tty")) == tmp_path / name
            assert find_control(f"serial://{tmp_path}/shoe.tty?baud=9600") == tmp_path / name
    assert find_control("tcp://127.0.0.1:4001") is None


def test_a_file_is_no_control(tmp_path: Path) -> None:
    (tmp_path / "shoe.tty.control").write_text("mine")
    assert find_control(str(tmp_path / "shoe.tty")) is None


def test_a_control_elsewhere_leaves_a_link_that_goes_with_the_simulator(tmp_path: Path) -> None:
    pty, there, beside = tmp_path / "a.tty", tmp_path / "other", tmp_path / "a.tty.control"
    beside.symlink_to(tmp_path / "long gone")
    process = feltd("sim", "shoe", "--protocol", "fdp", "--pty", str(pty), "--control", str(there))
    ControlClient(there, PATIENCE).do("state")
    assert beside.resolve() == there
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_leads_nowhere_makes_room_for_the_control(simulate: Simulate, tmp_path: Path) -> None:
    (tmp_path / "shoe.tty.control").symlink_to(tmp_path / "long gone")
    simulate("shoe", "fdp")
    assert not (tmp_path / "shoe.tty.control").is_symlink()
    assert not (tmp_path / "long gone").exists()


def test_a_file_in_the_control_s_place_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.tty.control").write_text("mine")
    process = feltd("sim", "shoe", "--protocol", "fdp", "--pty", str(tmp_path / "a.tty"), stderr=PIPE)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert b"is no socket: it is kept" in said
    assert (tmp_path / "a.tty.control").read_text() == "mine"


# --- the command ------------------------------------------------------------------------------------


def bench(*words: str) -> tuple[int, str, str]:
    process = feltd("bench", *words, stdout=PIPE, stderr=PIPE)
    out, err = process.communicate(timeout=90)
    return process.returncode, out.decode(), err.decode()


def test_the_command_finds_the_simulator_and_tells_one_json_object(
    simulate: Simulate, tmp_path: Path
) -> None:
    link, html = simulate("shoe", "fdp"), tmp_path / "report.html"
    code, out, err = bench("shoe", "--protocol", "fdp", "--link", str(link), "--json", "--report", str(html))
    told = json.loads(out)
    assert (code, told["passed"], told["complete"], told["hands"]) == (0, True, True, "simulator")
    assert (told["device"], told["serial"], told["firmware"]) == ("shoe", "SHOE0001", "SIM-1.0")
    assert (told["cards_seen"], told["cards_missing"], told["cards_doubled"]) == (52, [], [])
    assert {"protocol", "link", "digest", "date", "version", "counters"} <= told.keys()
    commands = next(check for check in told["checks"] if check["name"] == "commands")
    assert set(commands) == {"name", "result", "detail", "seconds", "latency_ms"}
    assert commands["latency_ms"]["n"] == 21
    assert 0 < commands["latency_ms"]["p50"] <= commands["latency_ms"]["max"]
    assert told["latency_ms"]["n"] >= 73
    assert len(err.splitlines()) == len(CHECKS["shoe"])
    assert not re.search(r"\b([2-9JQKA]|10)[SHCD]\b", out + err)  # a sound deck names no card
    assert html.read_text(encoding="utf-8").startswith(BEGINS)
    assert "SHOE0001" in html.read_text(encoding="utf-8")


def test_a_report_goes_over_nothing_but_a_report(tmp_path: Path) -> None:
    """And that is told before the device is tried for minutes."""
    key = tmp_path / "journal.key"
    key.write_bytes(bytes(32))
    code, out, err = bench("shoe", "--protocol", "fdp", "--link", "x.tty", "--report", str(key))
    assert (code, "was not written by this command, and is kept" in err, out) == (1, True, "")
    assert key.read_bytes() == bytes(32)


def test_without_hands_what_needs_none_is_run(simulate: Simulate, tmp_path: Path) -> None:
    link = simulate("shoe", "fdp")
    away = tmp_path / "away.tty"
    away.symlink_to(link)  # no control beside this name
    code, out, err = bench("shoe", "--protocol", "fdp", "--link", str(away), "--json", "--patience", "0.2")
    told = json.loads(out)
    assert (code, told["passed"], told["complete"], told["hands"]) == (0, True, False, "none")
    results = {check["name"]: check["result"] for check in told["checks"]}
    assert [name for name, result in results.items() if result == "passed"] == ["identity", "commands"]
    assert "failed" not in results.values()
    assert "→ Open the cover" in err


def test_a_device_that_is_not_there_fails(tmp_path: Path) -> None:
    code, out, _ = bench("sign", "--protocol", "alpha", "--link", str(tmp_path / "no.tty"), "--json")
    told = json.loads(out)
    assert (code, told["passed"], told["checks"][0]["result"]) == (1, False, "failed")
    assert "absent" in told["checks"][0]["detail"]


@pytest.mark.parametrize(
    "words",
    [
        ("shoe", "--protocol", "nothing", "--link", "x"),
        ("table", "--protocol", "fdp", "--link", "x"),
        ("shoe", "--protocol", "fdp", "--link", "nothing://x"),
        ("shoe", "--protocol", "fdp", "--link", "x", "--control", "pyproject.toml"),
        ("shoe", "--protocol", "fdp", "--link", "x", "--report", "no-such-folder/r.html"),
    ],
    ids=["protocol", "role", "link", "control", "report"],
)
def test_wrong_usage(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    before = (ROOT / "pyproject.toml").read_bytes()
    assert CliRunner().invoke(app, ["bench", *words]).exit_code == 2
    assert (ROOT / "pyproject.toml").read_bytes() == before


# --- the report -------------------------------------------------------------------------------------


def test_percentiles_are_of_the_nearest_rank() -> None:
    latency = Latency.of(ms * 1_000_000 for ms in range(100, 0, -1))
    assert latency == Latency(50, 90, 99, 100, 100)
    assert Latency.of([]) is None


def test_a_deck_is_counted_and_judged() -> None:
    drawn = [CardDrawn(FaceDownCard(card)) for card in DECK[1:]]
    Random(1).shuffle(drawn)
    drawn += [CardDrawn(None), CardDrawn(FaceDownCard(DECK[5]))]
    assert shoe.count(drawn) == Cards(53, 1, (DECK[0].text,), (DECK[5].text,))


def sample_report(*results: CheckResult) -> Report:
    return Report(
        "shoe", "fdp", "<link>", "none", "2026-01-02T03:04:05.000000Z", "1.0", "S&1", checks=results
    )


PASSED = CheckResult("a", "A", Outcome.PASSED, "seen", 1.0, (1_000_000, 30_000_000))
SKIPPED_CHECK = CheckResult("b", "B", Outcome.SKIPPED, "nobody", 0.1)
FAILED = CheckResult("c", "C <3", Outcome.FAILED, 'said "<b>"', 0.1)


def test_the_page_is_whole_and_fetches_nothing() -> None:
    html = page(sample_report(PASSED, FAILED, SKIPPED_CHECK))
    assert not re.search(r"<script|src=|href=|url\(|@import|https?:", html)
    for text in ("S&amp;1", "&lt;link&gt;", "C &lt;3", "&lt;b&gt;", "2026-01-02 03:04:05 UTC", "<svg"):
        assert text in html
    assert "<b>" not in html
    assert html.count("<circle") == 2


def test_a_page_without_samples_has_no_plot() -> None:
    assert "<svg" not in page(sample_report(SKIPPED_CHECK))


@pytest.mark.parametrize(
    ("results", "passed", "complete"),
    [
        ((PASSED,), True, True),
        ((PASSED, SKIPPED_CHECK), True, False),
        ((PASSED, replace(SKIPPED_CHECK, applies=False)), True, True),
        ((PASSED, FAILED), False, True),
        ((SKIPPED_CHECK,), False, False),
        ((), False, False),
    ],
)
def test_when_a_device_has_passed(results: tuple[CheckResult, ...], passed: bool, complete: bool) -> None:
    report = sample_report(*results)
    assert (report.passed, report.complete) == (passed, complete)


# --- the suite of the bench ---------------------------------------------------------------------------


def suite(*words: str) -> tuple[int, str]:
    """``pytest tests/bench`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/bench", "-p", "no:cacheprovider", "-rs", *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=PIPE,
        stderr=subprocess.STDOUT,
        timeout=100,
    )
    return done.returncode, done.stdout.decode()


def test_without_a_bench_the_suite_skips_with_one_reason() -> None:
    code, out = suite()
    assert code == 0
    assert "no bench: pytest tests/bench --bench config/bench.toml -s" in out
    assert "1 skipped" in out


def test_the_suite_checks_every_device_of_a_bench(simulate: Simulate, tmp_path: Path) -> None:
    link = simulate("shoe", "fdp")
    (tmp_path / "bench.toml").write_text(
        f"""
        [bench]
        [devices.good]
        role = "shoe"
        protocol = "fdp"
        link = "{link}"
        hands = "simulator"
        [devices.gone]
        role = "shoe"
        protocol = "fdp"
        link = "{tmp_path}/gone.tty"
        hands = "none"
        """
    )
    code, out = suite("--bench", str(tmp_path / "bench.toml"), "-k", "identity or commands or cover")
    assert code == 1
    assert "3 passed" in out
    assert "1 failed" in out
    assert "2 skipped" in out
    assert "gone is broken: identity: not ready within 8 s: absent" in out


@pytest.mark.parametrize("kind", ["pipe", "device", "deep", "long"])
def test_a_file_that_cannot_be_a_bench_is_a_sentence(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "bench.toml"
    if kind == "pipe":
        os.mkfifo(path)  # and nobody ever writes it
    elif kind == "deep":
        path.write_text(f"a = {'[' * 20_000}")
    elif kind == "long":
        path.write_text("[bench]\n" + "#\n" * 2**20)
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 78
    assert result.stdout.startswith(f"{path}: cannot be read: ")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_bench(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('protocol = "x"', "protocol: must be"),
        ('hands = "both"', "hands: Input should be"),
        ('hans = "none"', "hans: Extra inputs"),
        ('lacks = {lid = "none"}', "lacks.lid: unknown"),
        ("options = {take = 1}", "options.take: unknown"),
        ('link = "nothing://x"', "no link nothing:"),
    ],
)
def test_a_bench_file_is_checked(line: str, problem: str, tmp_path: Path) -> None:
    lines = {"role": '"shoe"', "protocol": '"fdp"', "link": '"x"', "hands": '"none"'}
    key, _, value = line.partition(" = ")
    text = "\n".join(f"{name} = {told}" for name, told in {**lines, key: value}.items())
    path = tmp_path / "bench.toml"
    path.write_text(f"[bench]\n[devices.a]\n{text}\n")
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 78
    assert f"{path}: devices.a" in result.stdout
    assert problem in result.stdout
