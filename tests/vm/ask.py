"""Runs in the guest: one question to a table's API. ``ask.py SOCKET PATH [BODY]`` prints the answer.

The command line would do, but on an emulated processor it takes seconds to start; so does ``http``.
"""

from __future__ import annotations

import socket
import sys


def main(path: str, question: str, body: str = "") -> None:
    head = [
        f"{'POST' if body else 'GET'} {question} HTTP/1.1",
        "host: feltd",
        "connection: close",
        "content-type: application/json",
        f"content-length: {len(body)}",
    ]
    with socket.socket(socket.AF_UNIX) as api:
        api.settimeout(60)
        api.connect(path)
        api.sendall("\r\n".join([*head, "", body]).encode())
        answer = b"".join(iter(lambda: api.recv(65536), b""))
    sys.stdout.write(answer.partition(b"\r\n\r\n")[2].decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
