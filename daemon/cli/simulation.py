"""``feltd demo|simulate``: a table that plays by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from daemon.cli.answers import FAILED, Json, a_file, bad_config, fail, tell


def demo(
    game: Annotated[str, typer.Option(help="caribbean or five-card.")] = "caribbean",
    rounds: Annotated[int, typer.Option(help="How many rounds.")] = 25,
    speed: Annotated[float, typer.Option(help="Divides the pauses.")] = 1.0,
    seed: Annotated[int | None, typer.Option(help="The same seed plays the same evening.")] = None,
    irregularities: Annotated[
        bool, typer.Option("--irregularities", help="Each case of CS-11, or of FC-18 and FC-19, happens.")
    ] = False,
    console: Annotated[bool, typer.Option("--console", help="Serve the web page too.")] = False,
    directory: Annotated[Path | None, typer.Option("--dir", help="Keep everything here.")] = None,
    as_json: Json = False,
) -> None:
    """Watch a table play by itself on simulated devices."""
    from daemon.demo import DemoOptions, run_demo

    options = DemoOptions(
        game=game,
        rounds=rounds,
        speed=speed,
        seed=seed,
        irregularities=irregularities,
        console=console,
        directory=directory,
        as_json=as_json,
    )
    raise typer.Exit(run_demo(options))


def simulate(
    game: Annotated[str, typer.Option(help="caribbean or five-card.")] = "caribbean",
    rounds: Annotated[int, typer.Option(help="How many rounds.")] = 1000,
    boxes: Annotated[int, typer.Option(help="Boxes with a bet, or seats, 1 to 7.")] = 7,
    mode: Annotated[str, typer.Option(help="shoe or shuffler.")] = "shoe",
    strategy: Annotated[str, typer.Option(help="optimal, pair-plus, akj83, ak, blind.")] = "ak",
    seed: Annotated[int, typer.Option(help="The same seed gives the same journal.")] = 1,
    config: Annotated[Path | None, typer.Option(help="Take the rules from this file.")] = None,
    faults: Annotated[
        float, typer.Option(min=0, max=1, help="Faults of devices, disk, process in ten steps.")
    ] = 0.0,
    jobs: Annotated[int, typer.Option(min=0, help="Blocks of 1,000 rounds, so many at a time.")] = 0,
    journal: Annotated[
        Path | None, typer.Option(callback=a_file, help="Keep the journal in this new file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Play many rounds in memory: the same table, no devices, no waiting."""
    from daemon import show
    from daemon.config import ConfigError
    from daemon.simulate import SimulateOptions, SimulationError
    from daemon.simulate import run as play

    if journal is not None and not journal.parent.is_dir():
        fail(f"{journal}: there is no folder {journal.parent}: make it, or name another", as_json)
    with _progress(rounds, as_json) as progress:
        options = SimulateOptions(
            game=game,
            rounds=rounds,
            boxes=boxes,
            mode=mode,
            strategy=strategy,
            seed=seed,
            config=config,
            journal=journal,
            faults=faults,
            jobs=jobs,
            progress=progress,
        )
        try:
            result = play(options)
        except ConfigError as error:
            bad_config(error.problems, as_json)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        except FileExistsError:
            fail(f"{journal}: is there already, and is kept", as_json)
        except SimulationError as error:
            fail(str(error), as_json)
        except OSError as error:
            fail(f"{error.filename or journal}: {error.strerror or error}", as_json)
    tell(result, as_json, show.facts)
    violation = result.get("violation")
    if isinstance(violation, dict):
        print(f"seed {violation['seed']}, round {violation['round']}: {violation['what']}", file=sys.stderr)
        print(f"to play it again: {violation['replay']}", file=sys.stderr)
    raise typer.Exit(FAILED if result["invariant_violations"] else 0)


@contextmanager
def _progress(total: int, as_json: bool) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error for somebody who watches; it is moved a hundred times at most."""
    if as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task, step = bar.add_task("rounds", total=total), max(1, total // 100)

        def move(done: int) -> None:
            if done % step == 0:
                bar.update(task, completed=done)

        yield move
