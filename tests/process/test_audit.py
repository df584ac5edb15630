"""A journal as an auditor gets it: sound, altered in every way that we know, and not a journal at all."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from daemon import audit
from daemon.anchor import Anchor, Signer
from daemon.audit import export, verify, verify_open
from daemon.games.desk import Act
from daemon.journal import Entry, JournalError, MemoryJournal, create, header_bytes, link_hash, open_journal
from daemon.records import decode, encode, input_record, outcome_record
from daemon.sealer import Sealer, SealError, create_key, load_key
from daemon.table import FromDevice, LinkChanged, Outcome, Started
from drivers.base import FaultSet, Restarted
from drivers.cards import DECK
from tests.table.floor import Floor

VERIFIER = Path(__file__).parents[1] / "records" / "verify_export.py"
HEADER = header_bytes("T", "caribbean", "2026-01-01T00:00:00Z", ("shoe", "sign"))
HANDS = {1: "AS KS QS JS 9S", 3: "2H 3C 4D 5S 7H"}  # a flush, and nothing
DEALER = "AC KD 8H 6C 4S"


class Recorded(Floor):
    """The floor with a journal: each input is committed as the engine does it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path, self.key = folder / "journal.db", folder / "seal.key"
        create_key(self.key)
        create(self.path, HEADER)
        self.journal = open_journal(self.path, load_key(self.key))
        self.memory = MemoryJournal()

    def take(self, item: Any) -> Outcome:
        assert self.journal.begin()
        outcome = super().take(item)
        plain, faces = input_record(item)
        at = f"2026-01-01T00:00:00.{self.seq:06d}Z"
        record = outcome_record(at, plain, outcome, self.game.phase)
        entry = Entry(self.seq, record, faces, key=item.key if isinstance(item, Act) else "")
        if isinstance(item, FromDevice):
            epoch = self.table.rig.devices[item.device].epoch
            entry = Entry(self.seq, record, faces, item.device, epoch, item.ordinal)
        self.journal.append(entry)
        self.memory.append(entry)
        self.journal.commit()
        return outcome


def play(floor: Recorded) -> None:
    """A round with an award, a void one, one after a restart; refusals, a correction, a used key."""
    floor.take(Started("0", ("shoe", "sign"), signer=floor.journal.signer))
    for name in ("shoe", "SH-1", "sign"):
        floor.take(LinkChanged(name, True, "", "", "S1", "1.0", "", 1))
    floor.bets(1, 3, progressive=(1, 3))
    floor.act("ante", box=1, amount=10_000)  # refused: taken
    floor.play(HANDS, DEALER, folds=(3,))
    floor.bets(2, progressive=(2,))
    floor.draw("9C 9D")
    floor.do("misdeal", text="Überzählig: “two” \\ cards")
    floor.tell("SH-1", FaultSet(3, "jam"))
    floor.take(FromDevice("shoe", Restarted(), boot=2))
    floor.do("correct-pool", role="supervisor", second="manager", amount=-500, text="typed twice")
    floor.take(Act("close-table", key="k-1"))
    floor.do("open-table")
    floor.bets(2, 4)
    floor.play({2: "2S 3S 5H 7C 8D", 4: "KH KC 2D 3D 4C"}, "QD JC 9H 6D 3H")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """One played journal, closed, for all tests that copy it."""
    floor = Recorded(tmp_path_factory.mktemp("kept"))
    play(floor)
    floor.journal.close()
    return floor


@pytest.fixture
def copy(kept: Recorded, tmp_path: Path) -> Path:
    return Path(shutil.copy(kept.path, tmp_path / "copy.db"))


@pytest.fixture(scope="module")
def exported(kept: Recorded) -> bytes:
    out = io.BytesIO()
    assert export(kept.path, out) == kept.seq
    return out.getvalue()


