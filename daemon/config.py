"""A table's configuration: TOML into frozen settings; what is wrong is named by file and dotted key.

Money is a whole number of minor units. A rate is an exact fraction in quotes, ``"71/100"``.
Paths are relative to the folder of the file.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from difflib import get_close_matches
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails

from daemon import royal_option
from daemon.games.caribbean.programme import fits, prize_pages
from daemon.games.caribbean.rules import CaribbeanRules, RoyalApproval
from daemon.games.five_card.programme import ante_text, buy_in_page
from daemon.games.five_card.rules import LEVELS, MOST_HANDS, FiveCardRules
from daemon.games.jackpot import JackpotRules
from daemon.games.linked import Terms
from daemon.games.money import MAX_AMOUNT, money
from daemon.house import House
from daemon.links.url import make_link
from daemon.registry import ProtocolError, protocol
from daemon.rig import BY_HAND
from daemon.whole import content
from drivers.protocol import DeviceProtocol, Option

MAX_FILE: Final = 2**20  # bytes
CREDENTIAL: Final = "credential"
OUR_CREDENTIALS: Final = "/run/credentials/feltd.service"
LINK_CREDENTIALS: Final = "/run/credentials/feltd-link.service"
MAX_SOCKET_PATH: Final = 107  # bytes, sockaddr_un without its final zero
_RATE: Final = re.compile(r"[0-9]{1,9}(/[0-9]{1,9})?")
_HAS_PASSWORD: Final = re.compile(r"\bpassword\s*=|://[^/@]*:[^/@]*@")
_CLOCK: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


class ConfigError(Exception):
    """A configuration that cannot be used. ``problems``: "FILE: dotted.key: what is wrong"."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """One device. ``serial`` is the only serial number that is accepted, "" for any; ``firmware``
    and ``digest`` (hexadecimal) are the only ones that are known, "" for any. ``options`` are those of
    the driver that the file sets."""

    id: str
    role: str  # shoe, shuffler, sign
    protocol: str
    link: str
    serial: str = ""
    simulated: bool = False
    firmware: str = ""
    digest: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def speaks(self) -> DeviceProtocol:
        """The protocol of its name. Raises ProtocolError."""
        return protocol(self.role, self.protocol)


@dataclass(frozen=True, slots=True)
class StaffSettings:
    """Who may do what (docs/roles.md). ``file`` has people and their PINs, None for no sessions;
    ``users`` and ``groups`` of the machine have roles. An unused session locks after ``idle_minutes``."""

    file: Path | None = None
    idle_minutes: int = 15
    users: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IntegritySettings:
    """What becomes of installed files or rules that are not the approved ones (daemon.integrity).

    ``blocks``: a difference is a fault. ``rules`` is the digest of the approved rule set, "" for any."""

    blocks: bool = False
    rules: str = ""


@dataclass(frozen=True, slots=True)
class LinkedSettings:
    """The linked pool of a table: how the table takes part, and where its link process finds the authority.

    ``authority`` is a libpq connection string without a password, ``password`` the file that has it."""

    terms: Terms
    authority: str
    password: Path | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """One table. ``shuffler`` is the id of the one in use at first, "" in shoe mode."""

    table_id: str
    game: str
    mode: str  # shoe, shuffler, hand
    shuffler: str
    journal: Path
    key: Path
    socket: Path
    rules: CaribbeanRules | FiveCardRules
    devices: tuple[DeviceSettings, ...]
    staff: StaffSettings = StaffSettings()
    integrity: IntegritySettings | None = None
    house: House = field(default_factory=House)
    linked: LinkedSettings | None = None

    @property
    def caribbean(self) -> CaribbeanRules:
        """The rules of a Caribbean Stud table. Raises ConfigError at another game."""
        if not isinstance(self.rules, CaribbeanRules):
            raise ConfigError([f"table {self.table_id}: table.game: {self.game}, not caribbean"])
        return self.rules

    @property
    def simulated(self) -> tuple[str, ...]:
        """The ids of the devices that are simulated."""
        return tuple(device.id for device in self.devices if device.simulated)


# --- the file --------------------------------------------------------------------------------


def _fraction(value: object) -> Fraction:
    if not isinstance(value, str) or not _RATE.fullmatch(value):
        raise ValueError('must be an exact fraction in quotes, such as "71/100"')
    numerator, _, denominator = value.partition("/")
    if not int(denominator or 1):
        raise ValueError("must not be divided by 0")
    return Fraction(int(numerator), int(denominator or 1))


def _rate(value: object) -> Fraction:
    rate = _fraction(value)
    if not 0 < rate <= 1:
        raise ValueError("must be more than 0 and at most 1")
    return rate


def _rate_or_none(value: object) -> Fraction:
    rate = _fraction(value)
    if rate >= 1:
        raise ValueError("must be less than 1")
    return rate


def _local_time(value: object) -> time:
    if not isinstance(value, str) or not _CLOCK.fullmatch(value):
        raise ValueError('must be a local time in quotes, such as "06:00"')
    return time.fromisoformat(value)


def _time_zone(value: object) -> str:
    try:
        return ZoneInfo(str(value) if isinstance(value, str) else "").key
    except (KeyError, ValueError, OSError):
        near = get_close_matches(str(value)[:64], available_timezones(), 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise ValueError(f'must be an IANA time zone, such as "Asia/Macau"{hint}') from None


Money = Annotated[int, Field(gt=0, le=MAX_AMOUNT)]
Rate = Annotated[Fraction, PlainValidator(_rate)]
RateOrNone = Annotated[Fraction, PlainValidator(_rate_or_none)]
LocalTime = Annotated[time, PlainValidator(_local_time)]
TimeZone = Annotated[str, PlainValidator(_time_zone)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")]
Text = Annotated[str, Field(min_length=1)]
Payer = Literal["pool", "house"]
Role = Literal["dealer", "supervisor", "technician", "auditor", "console", "link"]


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Table(_Section):
    id: Name
    game: Literal["caribbean", "five-card"]
    mode: Literal["shoe", "shuffler", "hand"]
    shuffler: Name | None = None
    journal: Text
    key: Text
    socket: Text


class _Integrity(_Section):
    difference: Literal["show", "block"] = "show"
    rules: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    def settings(self) -> IntegritySettings:
        return IntegritySettings(self.difference == "block", self.rules or "")


class _CaribbeanTable(_Table):
    mode: Literal["shoe", "shuffler"]


class _FiveCardTable(_Table):
    mode: Literal["shoe", "hand"]  # the dealer shuffles (FC-02)
    shuffler: None = None


class _Prizes(_Section):
    royal_flush: Money
    straight_flush: Money
    quads: Money
    full_house: Money
    flush: Money


class _FundedBy(_Section):
    quads: Payer = "pool"
    full_house: Payer = "pool"
    flush: Payer = "pool"

    def house(self) -> tuple[str, ...]:
        """The levels that the house pays itself, by their labels."""
        return tuple(level.replace("_", "-") for level, payer in self if payer == "house")


class _Progressive(_Section):
    stake: Money
    contribution: Rate
    minimum: Money
    pay_unit: Money = 1
    straight_flush_base: Literal["round_start", "sequential"] = "round_start"
    royal_sharing: Literal["split_max", "each_max"] = "split_max"
    award_base: Literal["staged", "turn"] = "staged"
    folded_progressive: Literal["lost", "pays"] = "lost"
    reserve: RateOrNone = Fraction(0)
    limit: Money | None = None
    overflow: Literal["next_pool", "kept"] = "next_pool"
    largest_contribution: Money | None = None
    prizes: _Prizes
    funded_by: _FundedBy = _FundedBy()

    def rules(self) -> JackpotRules:
        prizes = self.prizes
        return JackpotRules(
            stake=self.stake,
            contribution=self.contribution,
            minimum=self.minimum,
            royal_flush=prizes.royal_flush,
            straight_flush=prizes.straight_flush,
            quads=prizes.quads,
            full_house=prizes.full_house,
            flush=prizes.flush,
            pay_unit=self.pay_unit,
            straight_flush_base=self.straight_flush_base,
            royal_sharing=self.royal_sharing,
            award_base=self.award_base,
            funded_by_house=self.funded_by.house(),
            folded=self.folded_progressive,
            reserve=self.reserve,
            limit=self.limit,
            overflow=self.overflow,
            largest_contribution=self.largest_contribution,
        )


class _Approval(_Section):
    reference: Text
    applied: date
    permitted: date
    effective: date

    def approval(self) -> RoyalApproval:
        return RoyalApproval(
            self.reference, self.applied.isoformat(), self.permitted.isoformat(), self.effective.isoformat()
        )


class _PayTable(_Section):
    """What art. 9(5) fixes; written down it can be read, but not changed."""

    no_pair: Literal[1] = 1
    pair: Literal[1] = 1
    two_pair: Literal[2] = 2
    trips: Literal[3] = 3
    straight: Literal[4] = 4
    flush: Literal[5] = 5
    full_house: Literal[7] = 7
    quads: Literal[20] = 20
    straight_flush: Literal[50] = 50


class _Rules(_Section):
    version: Literal["61/2004"]
    edition: Annotated[str, Field(pattern=r"^[ -~]{1,40}$")]
    # The sign shows it: what a 7-bit character set has.
    currency: Annotated[str, Field(pattern=r"^[ -~]{0,4}$")] = "$"
    sign_width: Annotated[int, Field(ge=8, le=64)] | None = None
    ante_min: Money
    ante_max: Money
    royal_odds: Annotated[int, Field(ge=50, le=100)]
    cap: Money | None = None
    cap_scope: Literal["box", "table"] = "box"
    royal_approval: _Approval
    pay_table: _PayTable = _PayTable()
    progressive: _Progressive

    def rules(self) -> CaribbeanRules:
        return CaribbeanRules(
            ante_min=self.ante_min,
            ante_max=self.ante_max,
            royal_odds=self.royal_odds,
            jackpot=self.progressive.rules(),
            cap=self.cap,
            cap_scope=self.cap_scope,
            currency=self.currency,
            sign_width=self.sign_width or 0,
            edition=self.edition,
            approval=self.royal_approval.approval(),
            pay_table={key.replace("_", "-"): odds for key, odds in self.pay_table},
        )


class _FiveCardRules(_Section):
    version: Literal["104/85/M"]
    edition: Annotated[str, Field(pattern=r"^[ -~]{1,40}$")]
    currency: Annotated[str, Field(pattern=r"^[ -~]{0,4}$")] = "$"
    sign_width: Annotated[int, Field(ge=8, le=64)] | None = None
    ante: Literal[2_000, 10_000]
    # What art. 5 and 8 fix with the ante; written down it can be read, but not changed.
    buy_in_min: Money | None = None
    top_up_below: Money | None = None
    first_rake: Money | None = None
    seats: Annotated[int, Field(ge=2, le=8)] = MOST_HANDS
    smallest_chip: Money = 100
    pay_unit: Money = 1
    rake_percent: Literal[3, 4] = 4
    topup_measured: Literal["during_round", "round_end"] = "during_round"
    unfollowed_unraked: Literal["any_round", "fourth_round"] = "any_round"
    min_raise: Literal["last_increment", "last_total"] = "last_increment"
    check_raise: bool = False

    def rules(self) -> FiveCardRules:
        return FiveCardRules(
            ante=self.ante,
            seats=self.seats,
            smallest_chip=self.smallest_chip,
            rake_percent=self.rake_percent,
            pay_unit=self.pay_unit,
            topup_measured=self.topup_measured,
            unfollowed_unraked=self.unfollowed_unraked,
            min_raise=self.min_raise,
            check_raise=self.check_raise,
            currency=self.currency,
            sign_width=self.sign_width or 0,
            edition=self.edition,
        )


class _Device(_Section):
    protocol: Text
    link: Text
    serial: Text | None = None
    simulated: bool = False
    firmware: Text | None = None
    digest: Annotated[str, Field(pattern=r"^([0-9a-fA-F]{2}){1,32}$")] | None = None
    options: dict[str, Option] = Field(default_factory=dict)


class _Devices(_Section):
    shoe: _Device | None = None
    shuffler: dict[Name, _Device] = Field(default_factory=dict)
    sign: _Device | None = None

    def named(self) -> Iterator[tuple[str, str, str, _Device]]:
        """Dotted key, id, role and section of every device."""
        if self.shoe is not None:
            yield "devices.shoe", "shoe", "shoe", self.shoe
        for name, device in self.shuffler.items():
            yield f"devices.shuffler.{name}", name, "shuffler", device
        if self.sign is not None:
            yield "devices.sign", "sign", "sign", self.sign


class _CaribbeanDevices(_Devices):
    sign: _Device


class _Staff(_Section):
    file: Text | None = None
    idle_minutes: Annotated[int, Field(ge=1, le=720)] = 15
    users: dict[Text, Role] = Field(default_factory=dict)
    groups: dict[Text, Role] = Field(default_factory=dict)

    def settings(self, folder: Path) -> StaffSettings:
        file = folder / self.file if self.file is not None else None
        return StaffSettings(file, self.idle_minutes, self.users, self.groups)


class _House(_Section):
    time_zone: TimeZone = House().time_zone
    gaming_day: LocalTime = House().gaming_day
    shifts: dict[Name, LocalTime] = Field(default_factory=dict)

    def settings(self) -> House:
        return House(self.time_zone, self.gaming_day, self.shifts)


class _Linked(_Section):
    pool: Name
    authority: Text
    password: Text | None = None
    max_age: Annotated[int, Field(ge=2, le=86_400)] = 60
    max_amount: Money
    lost_text: Annotated[str, Field(pattern=r"^[ -~]{1,40}$")] = "JACKPOT OFFLINE"

    def settings(self, folder: Path) -> LinkedSettings:
        terms = Terms(self.pool, self.max_age, self.max_amount, self.lost_text)
        file = _secret(self.password, folder, LINK_CREDENTIALS) if self.password is not None else None
        return LinkedSettings(terms, self.authority, file)


class _File(_Section):
    table: _CaribbeanTable
    rules: _Rules
    devices: _CaribbeanDevices
    staff: _Staff = _Staff()
    integrity: _Integrity | None = None
    house: _House = _House()
    linked: _Linked | None = None


class _FiveCardFile(_Section):
    table: _FiveCardTable
    rules: _FiveCardRules
    devices: _Devices = Field(default_factory=_Devices)
    staff: _Staff = _Staff()
    integrity: _Integrity | None = None
    house: _House = _House()


_AnyFile = _File | _FiveCardFile


# --- reading ---------------------------------------------------------------------------------


def load(path: Path, today: date | None = None) -> Settings:
    """The settings of a file. Raises ConfigError with everything that is wrong in it.

    ``today`` is the date in Macau (CS-13), by default the real one.
    """
    file = _shaped(path, parsed(path))
    problems = list(_contradictions(file, path, today or royal_option.today()))
    if problems:
        raise ConfigError([f"{path}: {problem}" for problem in problems])
    table = file.table
    return Settings(
        table_id=table.id,
        game=table.game,
        mode=table.mode,
        shuffler=table.shuffler or "",
        journal=path.parent / table.journal,
        key=_key(table.key, path.parent),
        socket=path.parent / table.socket,
        rules=file.rules.rules(),
        devices=tuple(_devices(file, path.parent)),
        staff=file.staff.settings(path.parent),
        integrity=file.integrity.settings() if file.integrity is not None else None,
        house=file.house.settings(),
        linked=file.linked.settings(path.parent) if isinstance(file, _File) and file.linked else None,
    )


def parsed(path: Path) -> dict[str, object]:
    """What is in a file of TOML. Raises ConfigError: no regular file, too long, not TOML, nested too deep."""
    try:
        return tomllib.loads(_content(path).decode("utf-8-sig"))  # some editors begin a file with a BOM
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: byte {error.start}: not UTF-8"]) from None
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).removesuffix(")").rpartition(" (at ")
        raise ConfigError([f"{path}: {place or 'end'}: {what}"]) from None
    except (ValueError, RecursionError) as error:  # what tomllib, or the name of a file, cannot be made of
        raise ConfigError([f"{path}: cannot be read: {error}"]) from None


def _content(path: Path) -> bytes:
    """The bytes of a regular file. A daemon that runs reads it too."""
    data, mode = content(path, MAX_FILE)
    if not stat.S_ISREG(mode):
        raise ConfigError([f"{path}: cannot be read: not a regular file"])
    if len(data) > MAX_FILE:
        raise ConfigError([f"{path}: cannot be read: longer than {MAX_FILE} bytes"])
    return data


def _shaped(path: Path, content: dict[str, object]) -> _AnyFile:
    table = content.get("table")
    game = table.get("game") if isinstance(table, dict) else None
    shape: type[_AnyFile] = _FiveCardFile if game == "five-card" else _File
    try:
        return shape.model_validate(content)
    except ValidationError as error:
        problems = [f"{path}: {_dotted(found['loc'])}: {_complaint(found)}" for found in error.errors()]
        raise ConfigError(problems) from None


def _devices(file: _AnyFile, folder: Path) -> Iterator[DeviceSettings]:
    for _, name, role, device in file.devices.named():
        yield DeviceSettings(
            name,
            role,
            device.protocol,
            _link(device, folder),
            device.serial or "",
            device.simulated,
            device.firmware or "",
            (device.digest or "").lower(),
            device.options,
        )


def _key(key: str, folder: Path) -> Path:
    """The file of the sealing key; ``credential:NAME`` is one that the service manager gives the unit."""
    return _secret(key, folder, OUR_CREDENTIALS)


def _secret(key: str, folder: Path, credentials: str) -> Path:
    scheme, colon, name = key.partition(":")
    if scheme != CREDENTIAL or not colon:
        return folder / key
    return Path(os.environ.get("CREDENTIALS_DIRECTORY", credentials)) / name


def _link(device: _Device, folder: Path) -> str:
    """A bare path is relative to the file's folder, a URL is as it is."""
    return device.link if ":" in device.link.partition("/")[0] else str(folder / device.link)


