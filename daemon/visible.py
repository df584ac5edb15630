"""What people and devices wrote, as it may be printed on somebody else's terminal."""

from __future__ import annotations

from typing import Final
from unicodedata import category

# Marks, embeddings, overrides and isolates: what follows them is read in another order than it stands.
_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_STEERING: Final = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of a pair, separators of lines
LINES: Final = "\n\t"


def visible(text: object, keep: str = "") -> str:
    """A text with everything in it that would steer a terminal written out: ESC as ``\\x1b``.

    Every text that is not this program's own passes here on its way to a terminal; what is kept, sent or
    written to a page stays as it is. ``keep``: such characters that are left alone.
    """
    return "".join(each if each in keep else _written(each) for each in str(text))


def _written(character: str) -> str:
    if category(character) not in _STEERING and character not in _BIDI:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
