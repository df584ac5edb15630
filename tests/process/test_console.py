"""``feltd console`` as a process, and ``feltd demo --console``: it serves, refuses, and ends."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 60  # seconds; the machine may be busy


def feltd(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "daemon", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_and_ends_in_order(tmp_path: Path, number: signal.Signals) -> None:
    console = feltd("console", "--socket", str(tmp_path / "none.sock"), "--listen", "127.0.0.1:0")
    try:
        assert console.stdout is not None
        url = console.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
        assert "<title>feltd</title>" in httpx.get(url).text
        away = httpx.get(url + "api/player")
        assert away.status_code == 502
        assert away.json()["detail"].endswith("none.sock: nobody answers")
    finally:
        console.send_signal(number)
        _, err = console.communicate(timeout=PATIENCE)
    assert (console.returncode, err) == (0, "")


def test_an_address_that_the_network_reaches_is_refused(tmp_path: Path) -> None:
    console = feltd("console", "--socket", str(tmp_path / "none.sock"), "--listen", "0.0.0.0:0")
    out, err = console.communicate(timeout=PATIENCE)
    assert (console.returncode, out) == (2, "")
    assert "--public" in err


def test_an_address_that_is_taken_is_said(tmp_path: Path) -> None:
    first = feltd("console", "--socket", str(tmp_path / "none.sock"), "--listen", "127.0.0.1:0")
    assert first.stdout is not None
    address = first.stdout.readline().strip().removeprefix("http://").rstrip("/")
    try:
        second = feltd("console", "--socket", str(tmp_path / "none.sock"), "--listen", address)
        _, err = second.communicate(timeout=PATIENCE)
        assert (second.returncode, err) == (1, f"feltd: {address}: Address already in use\n")
    finally:
        first.terminate()
        first.communicate(timeout=PATIENCE)


def test_a_demonstration_serves_its_page(tmp_path: Path) -> None:
    demo = feltd(
        "demo", "--rounds", "2", "--speed", "40", "--seed", "1", "--console", "--dir", str(tmp_path), "--json"
    )
    try:
        assert demo.stderr is not None
        line = next(line for line in demo.stderr if "console: http" in line)
        found = re.search(r"(http://\S+/) \(sign in: dealer, .*; PIN (\d+)\)", line)
        assert found is not None
        url, pin = found.groups()
        with httpx.Client(base_url=url, headers={"X-Feltd-Console": "1"}, timeout=PATIENCE) as page:
            session = page.post("/session", json={"name": "auditor", "pin": pin})
            assert session.json()["role"] == "auditor"
            assert page.get("/api/table").json()["status"]["table"] == "demo"
        out, _ = demo.communicate(timeout=PATIENCE)
        assert demo.returncode == 0
        assert '"verified": true' in out
    finally:
        if demo.poll() is None:
            demo.terminate()
            demo.communicate(timeout=PATIENCE)
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
