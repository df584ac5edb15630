"""The staff file, PINs and sessions, on a clock that stands until it is moved."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from daemon import sessions as module
from daemon.clock import FakeClock
from daemon.sessions import (
    ATTEMPTS,
    IDLE,
    LOCKED_OUT,
    LONGEST,
    MOST_EACH,
    MOST_WAITING,
    Busy,
    LockedOut,
    NoSession,
    SessionLocked,
    Sessions,
    StaffError,
    StaffFile,
    WrongPin,
    person,
)

PIN = "271828"
WRONG = "314159"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that take no time: nothing here is about how long they take."""
    monkeypatch.setattr(module, "COST", (2, 1, 1))


@pytest.fixture
def file(tmp_path: Path) -> StaffFile:
    staff = StaffFile(tmp_path / "staff.json")
    assert staff.add(person("ana", "dealer", PIN))
    assert staff.add(person("bo", "supervisor", PIN))
    return staff


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def at_a_terminal(file: StaffFile, clock: FakeClock, story: Callable[[Sessions], Awaitable[None]]) -> None:
    async def play() -> None:
        await story(Sessions(file, clock.monotonic))

    asyncio.run(play())


# --- the file --------------------------------------------------------------------------------


def test_the_file_is_for_its_owner_and_has_no_pin(file: StaffFile) -> None:
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert PIN not in file.path.read_text()
    people = json.loads(file.path.read_text())["staff"]
    assert people[0]["salt"] != people[1]["salt"]
    assert people[0]["scrypt"] != people[1]["scrypt"]  # the same PIN
    assert [path.name for path in file.path.parent.iterdir()] == ["staff.json"]


def test_the_published_cost_is_not_a_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    n, r, _ = module.COST
    assert 128 * n * r >= 16 * 2**20  # bytes of memory for each guess


def test_a_replaced_and_a_removed_person(file: StaffFile) -> None:
    assert not file.add(person("ana", "technician", WRONG))
    assert file.people()["ana"].role == "technician"
    assert file.people()["ana"].proves(WRONG)
    assert not file.people()["ana"].proves(PIN)
    assert file.remove("ana")
    assert not file.remove("ana")
    assert list(file.people()) == ["bo"]


@pytest.mark.parametrize(
    ("name", "role", "pin"),
    [
        ("", "dealer", PIN),
        ("a b", "dealer", PIN),
        ("x" * 33, "dealer", PIN),
        ("ana", "console", PIN),
        ("ana", "", PIN),
        ("ana", "dealer", "12345"),
        ("ana", "dealer", "1" * 129),
        ("ana", "dealer", "1234567\n"),
    ],
)
def test_who_cannot_be_added(name: str, role: str, pin: str) -> None:
    with pytest.raises(ValueError, match=r"^(a name has|roles are|a PIN has)") as told:
        person(name, role, pin)
    assert pin not in str(told.value)


def _others_may_read(path: Path) -> None:
    path.chmod(0o640)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_others_may_read, "others may read it"),
        (lambda path: path.unlink(), "No such file"),
        (lambda path: path.write_text("{"), "not as feltd staff writes it"),
        (lambda path: path.write_text('{"staff": [{"name": "ana"}]}'), r"staff\.0\.role"),
        (lambda path: path.write_text(path.read_text().replace("dealer", "console")), r"staff\.0\.role"),
        (lambda path: path.write_bytes(b" " * (2**20 + 1)), "longer than"),
    ],
)
def test_a_file_that_cannot_be_used_lets_nobody_in(
    spoil: Callable[[Path], object], told: str, file: StaffFile
) -> None:
    digest = file.people()["ana"].digest.hex()
    spoil(file.path)
    with pytest.raises(StaffError, match=told) as error:
        file.people()
    assert digest not in str(error.value)


def test_nothing_of_a_person_is_printed(file: StaffFile) -> None:
    ana = file.people()["ana"]
    assert repr(ana.digest) not in repr(ana)
    assert repr(ana.salt) not in repr(ana)


# --- PINs ------------------------------------------------------------------------------------


def test_a_wrong_pin_and_an_unknown_name_are_the_same(file: StaffFile, clock: FakeClock) -> None:
    looked_at: list[str] = []

    async def story(sessions: Sessions) -> None:
        for name in ("ana", "nobody"):
            with pytest.raises(WrongPin) as told:
                await sessions.begin(name, WRONG)
            looked_at.append(str(told.value))
        assert looked_at == ["", ""]

    at_a_terminal(file, clock, story)