# --- what is wrong with one key --------------------------------------------------------------

_SECTIONS: Final = (
    _Table,
    _Rules,
    _FiveCardRules,
    _Approval,
    _PayTable,
    _Progressive,
    _Prizes,
    _FundedBy,
    _Device,
    _Devices,
    _Staff,
    _Integrity,
    _House,
    _Linked,
    _File,
)
_KEYS: Final = sorted({key for section in _SECTIONS for key in section.model_fields})
_WHY_NEEDED: Final = {"devices.sign": ": the sign is always required (CS-01)"}
_KIND: Final = {
    "int_type": "a whole number (money in minor units)",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "model_type": "a table of keys",
    "dict_type": "a table of keys",
    "date_type": "a date without quotes, such as 2026-10-06",
}


def _dotted(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place if part != "[key]")


def _complaint(found: ErrorDetails) -> str:
    kind, key = found["type"], _dotted(found["loc"])
    if kind == "missing":
        return "missing" + _WHY_NEEDED.get(key, "")
    if kind == "extra_forbidden":
        return "unknown key" + _suggestion(key.rpartition(".")[2])
    if kind == "string_pattern_mismatch":
        return _not_of_the_form(found["ctx"]["pattern"], found["input"])
    elif kind == "value_error":
        what = str(found["ctx"]["error"])
    elif kind in _KIND:
        what = f"must be {_KIND[kind]}"
    else:
        what = found["msg"].replace("Input should be", "must be").replace("String should", "must")
    return f"{what}, not {_shown(found['input'])}"


