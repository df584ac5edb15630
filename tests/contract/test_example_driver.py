"""A driver package of somebody else: installed beside feltd, and nothing of feltd is touched.

It also has to keep what every protocol keeps (tests/contract/conformance.py), for it is the example
that others will copy (docs/drivers.md).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from daemon.client import Client, NotRunning
from daemon.registry import GROUP
from daemon.simhost import ControlClient
from drivers.protocol import DeviceProtocol
from tests.contract import conformance

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests" / "example_driver"
PROJECT = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
CONFIG = (ROOT / "config" / "demo.toml").read_text()
PATIENCE = 20.0  # seconds


# --- the protocol, in this process ------------------------------------------------------------------


@pytest.fixture
def speaks(monkeypatch: pytest.MonkeyPatch) -> DeviceProtocol:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    found = import_module("feltd_acme.shoe").PROTOCOL
    assert isinstance(found, DeviceProtocol)
    return found


@pytest.fixture(params=["memory", "pty"])
def ends(request: pytest.FixtureRequest) -> conformance.Ends:
    return conformance.LINKS[request.param]


class TestConformance(conformance.Conformance):
    pass


# --- the package, in processes that have it installed -----------------------------------------------


class Site:
    """A folder of installed packages, and a table's folder in which feltd runs with them."""

    def __init__(self, folder: Path) -> None:
        self.packages, self.folder = folder / "packages", folder / "table"
        self.packages.mkdir()
        self.folder.mkdir()
        self.started: list[subprocess.Popen[str]] = []

    def install(self, name: str, entries: dict[str, str], **modules: str) -> None:
        """What pip leaves behind: modules, and a folder that names the entry points."""
        info = self.packages / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"[{GROUP}]", *(f"{point} = {target}" for point, target in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        for module, text in modules.items():
            (self.packages / f"{module}.py").write_text(text)

    def install_example(self) -> None:
        shutil.copytree(EXAMPLE / "feltd_acme", self.packages / "feltd_acme")
        self.install(PROJECT["name"], PROJECT["entry-points"][GROUP])

    def config(self, protocol: str = "acme", options: str = "") -> None:
        """The demonstration's table with another shoe."""
        before, shoe, after = CONFIG.partition("[devices.shoe]\n")
        replaced = after.replace('protocol = "fdp"', f'protocol = "{protocol}"\n{options}', 1)
        (self.folder / "feltd.toml").write_text(before + shoe + replaced)

    def feltd(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "daemon", *words],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{self.packages}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def ask(self, *words: str) -> tuple[int, str]:
        """Exit code, and what was said on both outputs."""
        process = self.feltd(*words)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out + err

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    try:
        yield site
    finally:
        site.end()


def until(true: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < give_up, f"waited in vain for {what}"
        time.sleep(0.05)


def test_a_configuration_may_name_it_once_it_is_installed(site: Site) -> None:
    site.config()
    code, said = site.ask("check", "feltd.toml")
    assert code == 78
    assert "devices.shoe.protocol: must be 'fdp'" in said
    site.install_example()
    assert site.ask("check", "feltd.toml") == (0, "1 checked: no error\n")


def test_its_options_are_checked_as_ours_are(site: Site) -> None:
    site.install_example()
    site.config(options="options = { silence_seconds = 5 }")
    assert site.ask("check", "feltd.toml")[0] == 0
    site.config(options='options = { silence_seconds = "5" }')
    assert "options.silence_seconds: must be of type int" in site.ask("check", "feltd.toml")[1]
    site.config(options="options = { loud = true }")
    assert "options.loud: unknown key (acme has: silence_seconds)" in site.ask("check", "feltd.toml")[1]


def test_simulator_daemon_and_driver_work_together(site: Site) -> None:
    site.install_example()
    site.config()
    site.feltd("sim", "shoe", "--protocol", "acme", "--pty", "shoe.tty", "--control", "shoe.control")
    shoe = ControlClient(site.folder / "shoe.control", PATIENCE)
    shoe.do("draw")
    site.feltd("run", "--config", "feltd.toml")
    with Client(site.folder / "feltd.sock") as client:

        def ready() -> bool:
            try:
                return bool(client.status()["devices"]["shoe"]["state"] == "ready")
            except NotRunning:
                return False

        until(ready, "the shoe")
        assert client.status()["devices"]["shoe"]["protocol"] == "acme"
        assert client.status()["devices"]["shoe"]["serial"] == "ACME0001"
    until(lambda: shoe.do("state")["unacknowledged"] == 0, "the journal to have the card")
    shoe.close()


def test_it_can_be_recorded_and_replayed(site: Site) -> None:
    site.install_example()
    site.feltd("sim", "shoe", "--protocol", "acme", "--pty", "shoe.tty", "--control", "shoe.control")
    shoe = ControlClient(site.folder / "shoe.control", PATIENCE)
    shoe.do("draw", card="QS")
    shoe.close()
    words = ("--link", "shoe.tty", "--role", "shoe", "--protocol", "acme", "--seconds", "2")
    assert site.ask("record", *words, "a.rec")[0] == 0
    code, said = site.ask("replay", "--faces", "--json", "a.rec")
    assert code == 0
    facts = json.loads(said)["replays"][0]["facts"]
    assert [fact["face"] for fact in facts if fact.get("emit") == "CardDrawn"] == ["QS"]


# --- packages that cannot be used -------------------------------------------------------------------

GOOD = (
    "from drivers.protocol import DeviceProtocol, Line\nPROTOCOL = DeviceProtocol({!r}, {!r}, Line(), None)\n"
)


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("raise RuntimeError('no licence')\n", "RuntimeError: no licence"),
        ("import no_such_library\n", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("def broken(:\n", "SyntaxError"),
        ("x = 1\n", "AttributeError"),
        ("PROTOCOL = 'acme'\n", "is no DeviceProtocol for shoe 'acme'"),
        (GOOD.format("shoe", "other"), "is no DeviceProtocol for shoe 'acme'"),
        (GOOD.format("sign", "acme"), "is no DeviceProtocol for shoe 'acme'"),
    ],
)
def test_a_broken_package_is_one_sentence_that_names_it(site: Site, module: str, why: str) -> None:
    site.install("feltd-broken", {"shoe.acme": "broken_acme:PROTOCOL"}, broken_acme=module)
    site.config()
    code, said = site.ask("check", "feltd.toml")
    assert code == 78
    assert len(said.splitlines()) == 1, said
    assert said.startswith("feltd.toml: devices.shoe.protocol: ")
    assert "feltd-broken" in said
    assert why in said


def test_who_does_not_use_a_broken_package_is_not_troubled_by_it(site: Site) -> None:
    site.install("feltd-broken", {"shoe.acme": "broken_acme:PROTOCOL"}, broken_acme="raise RuntimeError\n")
    site.config("fdp")
    assert site.ask("check", "feltd.toml")[0] == 0
    code, said = site.ask("sim", "shoe", "--protocol", "acme", "--pty", "x")
    assert (code, "feltd-broken" in said) == (2, True)


def test_a_name_of_ours_cannot_be_taken(site: Site) -> None:
    module = GOOD.format("shoe", "fdp")
    site.install("feltd-other", {"shoe.fdp": "other_fdp:PROTOCOL"}, other_fdp=module)
    site.config("fdp")
    code, said = site.ask("check", "feltd.toml")
    assert code == 78
    assert "shoe protocol 'fdp' is claimed by feltd, feltd-other: uninstall one" in said


def test_two_packages_of_one_name_are_both_refused(site: Site) -> None:
    site.install_example()
    site.install("feltd-acme-too", {"shoe.acme": "too:PROTOCOL"}, too=GOOD.format("shoe", "acme"))
    site.config()
    code, said = site.ask("check", "feltd.toml")
    assert code == 78
    assert "feltd-acme" in said
    assert "feltd-acme-too" in said
    assert "uninstall one" in said


# --- as pip installs it -----------------------------------------------------------------------------


@pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling, which builds the package, is missing")
@pytest.mark.skipif(find_spec("pip") is None, reason="pip is missing")
def test_pip_installs_it(site: Site, tmp_path: Path) -> None:
    source = shutil.copytree(EXAMPLE, tmp_path / "source", ignore=shutil.ignore_patterns("__pycache__"))
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", str(site.packages), str(source)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    site.config()
    assert site.ask("check", "feltd.toml") == (0, "1 checked: no error\n")