@pytest.fixture(scope="module")
def verifier() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_export", VERIFIER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def alone(data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """The stand-alone verifier in a process that can import nothing of ours."""
    return subprocess.run([sys.executable, "-I", str(VERIFIER), *arguments], input=data, capture_output=True)


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


# --- a sound journal ---------------------------------------------------------------------


def test_a_sound_journal_is_verified_without_a_key(kept: Recorded) -> None:
    found = verify(kept.path)
    assert found["errors"] == []
    assert found["verified"]
    assert (found["inputs"], found["rounds"], found["pool"]) == (kept.seq, 3, kept.pool)
    assert [entry["outcome"] for entry in kept.closed] == ["settled", "void", "settled"]
    assert found["path"] == str(kept.path)


def test_a_journal_without_records_is_verified(tmp_path: Path) -> None:
    create(tmp_path / "new.db", HEADER)
    found = verify(tmp_path / "new.db")
    assert found["verified"]
    assert found["head"] == hashlib.sha256(HEADER).hexdigest()
    assert (found["inputs"], found["rounds"], found["pool"]) == (0, 0, 0)


def test_the_journal_of_a_table_at_work_is_verified(tmp_path: Path) -> None:
    floor = Recorded(tmp_path)
    play(floor)
    before = verify(floor.path)
    assert floor.journal.begin()
    floor.journal.append(Entry(floor.seq + 1, {"not": "committed"}))
    assert verify(floor.path) == before
    assert before["verified"]
    assert export(floor.path, io.BytesIO()) == floor.seq
    floor.journal.rollback()
    floor.do("shuffle")
    assert verify(floor.path)["inputs"] == before["inputs"] + 1
    floor.journal.close()


def test_the_second_opinion_agrees(kept: Recorded, exported: bytes, tmp_path: Path) -> None:
    done = alone(exported)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(b"\n") == 1
    found = verify(kept.path)
    for part in (f"{kept.seq} records", f"{found['rounds']} rounds", f"pool {kept.pool}", found["head"]):
        assert part.encode() in done.stdout
    (tmp_path / "export.jsonl").write_bytes(exported)
    assert alone(b"", str(tmp_path / "export.jsonl")).stdout == done.stdout


def test_the_canonical_export_is_what_a_simulation_hashes(kept: Recorded) -> None:
    out = io.BytesIO()
    assert export(kept.path, out, canonical=True, key=kept.key) == kept.seq
    assert hashlib.sha256(out.getvalue()).hexdigest() == kept.memory.sha256()
    assert b'"face":"AS"' in out.getvalue()


def test_a_canonical_export_needs_the_right_key(kept: Recorded, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="key"):
        export(kept.path, io.BytesIO(), canonical=True)
    create_key(tmp_path / "other.key")
    out = io.BytesIO()
    with pytest.raises(SealError, match=r"other\.key did not seal record .* newest copy of"):
        export(kept.path, out, canonical=True, key=tmp_path / "other.key")
    assert out.getvalue() == b""  # not half of it


def test_no_face_is_in_the_file_its_log_or_the_export(tmp_path: Path) -> None:
    """Before the showdown nothing on disk names a dealt card.

    Searched, in the raw bytes of the database, its WAL and the export: every card's text as it
    stands in the canonical export ("face":"AS"), as any JSON string, and as a word.
    """
    floor = Recorded(tmp_path)
    floor.bets(1, 3, progressive=(1,))
    floor.deal(HANDS, DEALER)
    out = io.BytesIO()
    export(floor.path, out)
    files = [*tmp_path.glob("journal.db*")]
    assert {file.name for file in files} >= {"journal.db", "journal.db-wal"}
    raw = out.getvalue() + b"".join(file.read_bytes() for file in files)
    assert b'"face":"sealed"' in raw
    for card in DECK:
        for form in (f'"face":"{card.text}"', f'"{card.text}"', f" {card.text} ", f"[{card.text}]"):
            assert form.encode() not in raw
    floor.journal.close()


# --- an altered export -------------------------------------------------------------------


def offsets(exported: bytes) -> list[int]:
    """A byte of every kind of field, of every line's frame, and some at random."""
    words = (
        b'"header"', b'"table"', b'"created"', b'"hash"', b'"record"', b'"sealed":"', b'"sealed":null',
        b'"seq"', b'"anchor":null', b'"anchor":"', b'"signer":"',
        b'"at"', b'"phase"', b'"kind"', b'"device"', b'"event"', b'"boot"', b'"ordinal"', b'"face"',
        b'"face_up"', b'"sure"', b'"name"', b'"args"', b'"amount"', b'"role"', b'"second"', b'"key"',
        b'"money":[["', b'"contribution"', b'"outbox"', b'"effects"', b'"round-closed"', b'"summary"',
        b'"clause"', b'"detail"', b'"refusal"', b'"reason"', b'"todo"', b'"message"', b'"version"',
        b'"simulated"', b'"ready"', b'"serial"', b'"command_id"', b'"meter"', b"\xc3\x9c",
    )  # fmt: skip
    places = []
    for word in words:
        at = exported.find(word)
        if word != b'"command_id"':  # only a shuffler is told numbered commands
            assert at >= 0, word
        places += [at + 1, at + len(word) - 1, at + len(word) + 1]
    ends = [at for at, byte in enumerate(exported) if byte == ord("\n")]
    rng = random.Random(7)
    return [*places, *ends[:3], ends[-1], 0, *rng.sample(range(len(exported)), 200)]