def _not_of_the_form(pattern: str, value: str) -> str:
    """Which character it is; where each is allowed, how many there may be and how they begin."""
    allowed = re.compile("|".join(re.findall(r"\[[^]]+\]", pattern)))
    wrong = next((each for each in value if not allowed.fullmatch(each)), None)
    if wrong is not None:
        return f"has a character that is not allowed: {wrong!r} in {_shown(value)}"
    return f"must be of the form {pattern}, not {_shown(value)}"


def _suggestion(key: str) -> str:
    near = get_close_matches(key, _KEYS, 1)
    return f" (did you mean {near[0]}?)" if near else ""


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# --- what contradicts something else -----------------------------------------------------------

_BESIDE_JOURNAL: Final = {
    ".lock": "the lock",
    "-wal": "the write-ahead log",
    "-shm": "the index of the log",
    "-journal": "the rollback file",
    ".head": "the note of the last record",
    ".reserve": "the reserve for a full disk",
    ".archive": "the archives",
}


def _contradictions(file: _AnyFile, path: Path, today: date) -> Iterator[str]:
    places = {_place(path): "this configuration"}  # every file of the table, and what it is
    if isinstance(file, _FiveCardFile):
        yield from _five_card_problems(file.rules)
        if file.devices.shuffler:
            yield "devices.shuffler: the dealer shuffles at this game (FC-02)"
    else:
        yield from _rule_problems(file.rules, today)
        yield from _linked_problems(file)
    yield from _source_problems(file.table, file.devices)
    yield from _file_problems(file.table, path.parent, places)
    yield from _staff_problems(file.staff, path.parent, places)
    yield from _house_problems(file.house)
    yield from _device_problems(file.devices, path.parent, places)


