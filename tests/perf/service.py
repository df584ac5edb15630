"""The service at rest with its three devices: memory beside its bare imports, and processor time a minute."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from drivers.shoe.sim_fdp import ShoeSim
from drivers.shuffler.sim_fdp import ShufflerSim
from drivers.sign.sim_alpha import AlphaSim
from tests.perf.idle import Daemon, Pump, config
from tests.perf.measure import Row
from tests.perf.wire import Line

SETTLE = 3.0  # seconds: the sign's first proofs
TIMES = 3
# What `feltd run` has loaded once it serves, found by asking one; then nothing but waiting.
_IDLE = "import sys\nfor name in sys.argv[1].split():\n __import__(name)\nprint(flush=True)\nsys.stdin.read()"
_LOADED = """
import sys
from daemon import app, cli
print(*sorted(name for name, module in sys.modules.items() if getattr(module, "__file__", None)))
"""


def _rss(pid: int) -> float:
    """Resident memory, KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


def _bare_imports() -> float:
    """The same interpreter with the same modules, idle."""
    loaded = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    names = " ".join(name for name in loaded.stdout.split() if not name.startswith("__main__"))
    command = [sys.executable, "-c", _IDLE, names]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return _rss(process.pid)


def _served(folder: Path) -> tuple[float, float]:
    """KiB, and milliseconds of processor time a minute."""
    devices = {
        "shoe": ("fdp", Line(ShoeSim())),
        "shuffler.SH-1": ("fdp", Line(ShufflerSim(serial="SHUF0001"))),
        "sign": ("alpha", Line(AlphaSim())),
    }
    pump = Pump([line for _, line in devices.values()])
    daemon = Daemon(folder, config({key: (protocol, line.path) for key, (protocol, line) in devices.items()}))
    try:
        daemon.until(ready=True)
        time.sleep(SETTLE)
        return _rss(daemon.process.pid), daemon.cost()
    finally:
        daemon.close()
        pump.close()


def measure() -> list[Row]:
    pairs, costs = [], []
    for _ in range(TIMES):
        with tempfile.TemporaryDirectory(dir=".") as name:
            used, cost = _served(Path(name))
        pairs.append((used / 1024, _bare_imports() / 1024))
        costs.append(cost)
    pairs.sort(key=lambda pair: pair[0] / pair[1])
    ours, theirs = pairs[TIMES // 2]
    ratios = [mine / other for mine, other in pairs]
    limit, cost = 300.0, sorted(costs)[TIMES // 2]
    return [
        Row(
            "resident memory, three devices, API on",
            ours,
            "MiB",
            "the same imports, idle",
            theirs,
            ours / theirs,
            f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
            TIMES,
        ),
        Row(
            "an idle table with three devices",
            cost,
            "ms/min",
            "the goal",
            limit,
            cost / limit,
            f"{min(costs):.0f}-{max(costs):.0f} ms",
            TIMES,
        ),
    ]
