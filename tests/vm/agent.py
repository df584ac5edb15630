"""Runs in the guest, as root: carries out commands that come over a virtio-serial port.

A line each way. ``{"command": [word…] | "shell text", "timeout": s}`` is answered with ``{"rc", "out",
"err"}``; rc is 124 when the time was over and the command was killed. The first line is ``{"rc": 0}``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TIME_IS_OVER = 124


def carry_out(command: str | list[str], seconds: float) -> dict[str, object]:
    """One command, in a session of its own. What it leaves running may keep its output open."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                command,
                shell=isinstance(command, str),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                cwd="/root",
            )
        except OSError as error:
            return {"rc": 127, "out": "", "err": str(error)}
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = TIME_IS_OVER
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return {"rc": code, "out": texts[0], "err": texts[1]}


def main(path: str) -> None:
    while not os.path.exists(path):  # udev makes the name a moment after the port is there
        time.sleep(0.1)
    with open(path, "r+b", buffering=0) as port:
        port.write(b'{"rc": 0}\n')
        half = b""
        while True:
            data = port.read(65536)
            if not data:  # nobody on the host's side
                time.sleep(0.1)
                continue
            *lines, half = (half + data).split(b"\n")
            for line in lines:
                request = json.loads(line)
                answer = carry_out(request["command"], request["timeout"])
                rest = memoryview(json.dumps(answer).encode() + b"\n")
                while rest:
                    rest = rest[port.write(rest) :]


if __name__ == "__main__":
    main(sys.argv[1])
