"""``feltd``: the command line. Exit codes: 0 done, 1 failed or refused, 2 usage, 78 configuration."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, cast

import typer

from daemon import staff_cli
from daemon.linked import cli as linked_cli
from daemon.linked import floor_cli

# What a command needs is imported inside it: `feltd status` must not wait for a simulator's imports.
if TYPE_CHECKING:
    from datetime import date

    from daemon.anchor import Anchor
    from daemon.client import Client
    from daemon.config import Settings
    from daemon.games.caribbean.rules import CaribbeanRules
    from daemon.games.jackpot import Claim
    from daemon.house import House
    from daemon.report import Report
    from drivers.protocol import DeviceProtocol

FAILED: Final = 1
BAD_CONFIG: Final = 78  # EX_CONFIG
DEFAULT_SOCKET: Final = Path("/run/feltd/feltd.sock")
RULES: Final = ("61/2004", "104/85/M")
SHELLS: Final = ("bash", "zsh", "fish")
RESERVED: Final = ("by", "role", "second", "key")

app: Final = typer.Typer(
    name="feltd",
    help="The controller of a poker table.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
journal_app: Final = typer.Typer(help="Verify, export, back up and restore a journal.", no_args_is_help=True)
app.add_typer(journal_app, name="journal")
app.add_typer(staff_cli.app, name="staff")
app.add_typer(linked_cli.app, name="link")
floor_cli.add(linked_cli.app)

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Socket = Annotated[Path, typer.Option("--socket", envvar="FELTD_SOCKET", help="The daemon's socket.")]
Watch = Annotated[bool, typer.Option("--watch", help="Again after every change; with --json a line each.")]
Config = Annotated[Path, typer.Option("--config", help="The table's configuration.")]


def main() -> None:
    """The console script."""
    app(prog_name="feltd")


# --- answers and failures --------------------------------------------------------------------


def _tell(value: Mapping[str, Any], as_json: bool, show: Callable[[dict[str, Any]], None]) -> None:
    if as_json:
        print(json.dumps(value, ensure_ascii=False))
    else:
        show(dict(value))


def _fail(sentence: str, as_json: bool = False) -> NoReturn:
    print(f"feltd: {sentence}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": sentence}, ensure_ascii=False))
    raise typer.Exit(FAILED)


def _settings(path: Path, as_json: bool = False) -> Settings:
    from daemon.config import ConfigError, load

    try:
        return load(path)
    except ConfigError as error:
        _bad_config(error.problems, as_json)


def _caribbean(path: Path, as_json: bool) -> CaribbeanRules:
    from daemon.config import ConfigError

    try:
        return _settings(path, as_json).caribbean
    except ConfigError as error:
        _bad_config(error.problems, as_json)


def _bad_config(problems: Sequence[str], as_json: bool) -> NoReturn:
    print("\n".join(problems), file=sys.stderr)
    if as_json:
        print(json.dumps({"error": problems[0], "problems": list(problems)}, ensure_ascii=False))
    raise typer.Exit(BAD_CONFIG)


@contextmanager
def _asking(socket: Path, as_json: bool) -> Iterator[Client]:
    from daemon.client import ApiError, Client, NotRunning

    try:
        with Client(socket) as client:
            yield client
    except (NotRunning, ApiError) as error:
        _fail(str(error), as_json)


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """``key=value`` words. Wrong usage for anything else, and for a key that is given twice."""
    pairs: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"{word!r} is not of the form key=value")
        if key in pairs:
            raise typer.BadParameter(f"{key}= is given twice")
        pairs[key] = value
    return pairs


# --- the service -----------------------------------------------------------------------------


@app.command()
def run(config: Config) -> None:
    """Run the table in the foreground until SIGTERM or SIGINT."""
    settings = _settings(config)
    from daemon.app import run as serve

    raise typer.Exit(serve(settings))


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…")],
    as_json: Json = False,
) -> None:
    """Check configurations: every error as "FILE: dotted.key: what is wrong"."""
    from daemon.bench import file as bench_file
    from daemon.config import ConfigError, load

    problems: list[str] = []
    for file in files:
        try:
            (bench_file.load if bench_file.is_bench(file) else load)(file)
        except ConfigError as error:
            problems += error.problems
    if as_json:
        print(json.dumps({"ok": not problems, "problems": problems}, ensure_ascii=False))
    else:
        print("\n".join(problems) if problems else f"{len(files)} checked: no error")
    raise typer.Exit(BAD_CONFIG if problems else 0)


# --- what may be seen ------------------------------------------------------------------------


@app.command()
def status(socket: Socket = DEFAULT_SOCKET, as_json: Json = False, watch: Watch = False) -> None:
    """The table now: state, round, pool, faults, devices."""
    _see("status", lambda client: client.status(), socket, as_json, watch)


@app.command()
def rounds(
    last: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    socket: Socket = DEFAULT_SOCKET,
    as_json: Json = False,
    watch: Watch = False,
) -> None:
    """The last rounds, newest first."""
    _see("rounds", lambda client: {"rounds": client.rounds(last)}, socket, as_json, watch)


@app.command("round")
def round_(
    round_id: Annotated[int, typer.Argument(metavar="ID", min=1)],
    socket: Socket = DEFAULT_SOCKET,
    as_json: Json = False,
) -> None:
    """One round: the running one, or a closed one."""
    _see("round_", lambda client: client.round(round_id), socket, as_json)


@app.command()
def jackpot(socket: Socket = DEFAULT_SOCKET, as_json: Json = False, watch: Watch = False) -> None:
    """The pool, the sign, and what is not paid yet."""
    _see("jackpot", lambda client: client.jackpot(), socket, as_json, watch)


@app.command()
def incidents(socket: Socket = DEFAULT_SOCKET, as_json: Json = False, watch: Watch = False) -> None:
    """Irregularities of the last rounds, and latched faults."""
    _see("incidents", lambda client: client.incidents(), socket, as_json, watch)


@app.command()
def acts(socket: Socket = DEFAULT_SOCKET, as_json: Json = False, watch: Watch = False) -> None:
    """Every act of this table's game, and whether it may be done now."""
    _see("acts", lambda client: client.acts(), socket, as_json, watch)


