"""What the floor sees of a pool: the command, its export, and the page."""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from subprocess import PIPE
from typing import Any, Final

import httpx
import pytest
from typer.testing import CliRunner

from daemon.cli import app
from daemon.games.hands import Category
from daemon.house import House as Rules
from daemon.linked.authority import Authority
from daemon.linked.floor import books, view
from daemon.linked.floor_page import Floor, create_app
from tests.linked.house import House

ROOT: Final = Path(__file__).parents[2]
DAY = timedelta(days=1)
WIDE = {"COLUMNS": "250"}


@pytest.fixture
def played(house: House) -> Iterator[House]:
    """Three tables: one played and won, one played and its link says so, one was never heard of."""
    one, other = house.table("1"), house.table("2")
    one.contribute(710, 710, reserve=50)
    other.contribute(355)
    one.claim(box2=Category.FLUSH)
    other.authority.report(3, 1)
    house.enrol("3")
    house.server.sql("CREATE ROLE pit LOGIN IN ROLE feltd_floor PASSWORD 'pit'")
    try:
        yield house
    finally:
        house.server.sql("DROP ROLE pit")


def dsn(house: House) -> str:
    return house.server.dsn("pit", password="pit")


def status(house: House, *words: str) -> tuple[int, dict[str, Any]]:
    found = CliRunner().invoke(
        app, ["link", "status", "--dsn", dsn(house), "--pool", house.pool, "--json", *words]
    )
    return found.exit_code, json.loads(found.stdout)


def test_every_table_and_the_days_books(played: House) -> None:
    code, told = status(played)
    assert (code, told["reconciled"], told["differences"]) == (0, True, [])
    assert told["now"] == played.balance
    one, other, third = told["tables"]
    assert (one["link"], one["contributions"], one["contributed"], one["awards"]) == ("never", 2, 1_520, 1)
    assert (other["link"], other["outbox"], other["pending"]) == ("linked", 3, 1)
    assert other["age"] < 60
    assert (third["link"], third["contributions"], third["seen"]) == ("never", 0, None)
    day = told["day"]
    moved = sum(kind["pool"] for kinds in day["tables"].values() for kind in kinds.values())
    assert day["opening"]["pool"] + moved == day["closing"]["pool"] == told["now"]
    assert day["sum"]["reserve"] == day["closing"]["reserve"] - day["opening"]["reserve"] == 100
    assert sum(day["sum"].values()) == 0


def test_a_link_that_says_nothing_any_more_is_stale(played: House) -> None:
    played.server.sql("UPDATE linked.presence SET at = at - interval '1 hour'")
    _, told = status(played)
    assert [row["link"] for row in told["tables"]] == ["never", "stale", "never"]


def test_another_day_has_its_own_books(played: House) -> None:
    today = date.fromisoformat(status(played)[1]["day"]["day"])
    code, told = status(played, "--day", str(today - DAY))
    assert (code, told["day"]["tables"], told["day"]["closing"]["pool"]) == (0, {}, 0)
    code, told = status(played, "--day", str(today + DAY))
    assert (code, told["day"]["tables"], told["day"]["closing"]["pool"]) == (0, {}, played.balance)


def test_books_that_do_not_add_up_are_exit_1_and_say_where(played: House) -> None:
    played.server.sql("UPDATE linked.tables SET pool = pool + 1, house = house - 1 WHERE awards > 0")
    code, told = status(played)
    assert (code, told["reconciled"]) == (1, False)
    assert any(f"table {played.name('1')}: pool" in each for each in told["differences"])
    found = CliRunner().invoke(app, ["link", "status", "--dsn", dsn(played), "--pool", played.pool], env=WIDE)
    assert found.exit_code == 1
    assert "in the sums" in found.stdout


