"""`make fuzz`: FUZZ_N random and changed inputs for every decoder, then FUZZ_SECONDS of Atheris each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec

from tests.fuzz.decoders import decoders
from tests.fuzz.fire import Broken, fire

CHUNK = 50_000
COUNT = int(os.environ.get("FUZZ_N", "1000000"))
SECONDS = int(os.environ.get("FUZZ_SECONDS", "20"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))


def _fire(name: str, count: int, seed: int) -> tuple[str, int, int]:
    return name, count, fire(decoders()[name], count, seed)


def _progress(text: str) -> None:
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"{text:<100}", end=end, file=sys.stderr, flush=True)


def everything() -> Counter[str]:
    """Every decoder's inputs, in chunks on every processor; how many each was fed. Raises Broken."""
    names = list(decoders())
    chunks = [min(CHUNK, COUNT - at) for at in range(0, COUNT, CHUNK)]
    done: Counter[str] = Counter()
    size, began = 0, time.monotonic()
    with ProcessPoolExecutor() as pool:
        jobs = [
            pool.submit(_fire, name, count, SEED + number)
            for name in names
            for number, count in enumerate(chunks)
        ]
        for job in as_completed(jobs):
            try:
                name, count, total = job.result()
            except Broken:
                pool.shutdown(cancel_futures=True)
                raise
            done[name] += count
            size += total
            if done[name] == COUNT:
                whole, spent = f"{done.total():,} of {COUNT * len(names):,}", time.monotonic() - began
                _progress(f"{name}: {COUNT:,} inputs; {whole} inputs, {size / 1e6:,.0f} MB, {spent:.0f} s")
    return done


def guided(name: str) -> int:
    """How many inputs Atheris tried. Raises Broken with what it found."""
    command = [sys.executable, "-m", "tests.fuzz.guided", name, str(SECONDS)]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": os.getcwd()}
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if ended.returncode:
        raise Broken(f"{name}: Atheris found:\n{(ended.stdout + ended.stderr)[-4000:]}")
    tried = re.search(r"number_of_executed_units:\s*(\d+)", ended.stdout + ended.stderr)
    return int(tried[1]) if tried else 0


def main() -> int:
    try:
        done = everything()
        print(f"{len(done)} decoders, {done.total():,} inputs: none raised, none grew")
        if not find_spec("atheris"):
            print("Atheris is not installed for this Python: guided inputs left out")
            return 0
        tried = 0
        for name in decoders() if SECONDS else ():
            tried += guided(name)
            _progress(f"{name}: {SECONDS} s of guided inputs; {tried:,} in all")
        print(f"{len(done)} decoders, {tried:,} guided inputs: none raised")
    except Broken as broken:
        print(broken)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
