"""Configurations: the shipped ones are valid, and each kind of mistake is told by file, key and reason."""

from __future__ import annotations

import json
import os
from dataclasses import FrozenInstanceError
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daemon import royal_option
from daemon.build import TABLE_ACTS, build_ports, build_table, known_acts, started
from daemon.cli import app
from daemon.config import ConfigError, Settings, load
from daemon.engine import Port
from daemon.games.desk import Act
from daemon.registry import protocol
from daemon.table import FromDevice
from drivers.base import CoverMoved
from tests.unit.configurations import CONFIGS, Write, problems, written

DEMO = (CONFIGS / "demo.toml").read_text()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return partial(written, tmp_path / "t.toml", text=DEMO)


# --- what is right ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["caribbean.toml", "demo.toml"])
def test_shipped_configurations_are_valid(name: str) -> None:
    settings = load(CONFIGS / name)
    assert {device.role for device in settings.devices} == {"shoe", "shuffler", "sign"}
    assert set(build_ports(settings, build_table(settings))) == {device.id for device in settings.devices}


def test_the_house_s_table_is_read_as_it_is_written() -> None:
    settings = load(CONFIGS / "caribbean.toml")
    assert settings.journal == Path("/var/lib/feltd/journal.db")
    assert (settings.table_id, settings.mode, settings.shuffler, settings.simulated) == (
        "CS-1",
        "shuffler",
        "SH-1",
        (),
    )
    assert [device.id for device in settings.devices] == ["shoe", "SH-1", "SH-2", "sign"]
    assert [device.serial for device in settings.devices] == ["SHOE0001", "SHUF0001", "SHUF0002", ""]
    jackpot = settings.rules.jackpot
    assert (jackpot.stake, jackpot.contribution) == (1_000, Fraction(71, 100))
    assert (jackpot.royal_flush, jackpot.flush, settings.rules.cap) == (50_000_000, 5_000, 50_000_000)


def test_paths_are_relative_to_the_file(write: Write, tmp_path: Path) -> None:
    settings = load(write())
    assert settings.journal == tmp_path / "journal.db"
    assert settings.key == tmp_path / "journal.key"
    assert settings.socket == tmp_path / "feltd.sock"
    assert settings.devices[0].link == str(tmp_path / "shoe.tty")
    assert settings.simulated == ("shoe", "SH-1", "sign")


def test_a_link_may_be_a_url(write: Write) -> None:
    url = "serial:///dev/ttyS0?baud=4800"
    settings = load(write(('link = "sign.tty"', f'link = "{url}"')))
    assert settings.devices[-1].link == url


def test_optional_keys_have_the_readings_of_the_regulation(write: Write) -> None:
    written = [
        'currency = "$"\n', "cap = 10_000_000\n", 'cap_scope = "box"\n', "pay_unit = 1\n",
        'straight_flush_base = "round_start"\n', 'royal_sharing = "split_max"\n', 'award_base = "staged"\n',
        'folded_progressive = "lost"\n',
        '[rules.progressive.funded_by]\nquads = "pool"\nfull_house = "pool"\nflush = "pool"\n',
    ]  # fmt: skip
    with_defaults = load(write(*((line, "") for line in written)))
    assert with_defaults.rules.cap is None
    assert with_defaults.rules.jackpot == load(CONFIGS / "demo.toml").rules.jackpot


def test_prizes_may_be_the_house_s(write: Write) -> None:
    settings = load(
        write(('quads = "pool"', 'quads = "house"'), ('full_house = "pool"', 'full_house = "house"'))
    )
    assert settings.rules.jackpot.funded_by_house == ("quads", "full-house")


def test_settings_are_frozen() -> None:
    settings = load(CONFIGS / "demo.toml")
    with pytest.raises(FrozenInstanceError):
        settings.mode = "shoe"  # type: ignore[misc]


# --- what is wrong ---------------------------------------------------------------------------

