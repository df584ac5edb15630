"""Lines of the Acme protocol: what goes over the wire, and nothing about what it means.

A line is ``TEXT*CRC`` and LF, at most 64 bytes: words in ASCII, and four upper-case hexadecimal digits
of the CRC-16/CCITT (start FFFF) over TEXT. From the shoe:

    HELLO serial boot oldest     who it is, and the oldest event that it still holds
    BEAT                         every second
    EVENT n CARD AS|?? [UP]      a card left the shoe; ?? was not read, UP lay face up
    EVENT n CUT                  the cut card left the shoe
    DONE id                      a command is carried out

From the host: ``WHO``, ``ACK n``, ``LOCK id``, ``UNLOCK id``. Events are numbered from 1 in each boot. The
shoe sends one, again every 250 ms, until it is acknowledged; only then comes the next.
"""

from __future__ import annotations

from binascii import crc_hqx
from typing import Final

LONGEST: Final = 64


def line(*words: object) -> bytes:
    """The line of these words."""
    text = " ".join(map(str, words)).encode("ascii")
    return b"%s*%04X\n" % (text, crc_hqx(text, 0xFFFF))


def words(data: bytes) -> list[str]:
    """The words of a line without its LF. Raises ValueError for a damaged one."""
    text, _, crc = data.rpartition(b"*")
    if crc != b"%04X" % crc_hqx(text, 0xFFFF):
        raise ValueError("damaged line")
    return text.decode("ascii").split(" ")


class Splitter:
    """Cuts a stream into lines, in any chunking, in bounded memory."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that became complete. What is too long keeps its beginning, whose CRC is wrong."""
        found: list[bytes] = []
        for byte in data:
            if byte == ord("\n"):
                found.append(bytes(self._held))
                self._held.clear()
            elif len(self._held) <= LONGEST:
                self._held.append(byte)
        return found