def _see(
    what: str, ask: Callable[[Client], Mapping[str, Any]], socket: Path, as_json: bool, watch: bool = False
) -> None:
    """Ask the daemon; ``what`` is the function of daemon.show that prints the answer for people."""
    from daemon import show

    print_it: Callable[[dict[str, Any]], None] = getattr(show, what)
    asked = ask if as_json else _with_house(ask)
    if watch:
        _watch(asked, socket, as_json, print_it)
    with _asking(socket, as_json) as client:
        _tell(asked(client), as_json, print_it)


def _with_house(ask: Callable[[Client], Mapping[str, Any]]) -> Callable[[Client], Mapping[str, Any]]:
    """For people: the answer with the house's time zone, which only the status has."""

    def asked(client: Client) -> Mapping[str, Any]:
        answer = ask(client)
        return answer if "house" in answer else {**answer, "house": client.status().get("house")}

    return asked


def _watch(
    ask: Callable[[Client], Mapping[str, Any]],
    socket: Path,
    as_json: bool,
    print_it: Callable[[dict[str, Any]], None],
) -> NoReturn:
    """Until SIGINT, or until nobody reads. A daemon that is away is waited for."""
    from daemon import show
    from daemon.client import ApiError
    from daemon.follow import follow

    def tell(answer: Mapping[str, Any]) -> None:
        if not as_json and sys.stdout.isatty():
            show.console.clear()
        _tell(answer, as_json, print_it)
        sys.stdout.flush()

    try:
        follow(socket, ask, tell, lambda reason: print(f"feltd: {reason}", file=sys.stderr, flush=True))
    except ApiError as error:
        _fail(str(error), as_json)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None