def test_one_altered_byte_in_an_export_is_found(exported: bytes, verifier: ModuleType) -> None:
    for at in offsets(exported):
        for flip in (0x01, 0x20):
            altered = bytearray(exported)
            altered[at] ^= flip
            with pytest.raises(verifier.Wrong):
                verifier.verify(io.BytesIO(bytes(altered)))


@pytest.mark.parametrize("word", [b'"amount":10000', b'"hash":"', b'"sealed":"', b'"phase":"'])
def test_the_process_names_the_first_wrong_record(exported: bytes, word: bytes) -> None:
    at = exported.find(word)
    altered = bytearray(exported)
    altered[at + len(word) - 1] ^= 0x01
    number = exported[:at].count(b"\n")
    done = alone(bytes(altered))
    assert done.returncode == 1
    assert done.stdout.startswith(f"NOT verified: record {number}: ".encode())


Lines = list[bytes]


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:5] + lines[6:],
        lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]],
        lambda lines: [*lines[:5], lines[4], *lines[5:]],
        lambda lines: lines[1:],
        lambda lines: [*lines[:-1], lines[-1][:-7]],
        lambda lines: [*lines, b"\n"],
        lambda lines: [],
    ],
    ids=["deleted", "swapped", "doubled", "no header", "cut off", "blank line", "empty"],
)
def test_an_export_with_lines_moved_is_not_verified(
    exported: bytes, verifier: ModuleType, change: Callable[[Lines], Lines]
) -> None:
    with pytest.raises(verifier.Wrong):
        verifier.verify(change(exported.splitlines(keepends=True)))


def rechained(
    lines: Lines, change: Callable[[int, dict[str, Any]], None], signer: Signer | None = None
) -> Lines:
    """A forger's export: records changed, all hashes computed anew, and signed if he has the key."""
    head = hashlib.sha256(encode(json.loads(lines[0])["header"])).digest()
    out = lines[:1]
    for raw in lines[1:]:
        line = json.loads(raw)
        change(line["seq"], line["record"])
        data = encode(line["record"])
        sealed = bytes.fromhex(line["sealed"] or "")
        head = hashlib.sha256(head + len(data).to_bytes(8, "big") + data + sealed).digest()
        if signer is not None and line["anchor"]:
            line["anchor"] = signer.sign("T", Anchor(line["seq"], head)).hex()
        out.append(encode(line | {"hash": head.hex()}) + b"\n")
    return out


def _change_money(place: int, value: object, reason: str) -> Callable[[int, dict[str, Any]], None]:
    def change(seq: int, record: dict[str, Any]) -> None:
        for move in record.get("money", ()):
            if move[3] == reason:
                move[place] = value

    return change


FORGED = [
    (_change_money(2, 999, "contribution"), "contributions are told otherwise|progressive"),
    (_change_money(2, 0, "ante"), "no amount"),
    (_change_money(2, -10_000, "ante"), "no amount"),
    (_change_money(2, 1.5, "ante"), "no amount"),
    (_change_money(1, "player.1", "contribution"), "progressive|contributions|pool"),
    (_change_money(3, "gift", "contribution"), "no reason"),
    (_change_money(2, 50_000_000_000, "award"), "falls to"),
]


@pytest.mark.parametrize(("change", "why"), FORGED)
def test_sums_are_checked_even_when_the_chain_holds(
    kept: Recorded,
    exported: bytes,
    verifier: ModuleType,
    change: Callable[[int, dict[str, Any]], None],
    why: str,
) -> None:
    lines, signer = exported.splitlines(keepends=True), load_key(kept.key).signer
    assert rechained(lines, lambda seq, record: None, signer) == lines
    with pytest.raises(verifier.Wrong, match=why):
        verifier.verify(rechained(lines, change, signer))