def test_an_unknown_name_costs_as_much_as_a_known_one(
    file: StaffFile, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    digest = module._digest

    def counted(pin: str, salt: bytes) -> bytes:
        hashed.append(pin)
        return digest(pin, salt)

    monkeypatch.setattr(module, "_digest", counted)

    async def story(sessions: Sessions) -> None:
        for name in ("ana", "nobody"):
            with pytest.raises(WrongPin):
                await sessions.begin(name, WRONG)
        assert hashed == [WRONG, WRONG]

    at_a_terminal(file, clock, story)


def test_five_wrong_pins_lock_a_name_for_five_minutes(file: StaffFile, clock: FakeClock) -> None:
    async def story(sessions: Sessions) -> None:
        for _ in range(ATTEMPTS):
            with pytest.raises(WrongPin):
                await sessions.begin("ana", WRONG)
        with pytest.raises(LockedOut) as told:
            await sessions.begin("ana", PIN)
        assert told.value.seconds == 300
        await sessions.begin("bo", PIN)
        clock.now += LOCKED_OUT - 1
        with pytest.raises(LockedOut):
            await sessions.begin("ana", PIN)
        clock.now += 1
        await sessions.begin("ana", PIN)

    at_a_terminal(file, clock, story)


def test_a_lock_is_told_once_and_of_known_names_only(file: StaffFile, clock: FakeClock) -> None:
    async def story(sessions: Sessions) -> None:
        locked: list[str] = []
        sessions.proof.locked_out = locked.append
        for name in ("ana", "nobody"):
            for _ in range(ATTEMPTS - 1):
                with pytest.raises(WrongPin):
                    await sessions.begin(name, WRONG)
        assert locked == []
        for name in ("ana", "nobody"):
            with pytest.raises(WrongPin):
                await sessions.begin(name, WRONG)
        with pytest.raises(LockedOut):
            await sessions.begin("ana", WRONG)
        assert locked == ["ana"]

    at_a_terminal(file, clock, story)


def test_the_right_pin_forgives_the_wrong_ones_before_it(file: StaffFile, clock: FakeClock) -> None:
    async def story(sessions: Sessions) -> None:
        for _ in range(3):
            for _ in range(ATTEMPTS - 1):
                with pytest.raises(WrongPin):
                    await sessions.begin("ana", WRONG)
            await sessions.begin("ana", PIN)

    at_a_terminal(file, clock, story)


def test_guesses_at_once_are_not_more_than_guesses_one_by_one(file: StaffFile, clock: FakeClock) -> None:
    async def story(sessions: Sessions) -> None:
        tries = [sessions.begin("ana", WRONG) for _ in range(20)]
        told = await asyncio.gather(*tries, return_exceptions=True)
        kinds = [type(each) for each in told]
        assert kinds.count(WrongPin) == ATTEMPTS
        assert kinds.count(LockedOut) == MOST_WAITING - ATTEMPTS
        assert kinds.count(Busy) == 20 - MOST_WAITING

    at_a_terminal(file, clock, story)


# --- sessions --------------------------------------------------------------------------------


def test_a_session_is_found_by_its_token_only(file: StaffFile, clock: FakeClock) -> None:
    async def story(sessions: Sessions) -> None:
        token, session = await sessions.begin("ana", PIN)
        assert sessions.open(token) is session
        assert len(token) >= 32
        for other in ("", token[:-1], token + "A", "é"):
            with pytest.raises(NoSession):
                sessions.open(other)
        sessions.end(token)
        with pytest.raises(NoSession):
            sessions.open(token)

    at_a_terminal(file, clock, story)


def test_a_terminal_left_alone_locks_and_its_pin_unlocks_it(file: StaffFile, clock: FakeClock) -> None:
    async def story(sessions: Sessions) -> None:
        token, session = await sessions.begin("ana", PIN)
        clock.now += IDLE - 1
        assert not sessions.open(token).locked
        sessions.use(session)
        clock.now += IDLE - 1
        sessions.open(token)  # a look is no use
        clock.now += 1
        with pytest.raises(SessionLocked):
            sessions.open(token)
        assert sessions.find(token).locked
        sessions.use(session)  # use does not unlock
        with pytest.raises(SessionLocked):
            sessions.open(token)
        with pytest.raises(WrongPin):
            await sessions.unlock(session, WRONG)
        await sessions.unlock(session, PIN)
        assert sessions.open(token) is session

    at_a_terminal(file, clock, story)


def test_a_session_ends_after_twelve_hours_however_it_is_used(file: StaffFile, clock: FakeClock) -> None:
    async def story(sessions: Sessions) -> None:
        token, session = await sessions.begin("ana", PIN)
        while clock.now + IDLE // 2 < LONGEST:
            clock.now += IDLE // 2
            sessions.use(sessions.open(token))
        assert sessions.left(session) > 0
        clock.now = LONGEST
        with pytest.raises(NoSession):
            sessions.find(token)

    at_a_terminal(file, clock, story)


@pytest.mark.parametrize(
    "change",
    [
        lambda staff: staff.remove("ana"),
        lambda staff: staff.add(person("ana", "supervisor", PIN)),
        lambda staff: staff.add(person("ana", "dealer", WRONG)),
    ],
    ids=["removed", "another role", "another PIN"],
)
def test_a_changed_entry_ends_the_sessions_of_the_former(
    change: Callable[[StaffFile], object], file: StaffFile, clock: FakeClock
) -> None:
    async def story(sessions: Sessions) -> None:
        mine, _ = await sessions.begin("ana", PIN)
        other, _ = await sessions.begin("bo", PIN)
        change(StaffFile(file.path))
        with pytest.raises(NoSession):
            sessions.open(mine)
        sessions.open(other)

    at_a_terminal(file, clock, story)


def test_a_fifth_session_of_one_person_ends_the_first(file: StaffFile, clock: FakeClock) -> None:
    async def story(sessions: Sessions) -> None:
        other, _ = await sessions.begin("bo", PIN)
        tokens = [(await sessions.begin("ana", PIN))[0] for _ in range(MOST_EACH + 1)]
        with pytest.raises(NoSession):
            sessions.open(tokens[0])
        for token in (*tokens[1:], other):
            sessions.open(token)

    at_a_terminal(file, clock, story)
