"""The one way card faces enter the journal: AES-256-GCM, one nonce a record."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from daemon.anchor import Signer

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


class SealError(Exception):
    """The key is missing, open to others, or not the one that sealed the record."""


class Sealer:
    """Seals the faces of one record. The record's number is bound in: a seal cannot be moved.

    ``signer`` signs the journal's anchors with a key that is derived from this one.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise SealError(f"a sealing key has {KEY_BYTES} bytes")
        self._cipher = AESGCM(key)
        self.signer: Final = Signer(key)

    def seal(self, seq: int, faces: bytes) -> bytes:
        """Nonce and ciphertext of ``faces``; the length tells how many cards, nothing else."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, faces, seq.to_bytes(8, "big"))

    def open(self, seq: int, sealed: bytes) -> bytes:
        """The faces of record ``seq``. Raises SealError when the key or the record is another."""
        nonce, ciphertext = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, ciphertext, seq.to_bytes(8, "big"))
        except InvalidTag:
            raise SealError(f"record {seq}: this key did not seal it, or it was altered") from None


def create_key(path: Path) -> None:
    """Write a new key file, mode 0600, durable. Raises FileExistsError: a key is never replaced."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _is_credential(path: Path) -> bool:
    """Given by the service manager, who lets only this service read it (by an ACL, which looks like 0440)."""
    return path.parent == Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere"))


def load_key(path: Path) -> Sealer:
    """The sealer of a key file. Raises SealError when it is missing or others may read it."""
    try:
        mode = path.stat().st_mode
        key = path.read_bytes()
    except OSError as error:
        raise SealError(f"{path}: {error.strerror}: the faces in the journal cannot be opened") from None
    if mode & 0o077 and not _is_credential(path):
        raise SealError(f"{path}: others may read the sealing key: chmod 600 it")
    return Sealer(key)