@pytest.mark.parametrize(("change", "why"), FORGED)
def test_verify_checks_the_same_sums(
    exported: bytes, change: Callable[[int, dict[str, Any]], None], why: str
) -> None:
    ledger = audit.Ledger()
    found: list[str] = []
    for line in rechained(exported.splitlines(keepends=True), change)[1:]:
        found += ledger.take(json.loads(line)["seq"], json.loads(line)["record"])
    assert found


# --- an altered file ---------------------------------------------------------------------


def flip(path: Path, table: str, column: str, where: str, at: int) -> None:
    """One bit of one stored value, written by SQLite itself: the file stays well formed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        value = connection.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchone()[0]
        altered: object
        if isinstance(value, int):
            altered = value ^ 1
        else:
            data = bytearray(value if isinstance(value, bytes) else value.encode())
            data[at % len(data)] ^= 0x01
            altered = bytes(data) if isinstance(value, bytes) else data.decode()
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (altered,))


A_CARD = "seq = (SELECT min(seq) FROM records WHERE length(sealed) > 0)"
LAST_CARD = "seq = (SELECT max(seq) FROM records WHERE length(sealed) > 0)"
A_KEY = "act_key IS NOT NULL"
MONEY = "seq = (SELECT max(seq) FROM money) AND line = 1"


@pytest.mark.parametrize("at", [0, 9, 40, -1])
@pytest.mark.parametrize(
    ("table", "column", "where"),
    [
        ("records", "record", A_CARD),
        ("records", "record", "seq = 1"),
        ("records", "sealed", A_CARD),
        ("records", "hash", "seq = 9"),
        ("records", "hash", "seq = (SELECT max(seq) FROM records)"),
        ("records", "device", A_CARD),
        ("records", "epoch", A_CARD),
        ("records", "ordinal", A_CARD),
        ("records", "act_key", A_KEY),
        ("money", "account", MONEY),
        ("money", "amount", MONEY),
        ("money", "reason", MONEY),
        ("outbox", "kind", "line = 0"),
        ("outbox", "box", "line = 0"),
        ("outbox", "amount", "line = 0"),
        ("rounds", "outcome", "id = 1"),
        ("rounds", "summary", "id = 2"),
        ("rounds", "id", "id = 1"),
        ("rounds", "seq", "id = 1"),
        ("meta", "value", "key = 'header'"),
        ("anchors", "signature", "seq = (SELECT max(seq) FROM anchors)"),
    ],
)
def test_one_altered_bit_in_the_file_is_found(
    copy: Path, table: str, column: str, where: str, at: int
) -> None:
    flip(copy, table, column, where, at)
    altered = copy.read_bytes()
    found = verify(copy)
    assert not found["verified"]
    assert copy.read_bytes() == altered


def test_an_altered_record_is_named_and_the_rest_is_still_checked(copy: Path) -> None:
    flip(copy, "records", "hash", "seq = 12", 5)
    assert [error.split(":")[0] for error in verify(copy)["errors"]] == ["record 12", "record 13"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM records WHERE seq = 10", "record 11: number 10 was expected"),
        ("DELETE FROM records WHERE seq = (SELECT max(seq) FROM money)", "rows of records that do not exist"),
        ("DELETE FROM records WHERE seq <= 3", "record 4: number 1 was expected"),
        ("DELETE FROM money WHERE line = 1", "'money' does not say"),
        ("INSERT INTO money VALUES (900, 0, 'house', 5, 'gift')", "'money' has 1 rows"),
        ("INSERT INTO outbox VALUES (2, 0, 'award', 1, 5)", "'outbox' does not say"),
        ("INSERT INTO rounds VALUES (9, 900, 'settled', x'7b7d')", "'rounds' has 1 rows"),
        ("UPDATE records SET record = 'text' WHERE seq = 8", "record 8: record, sealed face or hash is not"),
        ("UPDATE records SET record = x'5b5d' WHERE seq = 8", "record 8: not a record of this format"),
        ("UPDATE records SET record = x'7b7d' WHERE seq = 8", "record 8: not a record of this format"),
        ("UPDATE records SET record = x'ff' WHERE seq = 8", "record 8: not a record of this format"),
        ("UPDATE records SET sealed = x'00' WHERE seq = 8", "record 8: the sealed face"),
        ("UPDATE records SET ordinal = 'many' WHERE seq = 8", "record 8: device, epoch"),
        ("DELETE FROM meta", "no header"),
        ("UPDATE meta SET value = x'7b7d' WHERE key = 'header'", "header is not canonical"),
        ("DROP TABLE outbox", "no such table: outbox"),
        ("PRAGMA application_id = 7", "not a journal of feltd"),
        ("PRAGMA user_version = 3", "journal format 3"),
        ("PRAGMA user_version = 1", "its anchor is missing"),
        ("DELETE FROM anchors", "its anchor is missing"),
        ("INSERT INTO anchors VALUES (3, x'00')", "record 3: an anchor where none belongs"),
        ("INSERT INTO anchors VALUES (900, x'00')", "'anchors' has 1 rows"),
        ("UPDATE anchors SET signature = zeroblob(64)", "not signed by the journal's signer"),
        ("UPDATE meta SET value = 'ab' WHERE key = 'signer'", "the signer is not the one"),
        ("INSERT INTO meta VALUES ('snapshot', '7')", "'7' is not the newest snapshot"),
    ],
)
def test_what_was_done_to_the_file_is_said(copy: Path, statement: str, said: str) -> None:
    sql(copy, statement)
    found = verify(copy)
    assert any(said in error for error in found["errors"]), found["errors"]
    assert not found["verified"]


@pytest.mark.parametrize("elsewhere", ["NULL", "0"])
def test_a_forged_round_is_not_hidden_by_a_true_one_with_its_number(copy: Path, elsewhere: str) -> None:
    """The table was made anew without its key, the true account first under a record that there is not."""
    sql(
        copy,
        "ALTER TABLE rounds RENAME TO old",
        "CREATE TABLE rounds (id INTEGER, seq INTEGER, outcome TEXT, summary BLOB)",
        f"INSERT INTO rounds SELECT id, {elsewhere}, outcome, summary FROM old WHERE id = 1",
        "INSERT INTO rounds SELECT id, seq, 'FAKE', x'7b7d' FROM old WHERE id = 1",
        "INSERT INTO rounds SELECT * FROM old WHERE id > 1",
        "DROP TABLE old",
    )
    for check in (verify, verify_open):
        assert any("'rounds' does not say what the record says" in error for error in check(copy)["errors"])


def test_a_swapped_pair_is_found(copy: Path) -> None:
    pair = ("UPDATE records SET seq = 1000 WHERE seq = 8", "UPDATE records SET seq = 8 WHERE seq = 9")
    sql(copy, *pair, "UPDATE records SET seq = 9 WHERE seq = 1000")
    assert any("record 8: the hash" in error for error in verify(copy)["errors"])


def test_an_event_or_a_key_that_comes_twice_is_found(copy: Path) -> None:
    """By someone who forged the whole chain and took the indexes away."""
    sql(copy, "DROP INDEX one_event", "DROP INDEX one_act")
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        seq, head = connection.execute("SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1").fetchone()
        for where in (LAST_CARD, A_KEY):
            row = connection.execute(f"SELECT * FROM records WHERE {where}").fetchone()
            told = decode(row[5])
            record = encode({name: told[name] for name in ("at", "input", "phase")})
            seq, head = seq + 1, link_hash(head, record, row[6])
            values = (seq, *row[1:5], record, row[6], head)
            connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    errors = verify(copy)["errors"]
    assert ["act key twice" in errors[0], "event of a device twice" in errors[1]] == [True, True]
    assert len(errors) == 2


def test_many_errors_are_cut_short(copy: Path) -> None:
    sql(copy, "UPDATE records SET record = x'7b7d'")
    errors = verify(copy)["errors"]
    assert len(errors) == audit.MOST_ERRORS + 1
    assert errors[-1].startswith("and ")


# --- anchors -------------------------------------------------------------------------------


def rewrite_tail(path: Path, signer: Signer | None = None) -> None:
    """What a forger with the file and the program does: another record, and every hash after it anew."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        first = "SELECT max(seq) FROM records WHERE CAST(record AS TEXT) LIKE '%open-betting%'"
        place = connection.execute(first).fetchone()[0]
        [head] = connection.execute("SELECT hash FROM records WHERE seq = ?", (place - 1,)).fetchone()
        after = "SELECT seq, record, sealed FROM records WHERE seq >= ? ORDER BY seq"
        for seq, data, sealed in connection.execute(after, (place,)).fetchall():
            record = encode(decode(data) | ({"message": "never said"} if seq == place else {}))
            head = link_hash(head, record, sealed)
            connection.execute("UPDATE records SET record = ?, hash = ? WHERE seq = ?", (record, head, seq))
            if signer is not None:
                signed = (signer.sign("T", Anchor(seq, head)), seq)
                connection.execute("UPDATE anchors SET signature = ? WHERE seq = ?", signed)