def test_people_read_it_and_take_it_away(played: House, tmp_path: Path) -> None:
    words = ["link", "status", "--dsn", dsn(played), "--pool", played.pool]
    found = CliRunner().invoke(app, [*words, "--export", str(tmp_path / "day.csv")], env=WIDE)
    assert found.exit_code == 0
    assert "to the unit" in found.stdout
    assert played.name("2") in found.stdout
    row = next(each for each in found.stdout.splitlines() if played.name("1") in each).split("│")
    assert [each.strip() for each in row[-5:-1]] == ["2", "15.20", "1", "500.00"]
    with (tmp_path / "day.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[-1]["kind"] == "sum"
    for account in ("stakes", "pool", "players"):
        assert sum(int(row[account]) for row in rows[:-1]) == int(rows[-1][account])


def test_wrong_words() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["link", "status", "--pool", "x", "--day", "yesterday"]).exit_code == 2
    assert runner.invoke(app, ["link", "status"]).exit_code == 2
    assert runner.invoke(app, ["link", "floor", "--pool", "x", "--listen", "0.0.0.0:0"]).exit_code == 1
    assert runner.invoke(app, ["link", "floor", "--pool", "x", "--listen", "8081"]).exit_code == 2
    assert runner.invoke(app, ["link", "run", "--config", "config/demo.toml"]).exit_code == 78


def test_nobody_there_is_one_sentence() -> None:
    words = ["link", "status", "--pool", "x", "--dsn", "host=127.0.0.1 port=1", "--json"]
    found = CliRunner().invoke(app, words)
    assert (found.exit_code, "error" in json.loads(found.stdout)) == (1, True)


def test_the_floor_may_read_and_nothing_else(played: House) -> None:
    with Authority.connect(dsn(played), played.pool) as authority:
        assert view(authority, played.pool, Rules())["reconciled"]
        for attempt in (
            lambda: authority.report(0, 0),
            lambda: authority.join(played.name("1"), "$", ""),
        ):
            with pytest.raises(Exception, match="permission denied"):
                attempt()


# --- the page ---------------------------------------------------------------------------------------


def asked(house: House, *paths: str, host: str = "floor:1", dead: bool = False) -> list[httpx.Response]:
    async def ask() -> list[httpx.Response]:
        where = dsn(house).replace(f"port={house.server.port}", "port=1") if dead else dsn(house)
        floor = Floor(lambda: Authority.connect(where, house.pool), house.pool, Rules())
        served = httpx.ASGITransport(create_app(floor, frozenset(("floor:1",))))
        async with httpx.AsyncClient(transport=served, base_url=f"http://{host}") as client:
            return [await client.get(path) for path in paths]

    return asyncio.run(ask())


def test_the_page_and_what_it_asks_for(played: House) -> None:
    page, script, style, told, export = asked(
        played, "/", "/floor.js", "/floor.css", "/floor.json", "/floor.csv"
    )
    assert [each.status_code for each in (page, script, style, told, export)] == [200] * 5
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert script.headers["content-type"].startswith("text/javascript")
    assert told.json()["tables"][1]["outbox"] == 3
    assert told.json()["day"] == books(played.floor, Rules())["day"]
    assert f"{played.pool}-" in export.headers["content-disposition"]
    for name in ("tables", "movements", "now", "live", "reconciled", "differences", "pool", "day"):
        assert f'id="{name}"' in page.text
        assert f'"{name}"' in script.text or f"#{name}" in script.text


def test_another_name_is_not_answered(played: House) -> None:
    assert asked(played, "/", "/floor.json", host="evil:1")[1].status_code == 403


def test_an_authority_that_does_not_answer_is_said(played: House) -> None:
    (answer,) = asked(played, "/floor.json", dead=True)
    assert answer.status_code == 502
    assert answer.json()["title"] == "The authority does not answer"


def test_the_command_serves_it_until_it_is_told_to_end(played: House) -> None:
    words = ("link", "floor", "--dsn", dsn(played), "--pool", played.pool, "--listen", "127.0.0.1:0")
    process = subprocess.Popen([sys.executable, "-m", "daemon", *words], cwd=ROOT, stderr=PIPE, text=True)
    try:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        told = httpx.get(f"{url}floor.json", timeout=20).json()
        assert (told["pool"], told["now"]) == (played.pool, played.balance)
        assert httpx.get(f"{url}floor.json", headers={"Host": "elsewhere"}, timeout=20).status_code == 403
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


def test_the_command_does_not_listen_to_the_network_by_itself(played: House) -> None:
    words = ("link", "floor", "--dsn", dsn(played), "--pool", played.pool, "--listen", "0.0.0.0:0")
    found = CliRunner().invoke(app, words)
    assert (found.exit_code, "--public" in found.stderr) == (1, True)
