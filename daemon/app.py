"""The service of one table: builds the objects, runs the loop, and ends in order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sqlite3
import stat
import sys
import time
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import uvicorn

from daemon import __version__
from daemon.api.door import Door
from daemon.api.peers import LONGEST_HEADERS, PeerProtocol
from daemon.audit import ArchiveWatch, verify_open
from daemon.build import build_ports, build_table, known_acts, started
from daemon.clock import SystemClock
from daemon.config import IntegritySettings, Settings
from daemon.control import create_app
from daemon.engine import FailStop, RecoveryError, recover
from daemon.integrity import CODE as INTEGRITY
from daemon.integrity import inspect, notices, rules_digest
from daemon.journal import (
    JournalError,
    SqliteJournal,
    create,
    header_bytes,
    is_blank,
    open_journal,
    require_new,
)
from daemon.links.url import make_link
from daemon.lock import Held, sole_owner
from daemon.log import Log
from daemon.notify import notify
from daemon.records import decode
from daemon.reserve import RESERVE, Reserve
from daemon.sealer import NO_KEY_LEFT, SealError, load_key, name_key, new_key
from daemon.service import Service
from daemon.table import InvariantBroken, Noticed, Table
from daemon.visible import LINES, visible
from daemon.watch import Watch, of_journal

ACCESS: Final = 0o660
BACKLOG: Final = 64
ARCHIVES: Final = "archives"  # the fault of an archive that does not verify
GRACE: Final = 1  # seconds that open requests get at the end


class StartError(Exception):
    """The daemon cannot start; the text is one sentence for the operator."""


def run(settings: Settings) -> int:
    """Run the table until SIGTERM or SIGINT. Returns the exit code: 0, or 1 with a sentence on stderr."""
    log = Log()
    reserve = Reserve(settings.journal)
    try:
        with (
            _owned(settings.journal, reserve),
            _listening(settings.socket) as listener,  # whoever is refused leaves no new journal behind
            contextlib.closing(_journal(settings, reserve, log)) as journal,
        ):
            table = _recovered(settings, journal, log)
            asyncio.run(_serve(settings, listener, journal, table, reserve, log))
        return 0
    except (StartError, JournalError, SealError, RecoveryError, FailStop) as error:
        return _ended(log, str(error))
    except InvariantBroken as error:
        return _ended(log, f"the books do not add up: {error}")
    except sqlite3.Error as error:
        return _ended(log, f"{settings.journal}: {error}; the file is kept as it is")
    finally:
        log.close()


def _ended(log: Log, sentence: str) -> int:
    log("ended", reason=sentence)
    log.close()  # so that the sentence is the last line
    print(f"feltd: {visible(sentence, LINES)}", file=sys.stderr)
    return 1


# --- state: lock, key, journal ------------------------------------------------------------------


@contextlib.contextmanager
def _owned(journal: Path, reserve: Reserve) -> Iterator[None]:
    """Hold the lock file of the journal. Raises StartError, naming the process that holds it."""
    if not journal.parent.is_dir():
        raise StartError(f"{journal}: the folder does not exist; make it, or correct table.journal")
    path = journal.with_name(f"{journal.name}.lock")
    with contextlib.ExitStack() as held:
        try:
            try:
                held.enter_context(sole_owner(path))
            except OSError as error:
                if error.errno != errno.ENOSPC or not reserve.release():
                    raise
                held.enter_context(sole_owner(path))
        except Held as other:
            raise StartError(f"{journal} is in use by another daemon (pid {other.pid})") from None
        except OSError as error:
            raise StartError(f"{path}: {error.strerror}") from None
        yield


def _journal(settings: Settings, reserve: Reserve, log: Log) -> SqliteJournal:
    """The journal of this table, made with its key only when neither is there."""
    journal, key = settings.journal, settings.key
    if journal.exists() and not key.exists() and is_blank(journal) and name_key(key):
        log("first-start-finished", journal=str(journal), key=str(key))
    if not journal.exists() and not key.exists():
        _create(settings)
    elif not journal.exists():
        raise StartError(f"{journal} is missing beside its key {key}: put it back, or move the key away")
    elif not key.exists():
        raise StartError(
            f"{key} is missing beside the journal {journal}: put it back; if it is lost, {NO_KEY_LEFT}"
        )
    if reserve.release():
        log("reserve-released", journal=str(journal), free=reserve.free)
    # Read first: a file that is damaged or another's is kept byte for byte.
    _require_sound(journal)
    _require_ours(settings)
    return open_journal(journal, load_key(key), log)


def _create(settings: Settings) -> None:
    header = header_bytes(settings.table_id, settings.game, SystemClock().utc(), settings.simulated)
    try:
        require_new(settings.journal)
        with new_key(settings.key):
            create(settings.journal, header)
    except OSError as error:
        raise StartError(f"{error.filename or settings.key}: {error.strerror}") from None


def _require_sound(journal: Path) -> None:
    """Sums and chain hold: a replay alone would not see what it does not compare.

    The open file completely, the archives as the manifest has them: a start costs no history.
    """
    found = verify_open(journal)
    if found["verified"]:
        return
    if Reserve(journal).free < RESERVE:
        raise StartError(f"{journal}: its disk is full, and the journal cannot even be read: make room")
    raise StartError(f"{journal} is damaged: {found['errors'][0]}")


def _require_ours(settings: Settings) -> None:
    """The header's table and game are this one's; real and simulated money do not mix."""
    with contextlib.closing(
        sqlite3.connect(f"{settings.journal.absolute().as_uri()}?mode=ro", uri=True)
    ) as db:
        header = decode(db.execute("SELECT value FROM meta WHERE key = 'header'").fetchone()[0])
    for what, ours in (("table", settings.table_id), ("game", settings.game)):
        if header[what] != ours:
            raise StartError(f"{settings.journal} belongs to {what} {header[what]!r}, not {ours!r}")
    if bool(header["simulated"]) != bool(settings.simulated):
        began = "simulated" if header["simulated"] else "real"
        raise StartError(f"{settings.journal} was begun with {began} devices only: name another journal")


def _recovered(settings: Settings, journal: SqliteJournal, log: Log) -> Table:
    table, found = recover(partial(build_table, settings), journal)
    log(
        "recovered",
        snapshot=found.snapshot,
        records=found.replayed,
        passed_over=found.passed_over,
        state=table.game.phase,
        round=table.game.round_id,
    )
    return table


# --- the socket ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    """The socket, while it is ours; who connects before the table is there waits for it."""
    listener = _bound(path)
    try:
        yield listener
    finally:
        listener.close()
        path.unlink(missing_ok=True)


def _bound(path: Path) -> socket.socket:
    """A listening socket, 0660 from its first moment. Raises StartError; takes a dead one's place."""
    _clear_stale(path)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o777 & ~ACCESS)
    try:
        listener.bind(str(path))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise StartError(f"{path}: {error.strerror}") from None
    finally:
        os.umask(before)
    return listener