def test_every_closed_round_is_anchored(kept: Recorded) -> None:
    with closing(sqlite3.connect(kept.path)) as connection:
        anchored = connection.execute("SELECT seq FROM anchors ORDER BY seq").fetchall()
        closed = connection.execute("SELECT seq FROM rounds ORDER BY seq").fetchall()
    assert anchored == closed
    assert len(closed) == 3
    found = verify(kept.path)
    assert found["signer"] == load_key(kept.key).signer.public
    assert Anchor.parse(found["anchor"]).seq == closed[-1][0]


def test_a_rewritten_tail_is_found(copy: Path, verifier: ModuleType) -> None:
    rewrite_tail(copy)
    errors = verify(copy)["errors"]
    assert [("not signed by the journal's signer" in error) for error in errors] == [True]
    out = io.BytesIO()
    export(copy, out)
    with pytest.raises(verifier.Wrong, match="not signed"):
        verifier.verify(out.getvalue().splitlines(keepends=True))


def test_a_tail_signed_with_another_key_is_found(copy: Path) -> None:
    rewrite_tail(copy, Signer(bytes(32)))
    assert "not signed by the journal's signer" in verify(copy)["errors"][0]


def test_what_the_key_s_holder_rewrites_is_found_by_a_kept_anchor(
    kept: Recorded, copy: Path, verifier: ModuleType
) -> None:
    anchor = Anchor.parse(verify(copy)["anchor"])
    assert verify(copy, (anchor,))["verified"]
    rewrite_tail(copy, load_key(kept.key).signer)
    assert verify(copy)["verified"]
    assert "written anew" in verify(copy, (anchor,))["errors"][0]
    out = io.BytesIO()
    export(copy, out)
    lines = out.getvalue().splitlines(keepends=True)
    assert verifier.verify(lines).seq == kept.seq
    with pytest.raises(verifier.Wrong, match="written anew"):
        verifier.verify(lines, [(anchor.seq, anchor.hash.hex())])


