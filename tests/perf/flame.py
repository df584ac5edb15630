"""The path of an event over and over, for a sampling profiler to look at (`make flame`)."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from tests.perf.commits import Committing

SECONDS = 15.0


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.curdir) as name:
        committing = Committing(Path(name))
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            committing.alone()
            committing.in_one_read()
        committing.end()


if __name__ == "__main__":
    main()
