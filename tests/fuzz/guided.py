"""One decoder under Atheris, which looks for inputs that reach new code: guided.py NAME SECONDS."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["drivers", "daemon.recording"]):
    from tests.fuzz.decoders import decoders


def main(name: str, seconds: int) -> None:
    """Never returns: libFuzzer ends the process, with 0 if nothing was found."""
    decoder = decoders()[name]
    fed = decoder.make()
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(decoder.valid):
            (Path(folder) / str(number)).write_bytes(data)
        options = [f"-max_total_time={seconds}", "-rss_limit_mb=1024", "-max_len=4096", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", folder], fed.feed)
        atheris.Fuzz()


main(sys.argv[1], int(sys.argv[2]))