def test_anchor_0_is_the_header(copy: Path, exported: bytes) -> None:
    header = Anchor(0, hashlib.sha256(HEADER).digest())
    for anchor, holds in ((header, True), (Anchor(0, bytes(32)), False)):
        assert verify(copy, (anchor,))["verified"] == holds
        assert audit.verify_open(copy, (anchor,))["verified"] == holds
        assert (alone(exported, "--anchor", str(anchor)).returncode == 0) == holds
    assert "anchor 0 is the header's hash" in verify(copy, (Anchor(0, bytes(32)),))["errors"][0]


def test_two_anchors_of_one_record_are_both_compared(copy: Path) -> None:
    """Of the last record, too, which the file of the head names."""
    found = verify(copy)
    sound = Anchor(found["inputs"], bytes.fromhex(found["head"]))
    copy.with_name("copy.db.head").write_text(str(sound))
    for anchors in ((sound, Anchor(sound.seq, bytes(32))), (Anchor(sound.seq, bytes(32)), sound)):
        assert "written anew" in verify(copy, anchors)["errors"][0]
    assert verify(copy, (sound, sound))["verified"]


def test_a_tail_cut_off_is_found_by_a_kept_anchor(copy: Path, exported: bytes) -> None:
    found = verify(copy)
    anchor = Anchor(found["inputs"], bytes.fromhex(found["head"]))
    for table in ("records", "money", "outbox", "rounds", "anchors"):
        sql(copy, f"DELETE FROM {table} WHERE seq > 60")
    assert verify(copy)["verified"]
    [error] = verify(copy, (anchor,))["errors"]
    assert (
        f"ends with record 60, and record {anchor.seq} was there once: 61 to {anchor.seq} are missing"
        in error
    )
    short = b"".join(exported.splitlines(keepends=True)[:61])
    assert alone(short).returncode == 0
    done = alone(short, "--anchor", str(anchor))
    assert (done.returncode, b"was there once" in done.stdout) == (1, True)