WRONG: list[tuple[str, str, str]] = [
    ("ante_min = 5_000", "ante_mini = 5_000", "rules.ante_mini: unknown key (did you mean ante_min?)"),
    ('id = "demo"', 'id = "demo"\nzzz = 1', "table.zzz: unknown key"),
    ("[rules.progressive.prizes]", "[rules.progressive.prises]", "rules.progressive.prizes: missing"),
    ("minimum = 10_000_000", "", "rules.progressive.minimum: missing"),
    ("quads = 50_000\n", "", "rules.progressive.prizes.quads: missing"),
    (
        '[devices.sign]\nprotocol = "alpha"\nlink = "sign.tty"\nsimulated = true\n',
        "",
        "devices.sign: missing: the sign is always required (CS-01)",
    ),
    (
        "ante_min = 5_000",
        "ante_min = 50.5",
        "rules.ante_min: must be a whole number (money in minor units), not 50.5",
    ),
    (
        "stake = 1_000",
        'stake = "1000"',
        "rules.progressive.stake: must be a whole number (money in minor units), not '1000'",
    ),
    (
        "stake = 1_000",
        "stake = true",
        "rules.progressive.stake: must be a whole number (money in minor units), not true",
    ),
    ("stake = 1_000", "stake = 0", "rules.progressive.stake: must be greater than 0, not 0"),
    (
        "full_house = 10_000",
        "full_house = -1",
        "rules.progressive.prizes.full_house: must be greater than 0, not -1",
    ),
    (
        "quads = 50_000",
        "quads = 9_000_000_000_000",
        "rules.progressive.prizes.quads: must be less than or equal to 1000000000000, not 9000000000000",
    ),
    ("royal_odds = 100", "royal_odds = 49", "rules.royal_odds: must be greater than or equal to 50, not 49"),
    ("royal_odds = 100", "royal_odds = 101", "rules.royal_odds: must be less than or equal to 100, not 101"),
    ('mode = "shuffler"', 'mode = "deck"', "table.mode: must be 'shoe' or 'shuffler', not 'deck'"),
    ('version = "61/2004"', 'version = "2004"', "rules.version: must be '61/2004', not '2004'"),
    ("simulated = true", "simulated = 1", "devices.shoe.simulated: must be true or false, not 1"),
    ('link = "shoe.tty"', "link = 3", "devices.shoe.link: must be text in quotes, not 3"),
    (
        'id = "demo"',
        'id = "a b"',
        "table.id: has a character that is not allowed: ' ' in 'a b'",
    ),
    (
        'currency = "$"',
        'currency = "€"',
        "rules.currency: has a character that is not allowed: '€' in '€'",
    ),
    ('id = "demo"', 'id = "-x"', "table.id: must be of the form ^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$, not '-x'"),
    ('currency = "$"', 'currency = "MOP$$"', "rules.currency: must be of the form ^[ -~]{0,4}$, not 'MOP$$'"),
    (
        '"71/100"',
        "0.71",
        'rules.progressive.contribution: must be an exact fraction in quotes, such as "71/100", not 0.71',
    ),
    (
        '"71/100"',
        '"0.71"',
        "rules.progressive.contribution: must be an exact fraction in quotes, such as \"71/100\", not '0.71'",
    ),
    ('"71/100"', '"1/0"', "rules.progressive.contribution: must not be divided by 0, not '1/0'"),
    (
        '"71/100"',
        '"101/100"',
        "rules.progressive.contribution: must be more than 0 and at most 1, not '101/100'",
    ),
    ('"71/100"', '"0"', "rules.progressive.contribution: must be more than 0 and at most 1, not '0'"),
    # contradictions
    ("ante_max = 1_000_000", "ante_max = 4_999", "rules.ante_max: 4999 is less than ante_min, 5000"),
    (
        'shuffler = "SH-1"',
        'shuffler = "SH-9"',
        "table.shuffler: there is no section [devices.shuffler.SH-9]",
    ),
    (
        'shuffler = "SH-1"\n',
        "",
        'table.shuffler: missing: mode "shuffler" needs the id of the one in use',
    ),
    (
        'mode = "shuffler"',
        'mode = "shoe"',
        'table.shuffler: is for mode "shuffler"; use-shuffler takes one into use later',
    ),
    (
        'mode = "shuffler"\nshuffler = "SH-1"',
        'mode = "shoe"',
        'devices.shoe: missing: in mode "shoe" the cards come from it',
    ),
    (
        'protocol = "alpha"',
        'protocol = "fdp"',
        "devices.sign.protocol: must be 'alpha' or 'sas_progressive' for a sign, not 'fdp'",
    ),
    (
        'link = "sign.tty"\nsimulated = true',
        'link = "replay:///sign.rec"',
        "devices.sign.simulated: a recording is played: simulated = true",
    ),
    ('link = "sign.tty"', 'link = "shoe.tty"', "devices.sign.link: the same file as devices.shoe.link"),
    (
        'link = "sign.tty"',
        'link = "serial:///dev/ttyS0?speed=9"',
        "devices.sign.link: not a setting of a serial line: speed=9",
    ),
    ('key = "journal.key"', 'key = "journal.db"', "table.key: the same file as table.journal"),
    (
        'socket = "feltd.sock"',
        f'socket = "{"s" * 120}"',
        "table.socket: longer than the 107 bytes that a socket's path may have",
    ),
]
# One file for two purposes: both are named.
COLLISIONS: list[tuple[str, str, str]] = [
    ("journal.key", "journal.db.lock", "table.key: the same file as the lock of table.journal"),
    ("journal.key", "./journal.db-wal", "table.key: the same file as the write-ahead log of table.journal"),
    ("feltd.sock", "journal.db-shm", "table.socket: the same file as the index of the log of table.journal"),
    ("feltd.sock", "x/../journal.key", "table.socket: the same file as table.key"),
    ("journal.key", "shoe.tty", "devices.shoe.link: the same file as table.key"),
    ("feltd.sock", "sign.tty", "devices.sign.link: the same file as table.socket"),
    ("journal.db", "shuffler.tty", "devices.shuffler.SH-1.link: the same file as table.journal"),
    ("journal.key", "t.toml", "table.key: the same file as this configuration"),
    ("journal.db", "journal.db-wal", "table.journal: the name of the write-ahead log of journal.db"),
]
NO_SHOE = ('[devices.shoe]\nprotocol = "fdp"\nlink = "shoe.tty"\nsimulated = true\n', "")