def _act_names(incomplete: str) -> list[str]:
    from daemon.roles import FORMS

    names = {form.name for forms in FORMS.values() for form in forms}
    return sorted(name for name in names if name.startswith(incomplete))


@app.command()
def act(
    name: Annotated[str, typer.Argument(autocompletion=_act_names)],
    words: Annotated[list[str] | None, typer.Argument(metavar="key=value…")] = None,
    second: Annotated[
        str, typer.Option(metavar="NAME", help="A second person, who is asked for the PIN.")
    ] = "",
    socket: Socket = DEFAULT_SOCKET,
    as_json: Json = False,
) -> None:
    """Do one operator's act, and tell what became of it. Reserved: by= role= second= key= replaces=."""
    from daemon import show

    args = _pairs(words or [])
    who: dict[str, Any] = {key: args.pop(key) for key in RESERVED if key in args}
    replaces = args.pop("replaces", "0")
    if not (replaces.isascii() and replaces.isdecimal()):
        raise typer.BadParameter(f"replaces={replaces!r} is no record's number")
    if "file" in args:  # the daemon has another working directory
        args["file"] = str(Path(args["file"]).absolute())
    if second:
        who["second"] = {"name": second, "pin": staff_cli.asked_pin(f"PIN of {second}")}
    with _asking(socket, as_json) as client:
        answer = client.act(name, **who, replaces=int(replaces), **args)
    _tell(answer, as_json, show.act)
    raise typer.Exit(0 if answer["accepted"] else FAILED)


# --- the regulation, by itself -----------------------------------------------------------------


@app.command()
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
    _tell({"rules": rules, "hands": ranked, "best": best}, as_json, show.hands)


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


@app.command()
def award(
    config: Config,
    pool: Annotated[int, typer.Option(min=0, help="The pool as the round began, minor units.")],
    words: Annotated[list[str], typer.Argument(metavar="BOX=CATEGORY…")],
    as_json: Json = False,
) -> None:
    """What the progressive pays for a round's awarded hands (CS-10)."""
    from daemon import show
    from daemon.games.jackpot import LocalPool

    claims = [_claim(box, category) for box, category in _pairs(words).items()]
    rules = _caribbean(config, as_json).jackpot
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
    _tell(told, as_json, show.awards)


def _claim(box: str, category: str) -> Claim:
    from daemon.games.caribbean.rules import BOXES
    from daemon.games.jackpot import AWARDED, Claim

    awarded = {each.label: each for each in AWARDED}
    if box not in map(str, BOXES):
        raise typer.BadParameter(f"{box!r} is no box: 1 to {BOXES[-1]}")
    if category not in awarded:
        raise typer.BadParameter(f"{category!r} is not awarded: {', '.join(awarded)}")
    return Claim(int(box), awarded[category])


# --- the journal ---------------------------------------------------------------------------------

Anchors = Annotated[
    list[str] | None,
    typer.Option("--anchor", metavar="SEQ:HASH", help="A record that the journal had. May be repeated."),
]


def _anchors(texts: Sequence[str] | None) -> tuple[Anchor, ...]:
    from daemon.anchor import Anchor

    try:
        return tuple(Anchor.parse(text) for text in texts or ())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


@journal_app.command("backup")
def journal_backup(journal: Path, target: Path, as_json: Json = False) -> None:
    """Copy a journal, also while its table plays. The key file is not part of it: keep that apart."""
    from daemon import backup, show
    from daemon.journal import JournalError

    try:
        _tell(backup.backup(journal, target), as_json, show.facts)
    except JournalError as error:
        _fail(str(error), as_json)


@journal_app.command("restore")
def journal_restore(backup: Path, journal: Path, anchor: Anchors = None, as_json: Json = False) -> None:
    """Put a verified copy in a damaged journal's place, keep that aside, and tell what is missing."""
    from daemon import backup as backups
    from daemon import show
    from daemon.journal import JournalError

    try:
        _tell(backups.restore(backup, journal, _anchors(anchor)), as_json, show.facts)
    except JournalError as error:
        _fail(str(error), as_json)