def _rule_problems(rules: _Rules, today: date) -> Iterator[str]:
    if rules.ante_min > rules.ante_max:
        yield f"rules.ante_max: {rules.ante_max} is less than ante_min, {rules.ante_min}"
    approval = rules.royal_approval
    for key, why in royal_option.objections(approval.applied, approval.permitted, approval.effective, today):
        yield f"rules.royal_approval.{key}: {why}"
    yield from _progressive_problems(rules.progressive)
    yield from _sign_problems(rules.rules())


def _progressive_problems(jackpot: _Progressive) -> Iterator[str]:
    key = "rules.progressive"
    if jackpot.contribution + jackpot.reserve > 1:
        yield f"{key}.reserve: together with contribution more than the whole stake"
    if jackpot.limit is not None and jackpot.limit < jackpot.minimum:
        yield f"{key}.limit: {jackpot.limit} is less than minimum, {jackpot.minimum}"
    most = jackpot.stake * (jackpot.contribution + jackpot.reserve)
    if jackpot.largest_contribution is not None and jackpot.largest_contribution < most:
        threshold = f"{key}.largest_contribution: {jackpot.largest_contribution}"
        yield f"{threshold} is less than a stake brings, {ceil(most)}"


def _sign_problems(rules: CaribbeanRules) -> Iterator[str]:
    """An amount that the sign cannot show whole is an error here, never a shorter number there."""
    for key in ("minimum", "limit"):
        amount = getattr(rules.jackpot, key)
        if amount is not None and not fits(text := money(amount, rules.currency), rules):
            yield f"rules.sign_width: {rules.sign_width} characters are too few for the {key}, {text!r}"
    for page in prize_pages(rules):
        if not fits(page, rules):
            yield f"rules.sign_width: {rules.sign_width} characters are too few for {page!r}"


