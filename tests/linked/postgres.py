"""A PostgreSQL server of one's own on loopback, in a folder that goes away with it."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psycopg
import pytest

ADMIN: Final = "admin"  # the superuser of a server of ours
PASSWORD: Final = "a password of the tests"
PATIENCE: Final = 60.0  # s
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)
_SETTINGS: Final[Mapping[str, str]] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "150",
    "shared_buffers": "64MB",
    "password_encryption": "scram-sha-256",
    "log_min_messages": "fatal",
    "autovacuum": "on",
}


def binaries() -> Path | None:
    """The folder of a PostgreSQL that can be started here; None when there is none."""
    for name in ("pg_ctl", "postgres"):
        found = shutil.which(name)
        if found and (folder := Path(found).resolve().parent).joinpath("initdb").exists():
            return folder
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: int(place.parent.name))
    return versions[-1] if versions else None


needs_postgres = pytest.mark.skipif(binaries() is None, reason="no PostgreSQL server is installed here")


def _user() -> str | None:
    """A server does not run as root; the user it runs as then."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """One server: its folder, its port, and the life and death of its process."""

    def __init__(self, home: Path, settings: Mapping[str, str] | None = None) -> None:
        self.home, self.data, self.port = home, home / "data", free_port()
        self.settings = {**_SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None

    # --- its files ----------------------------------------------------------------------------

    def _run(self, tool: str, *words: str) -> None:
        folder = binaries()
        assert folder is not None
        done = subprocess.run(
            [str(folder / tool), *words],
            user=_user(),
            cwd=self.home,
            env={"PATH": os.environ["PATH"], "PGPASSWORD": PASSWORD, "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def create(self, *options: str) -> None:
        """A new cluster that asks everyone for a SCRAM password."""
        secret = self.home / "password"
        secret.write_text(PASSWORD)
        own(self.home)
        self._run(
            "initdb", "-D", str(self.data), "-U", ADMIN, "--auth=scram-sha-256", f"--pwfile={secret}",
            "-E", "UTF8", "--no-locale", "--no-sync", *options,
        )  # fmt: skip

    def base_backup_of(self, primary: Server) -> None:
        """A standby of ``primary``, that names itself after its folder."""
        own(self.home)
        source = f"{primary.dsn()} application_name={self.home.name}"
        self._run(
            "pg_basebackup",
            "-D",
            str(self.data),
            "-d",
            source,
            "-R",
            "-N",
            "-X",
            "stream",
            "--checkpoint=fast",
        )

    # --- its process --------------------------------------------------------------------------

    def start(self) -> None:
        folder = binaries()
        assert folder is not None
        words = [f"--{key}={value}" for key, value in self.settings.items()]
        with open(self.home / "log", "ab") as log:
            self._process = subprocess.Popen(
                [str(folder / "postgres"), "-D", str(self.data), "-p", str(self.port), *words],
                user=_user(),
                cwd=self.home,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_us,
            )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.dsn(), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                assert self._process is not None
                assert self._process.poll() is None, (self.home / "log").read_text()[-2000:]
                assert time.monotonic() < until, "the server did not come up"
                time.sleep(0.05)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """``kill -9``: the postmaster first, that it tidies nothing up, and every process of it."""
        assert self._process is not None
        family = [self.pid, *_children(self.pid)]
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        until = time.monotonic() + PATIENCE
        while any(map(_runs, family)):
            assert time.monotonic() < until, "a process outlives kill -9"
            time.sleep(0.01)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(PATIENCE)
            self._process = None

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-D", str(self.data), "-w")

    # --- how it is reached --------------------------------------------------------------------

    def dsn(self, user: str = ADMIN, database: str = "postgres", password: str = PASSWORD) -> str:
        return f"host=127.0.0.1 port={self.port} user={user} dbname={database} password='{password}'"

    def sql(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self.dsn(database=database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def ask(self, query: str) -> list[object]:
        """The first column of an answer."""
        with psycopg.connect(self.dsn(), autocommit=True) as connection:
            return [row[0] for row in connection.execute(query.encode())]


def _end_with_us() -> None:
    """In the server: a test run that is killed leaves none behind."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def own(folder: Path) -> None:
    """Give a folder and what is in it to the user that a server runs as."""
    user = _user()
    if user is not None:
        for place in (folder, *folder.rglob("*")):
            shutil.chown(place, user)


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _runs(pid: int) -> bool:
    """Whether it is more than an entry that nobody has asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def folder() -> Iterator[Path]:
    """A place that the server's user can reach, whoever we are. pytest's own is closed to others."""
    with tempfile.TemporaryDirectory(prefix="feltd-pg-") as name:
        place = Path(name)
        place.chmod(0o755)
        yield place


@contextmanager
def running(settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A new server, up and running."""
    with folder() as place:
        home = place / "primary"
        home.mkdir()
        server = Server(home, settings)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
