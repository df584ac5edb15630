"""The Debian package in a fresh root: installed, upgraded with a journal in place, removed and purged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.packaging.root import Root
from tools.deb import build, source_epoch

pytestmark = [pytest.mark.deb, pytest.mark.timeout(1800)]

CONFIG = Path(__file__).parents[2] / "config"
CODE = "/opt/feltd/lib/python3.11/site-packages/daemon"
# What dpkg and the tools that it calls keep for themselves.
BOOKKEEPING = (
    "/var/lib/dpkg",
    "/var/log",
    "/var/cache",
    "/etc/passwd-",
    "/etc/group-",
    "/etc/shadow-",
    "/etc/gshadow-",
)
# Plays a round's beginning and ends in order: a table with nothing plugged in.
SERVE = """
cd /var/lib/feltd && timeout --signal=TERM --preserve-status 60 feltd run --config /etc/feltd/feltd.toml &
for _ in $(seq 500); do
    feltd status --socket /var/lib/feltd/feltd.sock --json 2>/dev/null && break
    sleep 0.1
done
kill -TERM $(cat /var/lib/feltd/journal.db.lock)
wait $!
"""


def by_hand() -> str:
    """The sample of five-card stud, dealt by hand: nothing has to be plugged in."""
    table, _, rest = (CONFIG / "five-card.toml").read_text().partition("[devices.")
    assert rest
    return table.replace('mode = "shoe"', 'mode = "hand"').replace("/run/feltd/", "/var/lib/feltd/")


def install(root: Root, package: Path) -> str:
    return root.run("dpkg", "--install", root.put(package))


def serve(root: Root) -> dict[str, object]:
    """Run the service as its user until it has answered once. The answer."""
    *_, answer = root.run("sh", "-c", SERVE, user="feltd").splitlines()  # before it, that nobody answers yet
    found: dict[str, object] = json.loads(answer)
    return found


def test_installed(root: Root, package: Path) -> None:
    said = install(root, package)
    assert "copy a configuration from /usr/share/feltd" in said
    root.run("test", "-x", "/usr/bin/feltd")
    for place in (
        "/usr/lib/systemd/system/feltd.service",
        "/usr/lib/udev/rules.d/60-feltd.rules",
        "/usr/share/man/man1/feltd.1.gz",
        "/usr/share/man/man5/feltd.toml.5.gz",
        "/usr/share/doc/feltd/install.md",
        "/etc/systemd/system/multi-user.target.wants/feltd.service",
    ):
        root.run("test", "-e", place)
    assert root.run("stat", "-c", "%U:%G %a", "/var/lib/feltd", "/etc/feltd").split("\n")[:2] == [
        "feltd:feltd 700",
        "root:feltd 750",
    ]
    assert root.run("dpkg", "--verify", "feltd") == ""
    samples = [f"/usr/share/feltd/{path.name}" for path in sorted(CONFIG.glob("*.toml"))]
    assert "no error" in root.run("feltd", "check", *samples)

    words = ("feltd", "demo", "--rounds", "5", "--speed", "10", "--dir", "/var/lib/feltd/demo", "--json")
    demo = json.loads(root.run(*words, user="feltd"))
    assert (demo["rounds"], demo["journal"]["verified"]) == (5, True)
    found = json.loads(root.run("feltd", "verify-install", "--json", user="feltd"))
    assert (found["ok"], found["differences"]) == (
        True,
        [],
    )  # also after all that ran: no bytecode was written
    root.run("sha256sum", "--check", "--quiet", found["manifest"])


def test_a_changed_file_is_named(root: Root, package: Path) -> None:
    install(root, package)
    root.run("sh", "-c", f"echo '# mine' >>{CODE}/app.py && touch {CODE}/mine.py && rm {CODE}/show.py")
    # The tools of the inspector see the same.
    assert root.tried("sha256sum", "--check", "--quiet", "/opt/feltd/share/feltd/manifest.sha256").returncode
    root.run(
        "mv",
        "/opt/feltd/lib/python3.11/site-packages/daemon/__pycache__/show.cpython-311.pyc",
        f"{CODE}/show.pyc",
    )
    done = root.tried("feltd", "verify-install", "--json")
    assert done.returncode == 1
    assert sorted(json.loads(done.stdout)["differences"]) == [
        f"{CODE}/__pycache__/show.cpython-311.pyc: missing",
        f"{CODE}/app.py: changed",
        f"{CODE}/mine.py: not of the package",
        f"{CODE}/show.py: missing",
        f"{CODE}/show.pyc: not of the package",
    ]


def test_upgraded_with_its_journal(root: Root, package: Path, previous: Path) -> None:
    install(root, previous)
    root.write("/etc/feltd/feltd.toml", by_hand())
    root.run("systemd-tmpfiles", "--create", "feltd.conf")
    began = serve(root)
    before = json.loads(root.run("feltd", "journal", "verify", "/var/lib/feltd/journal.db", "--json"))
    key = root.run("sha256sum", "/var/lib/feltd/journal.key")

    install(root, package)
    assert root.tried("test", "-e", f"{CODE}/forgotten.py").returncode
    assert root.run("cat", "/etc/feltd/feltd.toml") == by_hand()
    assert root.run("sha256sum", "/var/lib/feltd/journal.key") == key
    went_on = serve(root)
    assert (went_on["table"], went_on["faults"]) == (began["table"], [])
    after = json.loads(root.run("feltd", "journal", "verify", "/var/lib/feltd/journal.db", "--json"))
    assert (before["verified"], after["verified"]) == (True, True)
    assert after["inputs"] > before["inputs"]
    told = root.run("feltd", "journal", "export", "/var/lib/feltd/journal.db")
    assert "of the package" in told  # the forgotten module, by the previous version's own look at itself
    assert "files as installed" in told


def test_removed_and_purged(root: Root, package: Path) -> None:
    install(root, package)
    root.write("/etc/feltd/feltd.toml", by_hand())
    root.run("systemd-tmpfiles", "--create", "feltd.conf")
    serve(root)

    root.run("dpkg", "--remove", "feltd")
    left = set(root.changed(BOOKKEEPING))
    assert {"/etc/feltd/feltd.toml", "/var/lib/feltd/journal.db", "/var/lib/feltd/journal.key"} <= left
    assert not any(name.startswith(("/opt", "/usr")) for name in left)

    said = root.tried("dpkg", "--purge", "feltd")
    assert said.returncode == 0
    assert "/var/lib/feltd is kept, with the journal and its key" in said.stderr
    assert "the users feltd, feltd-console and feltd-link and the group feltd are kept" in said.stderr
    assert list(root.changed((*BOOKKEEPING, "/var/lib/feltd"))) == []


def test_purge_without_books_leaves_nothing(root: Root, package: Path) -> None:
    install(root, package)
    root.run("dpkg", "--purge", "feltd")
    assert list(root.changed(BOOKKEEPING)) == []


def test_twice_the_same_bytes(package: Path, tmp_path: Path) -> None:
    again = build("0.1.0-1", tmp_path, source_epoch())
    digests = [hashlib.sha256(each.read_bytes()).hexdigest() for each in (package, again)]
    assert digests[0] == digests[1]