def _linked_problems(file: _File) -> Iterator[str]:
    linked, rules = file.linked, file.rules.rules()
    if linked is None:
        return
    if not fits(linked.lost_text, rules):
        yield f"linked.lost_text: {rules.sign_width} characters are too few for {linked.lost_text!r}"
    if _HAS_PASSWORD.search(linked.authority):
        yield "linked.authority: a password does not belong here: name its file as linked.password"


def _five_card_problems(rules: _FiveCardRules) -> Iterator[str]:
    level, made = LEVELS[rules.ante], rules.rules()
    for key, fixed in level._asdict().items():
        given = getattr(rules, key)
        if given is not None and given != fixed:
            yield f"rules.{key}: with an ante of {rules.ante} it is {fixed} (FC-06, FC-08), not {given}"
    if rules.ante % rules.smallest_chip:
        yield f"rules.smallest_chip: the ante, {rules.ante}, is no whole number of {rules.smallest_chip}"
    for text in (ante_text(made), *buy_in_page(made)):
        if rules.sign_width and len(text) > rules.sign_width:
            yield f"rules.sign_width: {rules.sign_width} characters are too few for {text!r}"


def _source_problems(table: _Table, devices: _Devices) -> Iterator[str]:
    if table.mode == "shoe":
        if devices.shoe is None:
            yield 'devices.shoe: missing: in mode "shoe" the cards come from it'
        if table.shuffler is not None:
            yield 'table.shuffler: is for mode "shuffler"; use-shuffler takes one into use later'
    elif table.mode == BY_HAND:
        return
    elif table.shuffler is None:
        yield 'table.shuffler: missing: mode "shuffler" needs the id of the one in use'
    elif table.shuffler not in devices.shuffler:
        yield f"table.shuffler: there is no section [devices.shuffler.{table.shuffler}]"
    for name in {"shoe", "sign"} & set(devices.shuffler):
        yield f"devices.shuffler.{name}: this id belongs to the {name}"