@journal_app.command("rotate-key")
def journal_rotate_key(
    journal: Path,
    key: Annotated[Path, typer.Argument(help="Its key file, which then has the new key too.")],
    as_json: Json = False,
) -> None:
    """Seal card faces with a new key from now on. Stop the daemon first, and copy the key file afterwards."""
    from daemon import keys, show
    from daemon.journal import JournalError
    from daemon.sealer import SealError

    try:
        _tell(keys.rotate(journal, key), as_json, show.facts)
    except (JournalError, SealError) as error:
        _fail(str(error), as_json)


@journal_app.command("begin-anew")
def journal_begin_anew(
    journal: Path,
    key: Annotated[Path, typer.Argument(help="The file of the new key; one that is there is kept.")],
    why: Annotated[str, typer.Option(help="Written into the new journal's header.")],
    as_json: Json = False,
) -> None:
    """When the key is lost, or somebody saw it: close a journal, begin another that names it, with a new key.

    The old journal is kept beside the new one. Tells what people have to carry over.
    """
    from daemon import keys, show
    from daemon.journal import JournalError

    try:
        _tell(keys.begin_anew(journal, key, why), as_json, show.facts)
    except JournalError as error:
        _fail(str(error), as_json)


@journal_app.command("verify")
def journal_verify(
    file: Path,
    anchor: Anchors = None,
    quick: Annotated[bool, typer.Option("--quick", help="Look at the archives only briefly.")] = False,
    as_json: Json = False,
) -> None:
    """Check the sums, the hash chain and the anchors of a journal. Needs no key."""
    from daemon import audit, show

    found = (audit.verify_open if quick else audit.verify)(file, _anchors(anchor))
    _tell(found, as_json, show.facts)
    raise typer.Exit(0 if found["verified"] else FAILED)


