"""``make kill-sweep`` and ``make lost-sync``: the whole sweeps, and their figures (docs/durability.md)."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

from tests.durability import recorder
from tests.durability.power import cut
from tests.durability.scripts import SCRIPTS, Script
from tests.durability.sweep import (
    Bench,
    Orders,
    Result,
    double_kills,
    every_failure,
    every_kill,
    first_start,
    many_kills,
    spread_out,
    workshop,
)
from tests.durability.world import Nursery, nursery

DEATHS: Final = 8  # of the round, each followed by the sweep over its recovery
ROUNDS_OF_MANY_KILLS: Final = 40
SHOWN: Final = 20  # violations


def _progress(text: str) -> None:
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"{text:<100}", end=end, file=sys.stderr, flush=True)


def _counting(what: str, total: int) -> Callable[[int], None]:
    def progress(done: int) -> None:
        if done == total or done % 100 == 0:
            _progress(f"{what}: {done} of {total}")

    return progress


class Figures:
    """What was tried, and what was wrong."""

    def __init__(self) -> None:
        self.violations = 0

    def tell(self, what: str, runs: int, violations: dict[str, list[str]], seconds: float) -> None:
        print(f"{what}: {runs} runs, {len(violations)} with violations, {seconds:.0f} s", flush=True)
        for order, found in list(violations.items())[:SHOWN]:
            print(f"    {order}: {found[0]}")
        self.violations += len(violations)


def _points_of(bench: Bench) -> str:
    kinds = Counter(point.op.name.lower() for point in bench.undisturbed.points)
    return f"{kinds.total()} points ({', '.join(f'{count} {kind}' for kind, count in kinds.most_common())})"


def _described(bench: Bench, result: Result) -> dict[str, list[str]]:
    def describe(orders: Orders) -> str:
        point = bench.undisturbed.points[orders[0].at - 1]
        where = f"{point.op.name.lower()} {Path(point.path).name}"
        return f"{', then '.join(map(str, orders))} ({where})"

    return {describe(orders): found for orders, found in result.violations.items()}


PARTS: Final[Mapping[str, tuple[str, Callable[[Bench, int], list[Orders]]]]] = {
    "kills": ("a kill before and after every point", every_kill),
    "double": (
        "a second kill at every point of a recovery",
        lambda bench, each: double_kills(bench, DEATHS, each),
    ),
    "many": ("five kills in one round", lambda bench, each: many_kills(bench, ROUNDS_OF_MANY_KILLS // each)),
    "failures": ("a call that fails, a disk that is full", every_failure),
}


def kill_sweep(scripts: Sequence[Script], parts: Sequence[str], each: int, jobs: int) -> int:
    """The ``parts`` of a sweep, at every ``each``-th point; 1 when anything was wrong."""
    figures = Figures()
    with workshop() as folder:
        library = recorder.build(folder)
        with nursery(library, folder) as zygote:
            for script in scripts:
                bench = Bench(zygote, script, folder)
                print(f"{script.name}: {_points_of(bench)}", flush=True)
                for part in parts:
                    if part in PARTS:
                        _ordered(library, bench, folder, part, each, jobs, figures)
                if "locks" in parts:
                    _locks(bench, each, figures)
                if "first-start" in parts:
                    _first_starts(zygote, script, folder, each, figures)
    print(f"{figures.violations} violations")
    return figures.violations > 0


def _ordered(
    library: Path, bench: Bench, folder: Path, part: str, each: int, jobs: int, figures: Figures
) -> None:
    what, make = PARTS[part]
    orders, began = make(bench, each), time.monotonic()
    result = spread_out(library, bench, folder, orders, jobs, _counting(what, len(orders)))
    figures.tell(f"  {what}", result.runs, _described(bench, result), time.monotonic() - began)


def _locks(bench: Bench, each: int, figures: Figures) -> None:
    began, steps = time.monotonic(), range(0, len(bench.script.steps), each)
    wrong = {f"step {at}": found for at in steps if (found := bench.locked(at))}
    figures.tell("  a locked journal during every step", len(steps), wrong, time.monotonic() - began)


def _first_starts(zygote: Nursery, script: Script, folder: Path, each: int, figures: Figures) -> None:
    said = first_start(zygote, script, folder, each)
    total, again = said.total() - 1, said[""] - 1
    print(f"  a kill at every point of the first start: {again} of {total} start again", flush=True)
    for sentence, count in said.items():
        if sentence:
            print(f"    {count} refuse: {sentence}")
            figures.violations += count


def lost_sync(scripts: Sequence[Script], cuts: int) -> int:
    """Power cuts with ``FULL``, which must lose nothing, and with ``NORMAL``, which must."""
    figures, blind = Figures(), False
    with workshop() as folder, nursery(recorder.build(folder), folder) as zygote:
        for script in scripts:
            for mistake in ("", "normal"):
                bench = Bench(zygote, script, folder, mistake)
                after = Random(1).choices(range(len(bench.undisturbed.points) + 1), k=cuts)
                began = time.monotonic()
                losses = cut(script, bench.undisturbed.disk, bench.undisturbed.points, after, folder)
                seconds = time.monotonic() - began
                what = f"{script.name}, synchronous={'NORMAL' if mistake else 'FULL'}, {cuts} cuts"
                told = f"{what}, {losses.acknowledged} acknowledged inputs looked for"
                if mistake:
                    print(
                        f"{told}: {len(losses.violations)} of {losses.images} images lost some (as they must)"
                    )
                    blind |= not losses.violations
                else:
                    wrong = {f"cut {at}, chance {kept}": v for (at, kept), v in losses.violations.items()}
                    figures.tell(told, losses.images, wrong, seconds)
    if blind:
        print("synchronous=NORMAL lost nothing: this test cannot see a loss")
    return blind or figures.violations > 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.durability", description=__doc__)
    parser.add_argument("what", choices=("kill-sweep", "lost-sync"))
    parser.add_argument("--script", choices=sorted(SCRIPTS), action="append", help="default: all")
    parser.add_argument(
        "--part", choices=(*PARTS, "locks", "first-start"), action="append", help="default: all"
    )
    parser.add_argument("--each", type=int, default=1, help="only every so many points of a kill sweep")
    parser.add_argument("--jobs", type=int, default=2, help="processes of a kill sweep")
    parser.add_argument("--cuts", type=int, default=500, help="power cuts for each script")
    given = parser.parse_args()
    if reason := recorder.missing():
        print(reason)
        return 1
    scripts = [SCRIPTS[name] for name in given.script or SCRIPTS]
    if given.what == "kill-sweep":
        parts = given.part or [*PARTS, "locks", "first-start"]
        return kill_sweep(scripts, parts, given.each, given.jobs)
    return lost_sync(scripts, given.cuts)


if __name__ == "__main__":
    sys.exit(main())