def _place(path: Path) -> Path:
    """The same for every way to write a path. Links are not followed: a device's name lives longer."""
    return Path(os.path.abspath(path))


def _file_problems(table: _Table, folder: Path, places: dict[Path, str]) -> Iterator[str]:
    for key, name, what in _files(table):
        place = _place(folder / name)
        if place in places:
            yield f"table.{key}: the same file as {places[place]}"
        places.setdefault(place, what)
    for ending, what in _BESIDE_JOURNAL.items():
        if table.journal.endswith(ending):
            yield f"table.journal: the name of {what} of {table.journal.removesuffix(ending)}"
    if len(bytes(folder / table.socket)) > MAX_SOCKET_PATH:
        yield f"table.socket: longer than the {MAX_SOCKET_PATH} bytes that a socket's path may have"


def _staff_problems(staff: _Staff, folder: Path, places: dict[Path, str]) -> Iterator[str]:
    if staff.file is not None:
        place = _place(folder / staff.file)
        if place in places:
            yield f"staff.file: the same file as {places[place]}"
        places.setdefault(place, "staff.file")
    elif "console" in (*staff.users.values(), *staff.groups.values()):
        yield "staff.file: missing: nobody can begin a session at a console without it"


def _house_problems(house: _House) -> Iterator[str]:
    """Every moment of a gaming day is of one shift, if there are any."""
    starts: dict[time, str] = {}
    for name, start in house.shifts.items():
        if start in starts:
            yield f"house.shifts.{name}: begins with {starts[start]}, at {start:%H:%M}"
        starts.setdefault(start, name)
    if starts and house.gaming_day not in starts:
        yield f"house.shifts: none begins with the gaming day, at {house.gaming_day:%H:%M}"