def _clear_stale(path: Path) -> None:
    try:
        is_socket = stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return  # not there, or bind says better what is wrong
    if not is_socket:
        raise StartError(f"{path} is there and is no socket: move it away, or correct table.socket")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise StartError(f"{path}: {error.strerror or 'does not answer'}") from None
            return
    raise StartError(f"{path} is in use: another daemon listens there")


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: signals are the service's.

    It sleeps until it is told to end. uvicorn looks ten times a second, and that was most of what an idle
    table cost; the date that it renews there is no header here.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._told.set()

    async def main_loop(self) -> None:
        await self._told.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _server(service: Service, settings: Settings, log: Log) -> _Server:
    door = Door.of(settings.staff, SystemClock().monotonic, log)
    return _Server(
        uvicorn.Config(
            create_app(service, known_acts(settings), door),
            http=PeerProtocol,
            h11_max_incomplete_event_size=LONGEST_HEADERS,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=GRACE,
        )
    )


# --- the loop -----------------------------------------------------------------------------------


async def _serve(
    settings: Settings,
    listener: socket.socket,
    journal: SqliteJournal,
    table: Table,
    reserve: Reserve,
    log: Log,
) -> None:
    """Serve until told to end. Raises the FailStop, or whatever else stopped the engine."""
    links = {device.id: make_link(device.link, device.speaks.line) for device in settings.devices}
    machine = of_journal(settings.journal, time.time_ns, time.monotonic_ns, lambda: journal.trouble)
    watch = Watch(machine, frozenset(table.faults))
    service = Service(table, journal, build_ports(settings, table), links, SystemClock(), log, watch, reserve)
    service.house = settings.house
    _end_on_signals(service, log)
    service.start(started(settings, journal.signer))
    for noticed in _integrity(settings, table, log):
        service.notice(noticed)
        service.installation = noticed.text
    server = _server(service, settings, log)
    serving = asyncio.create_task(server.serve([listener]))
    serving.add_done_callback(lambda _: service.stop())
    if not service.over.is_set():
        notify("READY=1")
    log("started", table=settings.table_id, version=__version__, simulated=list(settings.simulated))
    archives = _watch_archives(settings.journal, service, latched=ARCHIVES in table.faults)
    await service.over.wait()
    notify("STOPPING=1")
    archives.stop()
    server.end()
    await asyncio.gather(service.finish(), serving)
    if service.failure is not None:
        raise _fail_stop(service.failure)
    log("stopped", table=settings.table_id)


def _integrity(settings: Settings, table: Table, log: Log) -> list[Noticed]:
    """What is to be journalled of the installed files: all of it by a package, or when it is asked for."""
    wanted, found = settings.integrity, inspect()
    if not found.fingerprint and wanted is None:
        log("not-packaged", manifest=str(found.manifest))
        return []
    wanted = wanted or IntegritySettings()
    rules = rules_digest(settings.rules.text())
    return notices(found, rules, wanted.rules, wanted.blocks, INTEGRITY in table.faults)


def _watch_archives(journal: Path, service: Service, latched: bool) -> ArchiveWatch:
    """Once a start, beside the play: a damaged archive is a fault, and one that was mended is over."""
    loop = asyncio.get_running_loop()

    def tell(noticed: Noticed) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(service.notice, noticed)

    def done(count: int) -> None:
        if latched and not count:
            tell(Noticed(ARCHIVES, "", False))

    watch = ArchiveWatch(journal, lambda sentence: tell(Noticed(ARCHIVES, sentence, True)), done)
    watch.start()
    return watch


def _fail_stop(error: Exception) -> FailStop:
    if isinstance(error, FailStop):
        return error
    return FailStop(f"the table stopped: {type(error).__name__}: {error}")


def _end_on_signals(service: Service, log: Log) -> None:
    def end(name: str) -> None:
        log("signal", name=name)
        service.stop()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number.name)
