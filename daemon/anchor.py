"""Anchors: the head of a journal's chain, signed whenever a round closes.

Hashes can be computed anew by whoever rewrites the end of a journal; a signature cannot. The key
is derived from the table's sealing key, so there is no second secret, and its public half is told
by the ``started`` records: verifying needs no secret.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_PURPOSE: Final = b"feltd journal anchor"
_DOMAIN: Final = b"feltd anchor 1\n"
_FORM: Final = re.compile(r"0*([0-9]{1,18}):([0-9a-f]{64})")


class Anchor(NamedTuple):
    """A place in a chain that somebody kept: the hash of record ``seq``."""

    seq: int
    hash: bytes

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Read ``SEQ:HASH``. Raises ValueError for any other form."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text[:80]!r} is not SEQ:HASH, a number and 64 hexadecimal digits")
        return cls(int(found[1]), bytes.fromhex(found[2]))

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"


class Signer:
    """Signs the anchors of one table. ``public`` is the public key, 64 hexadecimal digits."""

    def __init__(self, key: bytes) -> None:
        seed = HKDF(SHA256(), 32, salt=None, info=_PURPOSE).derive(key)
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.public: Final = self._private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def sign(self, table: str, anchor: Anchor) -> bytes:
        """The Ed25519 signature, 64 bytes."""
        return self._private.sign(_signed(table, anchor))


def is_signed(anchor: Anchor, signature: bytes, table: str, public: str) -> bool:
    """Whether the holder of ``public``'s private half signed this anchor of this table."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, _signed(table, anchor))
    except (InvalidSignature, ValueError):
        return False
    return True


def _signed(table: str, anchor: Anchor) -> bytes:
    return _DOMAIN + anchor.seq.to_bytes(8, "big") + anchor.hash + table.encode()