def _files(table: _Table) -> Iterator[tuple[str, str, str]]:
    """Key, path and meaning of every file that a table keeps."""
    yield "journal", table.journal, "table.journal"
    for ending, what in _BESIDE_JOURNAL.items():
        yield "journal", f"{table.journal}{ending}", f"{what} of table.journal"
    yield "key", table.key, "table.key"
    yield "socket", table.socket, "table.socket"


def _device_problems(devices: _Devices, folder: Path, places: dict[Path, str]) -> Iterator[str]:
    for key, _, role, device in devices.named():
        try:
            speaks = protocol(role, device.protocol)
        except ProtocolError as error:
            yield f"{key}.protocol: {error}"
            continue
        yield from _option_problems(key, device, speaks)
        try:
            link = make_link(_link(device, folder), speaks.line)
        except ValueError as error:
            yield f"{key}.link: {error}"
            continue
        if device.link.startswith("replay:") and not device.simulated:
            yield f"{key}.simulated: a recording is played: simulated = true"
        port = Path(link.place)
        if port in places:
            yield f"{key}.link: the same file as {places[port]}"
        places.setdefault(port, f"{key}.link")


def _option_problems(key: str, device: _Device, speaks: DeviceProtocol) -> Iterator[str]:
    for name, value in device.options.items():
        if name not in speaks.options:
            known = ", ".join(speaks.options) or "none"
            yield f"{key}.options.{name}: unknown key ({device.protocol} has: {known})"
        elif type(value) is not type(speaks.options[name]):
            wanted = type(speaks.options[name]).__name__
            yield f"{key}.options.{name}: must be of type {wanted}, not {_shown(value)}"
