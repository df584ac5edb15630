"""The points are all there are: strace saw no other change of a file and no other send."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability import recorder
from tests.durability.recorder import Op
from tests.durability.scripts import SCRIPTS
from tests.durability.sweep import begin_journal
from tests.durability.world import World, nursery

CALLS = {
    Op.WRITE: "write pwrite64 writev pwritev pwritev2",
    Op.TRUNCATE: "truncate ftruncate",
    Op.SYNC: "fsync fdatasync",
    Op.CREATE: "open openat openat2 creat",
    Op.RENAME: "rename renameat renameat2",
    Op.UNLINK: "unlink unlinkat",
    Op.SEND: "sendto sendmsg sendmmsg",
    Op.OTHER: "fallocate copy_file_range sendfile splice vmsplice tee link linkat symlink symlinkat mkdir "
    "mkdirat rmdir mknod mknodat sync syncfs sync_file_range io_submit io_uring_enter msync",
}
OF_CALL = {call: op for op, calls in CALLS.items() for call in calls.split()}
ARGUMENT = re.compile(r'^(?:\d+<(?P<fd>[^>]*)>|AT_FDCWD<[^>]*>, "(?P<at>[^"]*)"|"(?P<path>[^"]*)")')


def refused() -> str:
    """Why strace cannot be asked here; "" when it can."""
    if shutil.which("strace") is None:
        return "no strace: the points cannot be compared with what the kernel saw"
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True)
    return f"strace may not trace here: {tried.stderr.strip()}" if tried.returncode else ""


def seen_by_kernel(trace: Path, names: set[str]) -> Iterator[tuple[Op, str]]:
    """What changed a file or was sent, and to which file. ``names`` are there at the beginning."""
    for line in trace.read_text().splitlines():
        call, _, rest = line.partition("(")
        op, what = OF_CALL.get(call), ARGUMENT.match(rest)
        if op is None or " = -1 " in line:
            continue
        assert what is not None, line
        place = what["fd"] or what["at"] or what["path"] or ""
        if place.startswith(("pipe:", "/dev/null")):
            continue
        name = place.rsplit("/", 1)[-1]
        if op is Op.CREATE:
            if "O_CREAT" not in line and "O_TRUNC" not in line:
                continue
            if name in names:
                assert "O_TRUNC" not in line, line
                continue
            names.add(name)
        if op is Op.UNLINK:
            names.discard(name)
        yield op, "socket" if place.startswith(("socket:", "UNIX")) else name


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_no_change_of_a_file_and_no_send_outside_the_points(
    script: str, library: Path, tmp_path: Path
) -> None:
    if reason := refused():
        pytest.skip(reason)
    table, traces, log = tmp_path / "table", tmp_path / "traces", tmp_path / "log"
    for folder in (table, traces):
        folder.mkdir()
    begin_journal(SCRIPTS[script], table)
    there = {path.name for path in table.iterdir()}
    calls = ",".join(["mmap", *OF_CALL])
    strace = ("strace", "-ff", "-y", "-qq", "-s", "0", "-e", f"trace={calls}", "-o", str(traces / "of"))
    with nursery(library, tmp_path, *strace) as zygote:
        world = World(zygote, SCRIPTS[script], table)
        world.live(log=log)
        process = world.process
        world.play()
        world.end()
    trace = traces / f"of.{process}"
    seen = [(op, name) for op, name in seen_by_kernel(trace, there) if name != log.name]
    points = [
        (point.op, "socket" if point.op is Op.SEND else Path(point.path).name)
        for point in recorder.points(log)
    ]
    assert len(points) > 300
    assert seen == points
    shared = [line for line in trace.read_text().splitlines() if "PROT_WRITE, MAP_SHARED, " in line]
    assert all("journal.db-shm>" in line for line in shared), shared