@journal_app.command("export")
def journal_export(
    file: Path,
    out: Annotated[Path | None, typer.Option(help="Write here instead of standard output.")] = None,
    canonical: Annotated[bool, typer.Option("--canonical", help="Faces in clear, no ciphertext.")] = False,
    key: Annotated[Path | None, typer.Option(help="The key file, for --canonical.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --out: say so in one JSON object.")] = False,
) -> None:
    """Write a journal as JSON lines. A file is replaced only by a whole export."""
    from daemon import audit, show
    from daemon.journal import JournalError
    from daemon.sealer import SealError

    if as_json and out is None:
        raise typer.BadParameter("--json needs --out: standard output has the export itself")
    try:
        if out is not None:
            records = audit.export_to(file, out, canonical, key)
            _tell({"records": records, "out": str(out)}, as_json, show.facts)
        else:
            audit.export(file, sys.stdout.buffer, canonical, key)
            sys.stdout.buffer.flush()
    except (JournalError, SealError) as error:
        _fail(str(error), as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
        raise typer.Exit(FAILED) from None
    except OSError as error:
        _fail(f"{out or file}: {error.strerror}", as_json)


# --- on the bench ----------------------------------------------------------------------------------


@app.command()
def bench(
    role: Annotated[str, typer.Argument(metavar="shoe|shuffler|sign")],
    protocol: Annotated[str, typer.Option(help="What it speaks.")],
    link: Annotated[str, typer.Option(help="A path, or serial: tcp: usb: as in a configuration.")],
    page: Annotated[Path | None, typer.Option("--report", help="Write the report, one page of HTML.")] = None,
    serial: Annotated[str, typer.Option(help="The serial number that it must have.")] = "",
    control: Annotated[
        Path | None, typer.Option(help="The control socket of a simulated device; found if left out.")
    ] = None,
    patience: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds for each request: 60 at a terminal, else 10.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Accept one device: every check of its role, on a technician's bench."""
    from daemon.bench import command, terminal
    from daemon.registry import ProtocolError

    options = command.BenchOptions(role, protocol, link, serial, control, patience)
    try:
        report = command.bench(options, page)
    except (ValueError, ProtocolError) as error:
        raise typer.BadParameter(str(error)) from None
    except OSError as error:
        _fail(f"{error.filename or page}: {error.strerror}", as_json)
    _tell(report.json(), as_json, lambda _: terminal.summary(report, str(page or "")))
    raise typer.Exit(0 if report.passed else FAILED)


@app.command()
def record(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file; it shows faces in clear.")],
    link: Annotated[str, typer.Option(help="A path, or serial: tcp: usb: as in a configuration.")],
    role: Annotated[str, typer.Option(help="With --protocol: drive the device, and acknowledge.")] = "",
    protocol: Annotated[str, typer.Option(help="What it speaks. Left out: listen, write nothing.")] = "",
    listen: Annotated[bool, typer.Option("--listen", help="Name the protocol, but write nothing.")] = False,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Of its driver.")] = None,
    meter: Annotated[str, typer.Option(help="What a sign is told to show.")] = "",
    device: Annotated[str, typer.Option(help="Its serial number, for the header.")] = "",
    firmware: Annotated[str, typer.Option(help="Its firmware, for the header.")] = "",
    who: Annotated[str, typer.Option(help="Who records, for the header.")] = "",
    note: Annotated[str, typer.Option(help="What is done meanwhile, for the header.")] = "",
    seconds: Annotated[float | None, typer.Option(min=0, help="How long; else until a signal.")] = None,
    as_json: Json = False,
) -> None:
    """Record every byte of a link, with its time, until SIGINT or SIGTERM."""
    import asyncio

    from daemon import show
    from daemon.links.base import LinkError
    from daemon.record import RecordOptions, told
    from daemon.record import record as listen_to
    from daemon.registry import ProtocolError

    given = _pairs(option or [])
    options = RecordOptions(
        link, file, role, protocol, listen, who, note, device, firmware, seconds, meter, given
    )
    try:
        options.check()
    except (ValueError, ProtocolError) as error:
        raise typer.BadParameter(str(error)) from None
    try:
        tally = asyncio.run(listen_to(options, lambda tally: print(told(tally), file=sys.stderr)))
    except LinkError as error:
        _fail(f"{error}. {error.cause.remedy}", as_json)
    except OSError as error:
        _fail(f"{error.filename or file}: {error.strerror}", as_json)
    _tell({"file": str(file), **dataclasses.asdict(tally)}, as_json, show.facts)


@app.command()
def replay(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE…")] = None,
    round_id: Annotated[
        str | None, typer.Option("--round", metavar="ID|last", help="Not a file: a round, told again.")
    ] = None,
    journal: Annotated[Path | None, typer.Option(help="With --round: of this journal.")] = None,
    socket: Annotated[
        Path, typer.Option("--socket", envvar="FELTD_SOCKET", help="With --round: of this daemon's table.")
    ] = DEFAULT_SOCKET,
    config: Annotated[Path | None, typer.Option(help="With --journal: the house's time zone.")] = None,
    table: Annotated[Path | None, typer.Option(help="Through the table of this configuration.")] = None,
    role: Annotated[str, typer.Option(help="With --protocol: instead of what the header says.")] = "",
    protocol: Annotated[str, typer.Option(help="The protocol whose driver is to read it.")] = "",
    speed: Annotated[float | None, typer.Option(min=0.001, help="Times real time; else at once.")] = None,
    faces: Annotated[bool, typer.Option("--faces", help="Show faces; not with --table. Bench only.")] = False,
    as_json: Json = False,
) -> None:
    """Tell what recordings say, through their driver or a whole table; or a round again, for a dispute."""
    if bool(files) == (round_id is not None):
        raise typer.BadParameter("give recordings, or --round")
    if round_id is not None:
        _tell_again(round_id, journal, config, socket, as_json)
        return
    from daemon.recording import RecordingError, read
    from daemon.replay import ReplayError, as_plain, lines, paced, views

    if table is not None and (faces or role or protocol):
        raise typer.BadParameter("--table knows the devices and keeps faces down; it stands alone")
    settings = _settings(table, as_json) if table is not None else None
    try:
        read_files = [(file, read(file)) for file in files or ()]
        found = [paced(each, speed) for each in views(read_files, settings, role, protocol, faces)]
        if as_json:
            print(json.dumps({"replays": [as_plain(each) for each in found]}, ensure_ascii=False))
            return
        for each in found:
            for line in lines(each):
                print(line)
    except (RecordingError, ReplayError) as error:
        _fail(str(error), as_json)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}", as_json)


def _tell_again(
    round_id: str, journal: Path | None, config: Path | None, socket: Path, as_json: bool
) -> None:
    """One round, by the daemon or from a journal."""
    from daemon import show
    from daemon.journal import JournalError
    from daemon.report import NoSuchRound
    from daemon.report import story as of

    number = None if round_id == "last" else _round_number(round_id)
    if journal is None:
        with _asking(socket, as_json) as client:
            told = client.story(number)
    else:
        try:
            told = {**of(journal, _house(config, as_json), number, errors=_errors_of(journal))}
        except (NoSuchRound, JournalError) as error:
            _fail(str(error), as_json)
    _tell(told, as_json, show.story)
    raise typer.Exit(0 if told["verified"] else FAILED)


def _round_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise typer.BadParameter(f"{text!r} is neither a round's number nor last")
    return int(text)


def _house(config: Path | None, as_json: bool) -> House:
    """The house of a configuration; without one that of Macau, its day beginning at six."""
    from daemon.house import House

    return _settings(config, as_json).house if config is not None else House()


def _errors_of(journal: Path) -> list[str]:
    """What a look at the whole open file and at each archive's end finds."""
    from daemon import audit

    return audit.verify_open(journal)["errors"]


@app.command()
def report(
    day: Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="The date on which the gaming day began.")],
    shift: Annotated[str, typer.Option(metavar="NAME", help="One shift of it.")] = "",
    journal: Annotated[Path | None, typer.Option(help="Of this journal, read beside the play.")] = None,
    socket: Socket = DEFAULT_SOCKET,
    config: Annotated[
        Path | None, typer.Option(help="With --journal: time zone, gaming day and shifts; else Macau's.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it as a page to print, too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """A gaming day or a shift: rounds, drop, payouts, pool, irregularities, reconciled to the unit."""
    from daemon import show
    from daemon.journal import JournalError
    from daemon.report import NoSuchDay, page
    from daemon.report import report as of

    date = _date(day)
    if journal is None:
        with _asking(socket, as_json) as client:
            told = client.report(date.isoformat(), shift)
    else:
        try:
            told = {**of(journal, _house(config, as_json), date, shift, errors=_errors_of(journal))}
        except (NoSuchDay, JournalError) as error:
            _fail(str(error), as_json)
    if html is not None:
        try:
            html.write_text(page(cast("Report", told)), encoding="utf-8")
        except OSError as error:
            _fail(f"{html}: {error.strerror}", as_json)
    _tell(told, as_json, show.report)
    raise typer.Exit(0 if told["reconciled"] and told["verified"] else FAILED)


def _date(text: str) -> date:
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no date: YYYY-MM-DD") from None


@app.command()
def suggest(as_json: Json = False) -> None:
    """What is plugged in, and the lines of configuration and udev that would bind it. Opens no port."""
    from daemon.suggest import found, show

    _tell(found(), as_json, show)


# --- simulation ------------------------------------------------------------------------------------


@app.command()
def sim(
    role: Annotated[str, typer.Argument(metavar="shoe|shuffler|sign")],
    protocol: Annotated[str, typer.Option(help="What it speaks.")],
    pty: Annotated[Path | None, typer.Option(help="A fresh PTY behind this symlink.")] = None,
    tcp: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="A listening port.")] = None,
    control: Annotated[Path | None, typer.Option(help="The socket for test verbs.")] = None,
    serial: Annotated[str | None, typer.Option(help="Its serial number.")] = None,
    seed: Annotated[int | None, typer.Option(help="The order of its cards.")] = None,
    boot: Annotated[
        int | None, typer.Option(min=1, max=0xFFFF, help="Its boot id; drawn if left out.")
    ] = None,
) -> None:
    """Run one simulated device until SIGTERM or SIGINT."""
    import asyncio

    from daemon.registry import ProtocolError, simulator
    from daemon.registry import protocol as protocol_of
    from daemon.simhost import run_simulator

    try:
        speaks = protocol_of(role, protocol)
        make = simulator(speaks)
    except ProtocolError as error:
        raise typer.BadParameter(str(error)) from None
    if (pty is None) == (tcp is None):
        raise typer.BadParameter("give one of --pty and --tcp")
    device = make(**_traits(speaks, serial, seed, boot))
    address = _address(tcp) if tcp else None
    try:
        asyncio.run(run_simulator(device, pty_path=pty, tcp=address, control_path=control))
    except OSError as error:
        _fail(f"{error.filename or pty or tcp}: {error.strerror}")


def _traits(
    speaks: DeviceProtocol, serial: str | None, seed: int | None, boot: int | None
) -> dict[str, object]:
    """What one simulator is told. A new process is a new boot of the device, so it has a new boot id."""
    named = {"serial": serial, "seed": seed, "boot": boot}
    given: dict[str, object] = {key: value for key, value in named.items() if value is not None}
    unknown = [key for key in given if key not in speaks.traits]
    if unknown:
        raise typer.BadParameter(f"a device that speaks {speaks.name} has no {' and no '.join(unknown)}")
    if "boot" in speaks.traits:
        given.setdefault("boot", int.from_bytes(os.urandom(2)) or 1)
    return given


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT")
    return host, int(port)


@app.command()
def console(
    socket: Socket = DEFAULT_SOCKET,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="0: any free port.")] = "127.0.0.1:8080",
    name: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Answer to this Host header too: a proxy's.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Listen where the network can reach it. There is no TLS here.")
    ] = False,
    metrics_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve /metrics to whoever brings this file's key.")
    ] = None,
) -> None:
    """Serve the web page of the table behind a socket, until SIGTERM or SIGINT."""
    from daemon.console.run import NotLoopback, serve
    from daemon.console.scrape import read_key

    host, port = _address(listen)
    try:
        key = read_key(metrics_key) if metrics_key is not None else ""
    except (OSError, ValueError) as error:
        _fail(f"{metrics_key}: {error.strerror}" if isinstance(error, OSError) else str(error))
    try:
        serve(socket, host, port, name or (), public, lambda url: print(url, flush=True), key)
    except NotLoopback as error:
        raise typer.BadParameter(str(error)) from None
    except OSError as error:
        _fail(f"{listen}: {error.strerror or error}")


@app.command()
def demo(
    game: Annotated[str, typer.Option(help="caribbean or five-card.")] = "caribbean",
    rounds: Annotated[int, typer.Option(help="How many rounds.")] = 25,
    speed: Annotated[float, typer.Option(help="Divides the pauses.")] = 1.0,
    seed: Annotated[int | None, typer.Option(help="The same seed plays the same evening.")] = None,
    irregularities: Annotated[
        bool, typer.Option("--irregularities", help="Each case of CS-11, or of FC-18 and FC-19, happens.")
    ] = False,
    console: Annotated[bool, typer.Option("--console", help="Serve the web page too.")] = False,
    directory: Annotated[Path | None, typer.Option("--dir", help="Keep everything here.")] = None,
    as_json: Json = False,
) -> None:
    """Watch a table play by itself on simulated devices."""
    from daemon.demo import DemoOptions, run_demo

    options = DemoOptions(
        game=game,
        rounds=rounds,
        speed=speed,
        seed=seed,
        irregularities=irregularities,
        console=console,
        directory=directory,
        as_json=as_json,
    )
    raise typer.Exit(run_demo(options))


@app.command()
def simulate(
    game: Annotated[str, typer.Option(help="caribbean or five-card.")] = "caribbean",
    rounds: Annotated[int, typer.Option(help="How many rounds.")] = 1000,
    boxes: Annotated[int, typer.Option(help="Boxes with a bet, or seats, 1 to 7.")] = 7,
    mode: Annotated[str, typer.Option(help="shoe or shuffler.")] = "shoe",
    strategy: Annotated[str, typer.Option(help="optimal, pair-plus, akj83, ak, blind.")] = "ak",
    seed: Annotated[int, typer.Option(help="The same seed gives the same journal.")] = 1,
    config: Annotated[Path | None, typer.Option(help="Take the rules from this file.")] = None,
    faults: Annotated[
        float, typer.Option(min=0, max=1, help="Faults of devices, disk, process in ten steps.")
    ] = 0.0,
    jobs: Annotated[int, typer.Option(min=0, help="Blocks of 1,000 rounds, so many at a time.")] = 0,
    journal: Annotated[Path | None, typer.Option(help="Keep the journal in this new file.")] = None,
    as_json: Json = False,
) -> None:
    """Play many rounds in memory: the same table, no devices, no waiting."""
    from daemon import show
    from daemon.config import ConfigError
    from daemon.simulate import SimulateOptions, SimulationError
    from daemon.simulate import run as play

    with _progress(rounds, as_json) as progress:
        options = SimulateOptions(
            game=game,
            rounds=rounds,
            boxes=boxes,
            mode=mode,
            strategy=strategy,
            seed=seed,
            config=config,
            journal=journal,
            faults=faults,
            jobs=jobs,
            progress=progress,
        )
        try:
            result = play(options)
        except ConfigError as error:
            _bad_config(error.problems, as_json)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        except FileExistsError:
            _fail(f"{journal}: is there already, and is kept", as_json)
        except (SimulationError, OSError) as error:
            _fail(str(error), as_json)
    _tell(result, as_json, show.facts)
    violation = result.get("violation")
    if isinstance(violation, dict):
        print(f"seed {violation['seed']}, round {violation['round']}: {violation['what']}", file=sys.stderr)
        print(f"to play it again: {violation['replay']}", file=sys.stderr)
    raise typer.Exit(FAILED if result["invariant_violations"] else 0)


@contextmanager
def _progress(total: int, as_json: bool) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error for somebody who watches; it is moved a hundred times at most."""
    if as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task, step = bar.add_task("rounds", total=total), max(1, total // 100)

        def move(done: int) -> None:
            if done % step == 0:
                bar.update(task, completed=done)

        yield move


@app.command()
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


@app.command("verify-install")
def verify_install(
    config: Annotated[Path | None, typer.Option("--config", help="Tell its rule set's digest too.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the installed files with the package's manifest, and print the fingerprint of both."""
    from daemon import __version__, show
    from daemon.integrity import inspect, rules_digest

    rules = rules_digest(_settings(config, as_json).rules.text()) if config is not None else None
    found = inspect()
    told = {
        "version": __version__,
        "manifest": str(found.manifest),
        "fingerprint": found.fingerprint,
        "files": found.files,
        "differences": list(found.differences),
        "rules": rules,
        "ok": not found.differences,
    }
    _tell(told, as_json, show.facts)
    raise typer.Exit(FAILED if found.differences else 0)


@app.command()
def completion(shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish")]) -> None:
    """The script that completes feltd's commands, for a shell's folder of completions."""
    from typer._completion_shared import get_completion_script

    if shell not in SHELLS:
        raise typer.BadParameter(f"{shell!r} is none of {', '.join(SHELLS)}")
    print(get_completion_script(prog_name="feltd", complete_var="_FELTD_COMPLETE", shell=shell))


@app.command()
def version() -> None:
    """The version of this program."""
    from daemon import __version__

    print(f"feltd {__version__}")