def test_another_signer_in_the_middle_is_found(exported: bytes, verifier: ModuleType, tmp_path: Path) -> None:
    """A forger who names a signer of his own where he begins."""
    floor = Recorded(tmp_path)
    play(floor)
    floor.take(Started("0", ("shoe", "sign"), signer="ab" * 32))
    floor.journal.close()
    assert "another signer" in verify(floor.path)["errors"][0]
    out = io.BytesIO()
    export(floor.path, out)
    with pytest.raises(verifier.Wrong, match="another signer"):
        verifier.verify(out.getvalue().splitlines(keepends=True))


def test_a_key_that_is_not_the_signer_s_is_refused(copy: Path) -> None:
    before = copy.read_bytes()
    with pytest.raises(SealError, match="another's"):
        open_journal(copy, Sealer(bytes(32)))
    assert copy.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["", "5", "5:", ":" + "0" * 64, "5:" + "0" * 63, "-5:" + "0" * 64, "5:" + "G" * 64]
)
def test_an_anchor_has_one_form(text: str) -> None:
    with pytest.raises(ValueError, match="SEQ:HASH"):
        Anchor.parse(text)


# --- the head beside the file -----------------------------------------------------------------


def test_a_journal_without_its_log_is_refused(tmp_path: Path) -> None:
    """F02: a missing or truncated write-ahead log leaves a sound, shorter journal."""
    floor = Recorded(tmp_path)
    play(floor)
    for end in ("db", "db.head"):
        shutil.copy(tmp_path / f"journal.{end}", tmp_path / f"crashed.{end}")
    wal = (tmp_path / "journal.db-wal").read_bytes()
    crashed = tmp_path / "crashed.db"
    for log, whole in ((wal, True), (wal[: len(wal) // 2], False), (b"", False)):
        for left in tmp_path.glob("crashed.db-*"):
            left.unlink()
        (tmp_path / "crashed.db-wal").write_bytes(log)
        before = crashed.read_bytes()
        found = verify(crashed)
        assert found["verified"] == whole
        assert whole or f"{floor.seq} are missing" in found["errors"][0]
        assert crashed.read_bytes() == before
    with pytest.raises(JournalError, match=f"to {floor.seq} are missing"):
        open_journal(crashed, load_key(floor.key))
    floor.journal.close()


@pytest.mark.parametrize("line", [b"", b"\0" * 84, b"half a li", b"5:" + b"0" * 40])
def test_a_head_that_cannot_be_read_proves_nothing(copy: Path, line: bytes) -> None:
    """F15: after a power cut it may be anything."""
    copy.with_name("copy.db.head").write_bytes(line)
    assert verify(copy)["verified"]


def test_another_journal_s_head_is_found(copy: Path) -> None:
    copy.with_name("copy.db.head").write_text(str(Anchor(9, bytes(32))))
    assert "record 9: the hash is not the one that was kept" in verify(copy)["errors"][0]


# --- files that are no sound SQLite journal ------------------------------------------------


def _foreign(path: Path) -> None:
    path.unlink()
    sql(
        path,
        "CREATE TABLE records (seq INTEGER PRIMARY KEY, record BLOB)",
        "INSERT INTO records VALUES (1, x'00')",
    )


BAD_FILES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "cut in a page": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "header only": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("this is no journal\n" * 500),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "foreign": _foreign,
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_is_no_journal_is_reported_and_kept(copy: Path, kind: str) -> None:
    BAD_FILES[kind](copy)
    before = copy.read_bytes()
    found = verify(copy)
    assert not found["verified"]
    assert found["errors"]
    assert found["path"] == str(copy)
    with pytest.raises(JournalError):
        export(copy, io.BytesIO())
    assert copy.read_bytes() == before


def test_damaged_pages_are_reported(copy: Path) -> None:
    """Bytes of the file itself, wherever they are: verify says something or the file reads the same."""
    sound = copy.read_bytes()
    healthy = verify(copy)
    rng = random.Random(11)
    unseen = 0
    for at in rng.sample(range(100, len(sound)), 60):
        altered = bytearray(sound)
        altered[at] ^= 0x10
        copy.write_bytes(bytes(altered))
        found = verify(copy)
        if found["verified"]:  # a byte that nothing reads: unused space in a page
            assert found == healthy
            unseen += 1
    assert unseen < 40


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.db", "there is no such file"),
        ("folder", "is a folder"),
        ("pipe", "is no regular file, but a device, a pipe or a socket"),
        ("/dev/null", "is no regular file, but a device, a pipe or a socket"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_without_a_journal_is_reported(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert verify(tmp_path / name)["errors"] == [f"{tmp_path / name}: {said}: name the journal file"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]