@pytest.mark.parametrize(("old", "new", "told"), WRONG, ids=[told.partition(": ")[0] for *_, told in WRONG])
def test_each_mistake_is_told(old: str, new: str, told: str, write: Write) -> None:
    more = [NO_SHOE] if told.startswith("devices.shoe: missing") else []
    assert told in problems(write((old, new), *more))


@pytest.mark.parametrize(("old", "new", "told"), COLLISIONS, ids=[new for _, new, _ in COLLISIONS])
def test_two_purposes_never_share_a_file(old: str, new: str, told: str, write: Write) -> None:
    assert problems(write((f'"{old}"', f'"{new}"'))) == [told]


def test_all_mistakes_are_told_at_once(write: Write) -> None:
    path = write(("stake = 1_000", "stake = 1.5"), ("royal_odds = 100", "royal_odds = 1"), ("cap =", "kap ="))
    keys = [problem.partition(": ")[0] for problem in problems(path)]
    assert sorted(keys) == ["rules.kap", "rules.progressive.stake", "rules.royal_odds"]


def test_a_shuffler_may_not_take_another_device_s_id(write: Write) -> None:
    path = write(("[devices.shuffler.SH-1]", "[devices.shuffler.sign]"), ('"SH-1"', '"sign"'))
    assert problems(path) == ["devices.shuffler.sign: this id belongs to the sign"]


def test_a_shuffler_s_id_is_checked(write: Write) -> None:
    path = write(("[devices.shuffler.SH-1]", '[devices.shuffler."S 1"]'))
    assert problems(path)[0].startswith("devices.shuffler.S 1: has a character that is not allowed")


