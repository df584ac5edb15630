"""Simulated evenings with faults, on seeds that nobody has seen, for a stated time."""

from __future__ import annotations

import os
import time
from typing import Final

import pytest

from daemon.simulate import SimulateOptions, run

SECONDS: Final = float(os.environ.get("SOAK_SIMULATE", "300"))
FIRST_SEED: Final = os.environ.get("SOAK_SEED", "")
ROUNDS: Final = 200
EVENINGS: Final = (("caribbean", "shoe"), ("caribbean", "shuffler"), ("five-card", "shoe"))
RATES: Final = (0.02, 0.1, 0.5)

pytestmark = [pytest.mark.soak, pytest.mark.timeout(SECONDS + 1_800)]


def test_fresh_seeds_break_nothing() -> None:
    seed = int(FIRST_SEED) if FIRST_SEED else int.from_bytes(os.urandom(4))
    end, played, faults = time.monotonic() + SECONDS, 0, 0
    while time.monotonic() < end or not played:
        for game, mode in EVENINGS:
            rate = RATES[seed % len(RATES)]
            print(f"seed {seed}, {game}, {mode}, faults {rate}", flush=True)
            report = run(SimulateOptions(game, ROUNDS, mode=mode, seed=seed, faults=rate, jobs=1))
            assert "violation" not in report, report["violation"]
            assert report["rounds"] == ROUNDS
            played += ROUNDS
            faults += int(str(report["faults_injected"]))
        seed += 1
    print(f"{played} rounds, {faults} faults")