def test_bad_toml_names_the_line(write: Write) -> None:
    assert problems(write(text="[table]\nid = \n")) == ["line 2, column 6: Invalid value"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert problems(tmp_path / "no.toml") == ["cannot be read: No such file or directory"]


def test_a_pipe_is_no_configuration(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert problems(path) == ["cannot be read: not a regular file"]


def test_a_byte_order_mark_at_the_beginning_is_no_mistake(write: Write) -> None:
    path = write(("ante_min = 5_000", "ante_min = 5_000"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load(path).table_id == "demo"


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"[table]\xff")
    assert problems(path) == ["byte 7: not UTF-8"]


# --- through the command line ------------------------------------------------------------------


def test_check_tells_every_error_and_exits_78(write: Write) -> None:
    path = write(("ante_min = 5_000", "ante_mini = 5_000"))
    result = CliRunner().invoke(app, ["check", str(CONFIGS / "demo.toml"), str(path)])
    assert result.exit_code == 78
    assert result.stdout.splitlines() == [
        f"{path}: rules.ante_min: missing",
        f"{path}: rules.ante_mini: unknown key (did you mean ante_min?)",
    ]


def test_check_as_json(write: Write) -> None:
    result = CliRunner().invoke(app, ["check", "--json", str(write(("cap =", "kap =")))])
    assert result.exit_code == 78
    assert len(json.loads(result.stdout)["problems"]) == 1


def test_check_of_good_files_exits_0() -> None:
    files = [str(file) for file in CONFIGS.glob("*.toml")]
    result = CliRunner().invoke(app, ["check", *files])
    assert (result.exit_code, result.stdout) == (0, f"{len(files)} checked: no error\n")


def test_run_does_not_start_with_a_bad_configuration(write: Write, tmp_path: Path) -> None:
    path = write(("cap =", "kap ="))
    result = CliRunner().invoke(app, ["run", "--config", str(path)])
    assert (result.exit_code, result.stderr) == (
        78,
        f"{path}: rules.kap: unknown key (did you mean cap?)\n",
    )
    assert not (tmp_path / "journal.db").exists()


def test_award_uses_the_rules_of_a_configuration() -> None:
    words = ["award", "--config", str(CONFIGS / "demo.toml"), "--pool", "20000000", "--json"]
    result = CliRunner().invoke(app, [*words, "2=royal-flush", "5=straight-flush"])
    told = json.loads(result.stdout)
    assert told["pay_order"] == [5, 2]
    assert [award["from_pool"] for award in told["awards"]] == [2_000_000, 18_000_000]
    assert told["pool_after"] == 10_000_000


@pytest.mark.parametrize("word", ["8=flush", "1=straight", "1", "x=flush"])
def test_award_refuses_what_is_not_awarded(word: str) -> None:
    words = ["award", "--config", str(CONFIGS / "demo.toml"), "--pool", "1", word]
    assert CliRunner().invoke(app, words).exit_code == 2


def test_hand_ranks_and_names_the_best() -> None:
    hands = ["AS KS QS JS TS", "2D 3D 4H 5C 7S", "10S AS KS QS JS"]
    told = json.loads(CliRunner().invoke(app, ["hand", *hands, "--json"]).stdout)
    assert [each["category"] for each in told["hands"]] == ["royal-flush", "no-pair", "royal-flush"]
    assert told["best"] == [0, 2]
    assert [each["dealer_qualifies"] for each in told["hands"]] == [True, False, True]
    assert told["hands"][0]["cards"] == "AS KS QS JS 10S"


@pytest.mark.parametrize("cards", ["AS AS KS QS JS", "AS KS", "XX KS QS JS TS"])
def test_hand_refuses_what_is_no_hand(cards: str) -> None:
    assert CliRunner().invoke(app, ["hand", cards]).exit_code == 2


# --- from settings to objects ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "name", "line", "dtr"),
    [("shoe", "fdp", "115200 8N1", True), ("sign", "alpha", "9600 7E1", False)],
)
def test_a_protocol_has_its_line(role: str, name: str, line: str, dtr: bool) -> None:
    found = protocol(role, name).line
    assert (str(found), found.dtr) == (line, dtr)


def test_the_table_s_own_acts_are_known() -> None:
    settings = load(CONFIGS / "demo.toml")
    for seq, name in enumerate(sorted(TABLE_ACTS), 1):
        refusal = build_table(settings).handle(Act(name), seq, "").refusal
        assert refusal is None or "not known" not in refusal.reason
    assert {"ante", "use-shoe"} <= known_acts(settings)


def test_a_driver_goes_on_where_the_journal_ends() -> None:
    settings = load(CONFIGS / "demo.toml")
    table = build_table(settings)
    table.handle(started(settings), 1, "")
    table.handle(FromDevice("shoe", CoverMoved(False), boot=7, ordinal=41), 2, "")
    assert _acknowledged(settings, build_ports(settings, table)["shoe"]) == (7, 41)


def _acknowledged(settings: Settings, port: Port) -> tuple[int | None, int]:
    log = port.driver._log  # type: ignore[attr-defined]  # only bytes could tell it otherwise
    return log.boot, log.received


# --- the royal-flush odds: CS-13 -----------------------------------------------------------------

APPROVAL = """applied = 2024-09-02
permitted = 2024-09-04
effective = 2024-09-05"""


def dated(applied: str, permitted: str, effective: str) -> tuple[str, str]:
    return APPROVAL, f"applied = {applied}\npermitted = {permitted}\neffective = {effective}"


@pytest.mark.parametrize(
    ("applied", "first"),
    [
        ("2026-09-29", "2026-10-06"),  # the national days and a weekend between
        ("2026-09-30", "2026-10-07"),
        ("2026-10-02", "2026-10-07"),  # filed on a holiday
        ("2026-02-13", "2026-02-23"),  # an afternoon off is a working day, the new year is not
        ("2026-04-02", "2026-04-09"),  # compensatory days; the calendar of CS-13 has no Good Friday
        ("2024-09-02", "2024-09-05"),
    ],
)
def test_cs_13_the_third_working_day_after_the_application(write: Write, applied: str, first: str) -> None:
    day = date.fromisoformat(first)
    assert royal_option.earliest(date.fromisoformat(applied)) == day
    load(write(dated(applied, applied, first)), today=day)
    early = (day - timedelta(days=1)).isoformat()
    with pytest.raises(ConfigError) as caught:
        load(write(dated(applied, applied, early)), today=day)
    text = f"rules.royal_approval.effective: {early} is too early: applied for on {applied}, earliest {first}"
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("dates", "today", "wrong"),
    [
        (("2026-09-29", "2026-10-07", "2026-10-06"), "2026-10-08", "permitted: the permission of 2026-10-07"),
        (("2026-09-29", "2026-09-28", "2026-10-06"), "2026-10-08", "permitted: 2026-09-28 is before"),
        (("2026-09-29", "2026-10-02", "2026-10-07"), "2026-10-06", "effective: 2026-10-07 is still to come"),
    ],
)
def test_cs_13_dates_that_contradict(
    write: Write, dates: tuple[str, str, str], today: str, wrong: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(dated(*dates)), today=date.fromisoformat(today))
    assert f"rules.royal_approval.{wrong}" in str(caught.value)
    assert len(caught.value.problems) == 1


def test_cs_13_every_value_of_the_odds_needs_the_permission(write: Write) -> None:
    section = DEMO[DEMO.index("[rules.royal_approval]") : DEMO.index("[rules.progressive]\n")]
    assert problems(write((section, ""))) == ["rules.royal_approval: missing"]
    assert problems(write(("royal_odds = 100\n", ""))) == ["rules.royal_odds: missing"]
    assert problems(write(('reference = "specimen"', 'reference = ""'))) != []
    assert "a date without quotes" in problems(write(("= 2024-09-02", '= "2024-09-02"')))[0]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (("stake = 1_000", "stake = 1_000\nlimit = 9_999_999"), "limit: 9999999 is less than minimum"),
        (("stake = 1_000", 'stake = 1_000\nreserve = "1/2"'), "reserve: together with contribution"),
        (("stake = 1_000", "stake = 1_000\nlargest_contribution = 709"), "largest_contribution: 709 is less"),
        (("stake = 1_000", 'stake = 1_000\noverflow = "house"'), "overflow: must be"),
    ],
)
def test_cs_10_a_progressive_against_itself(write: Write, change: tuple[str, str], wrong: str) -> None:
    assert problems(write(change))[0].startswith(f"rules.progressive.{wrong}")


def test_cs_09_the_pay_table_can_be_read_and_not_changed(write: Write) -> None:
    path = write(("[rules.progressive]\n", "[rules.pay_table]\nquads = 25\n\n[rules.progressive]\n"))
    assert problems(path) == ["rules.pay_table.quads: must be 20, not 25"]
