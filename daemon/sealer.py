"""The one way card faces enter the journal: AES-256-GCM, one nonce a record.

A key file has one key of 32 bytes after the other. The first signs the journal's anchors, the last seals;
a seal is opened by whichever made it (docs/keys.md).
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from daemon.anchor import Signer
from daemon.whole import content, open_to_others

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
MOST_KEYS: Final = 64  # a year of them at one a week, and then some; each is tried for a seal


# What is left to do when no key opens what a recovery needs (docs/keys.md).
NO_KEY_LEFT: Final = "feltd journal begin-anew closes this journal and begins another"


class SealError(Exception):
    """The key is missing, open to others, or not the one that sealed the record."""


class Sealer:
    """Seals the faces of one record. The record's number is bound in: a seal cannot be moved.

    ``keys`` is the content of a key file. ``signer`` signs the journal's anchors with a key that is derived
    from the first of them. Raises SealError for what is no key file.
    """

    def __init__(self, keys: bytes) -> None:
        count, rest = divmod(len(keys), KEY_BYTES)
        if rest or not 0 < count <= MOST_KEYS:
            raise SealError(
                f"a sealing key has {KEY_BYTES} bytes, and a key file up to {MOST_KEYS} of them: "
                f"{len(keys)} bytes are none"
            )
        each = [keys[start : start + KEY_BYTES] for start in range(0, len(keys), KEY_BYTES)]
        self._ciphers = [AESGCM(key) for key in reversed(each)]
        self.keys: Final = count
        self.signer: Final = Signer(each[0])

    def seal(self, seq: int, faces: bytes) -> bytes:
        """Nonce and ciphertext of ``faces``; the length tells how many cards, nothing else."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, faces, seq.to_bytes(8, "big"))

    def open(self, seq: int, sealed: bytes) -> bytes:
        """The faces of record ``seq``. Raises SealError when the keys or the record are others."""
        nonce, ciphertext = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        for cipher in self._ciphers:
            with suppress(InvalidTag):
                return cipher.decrypt(nonce, ciphertext, seq.to_bytes(8, "big"))
        raise SealError(
            f"record {seq}: this key did not seal it, or it was altered: put back the newest copy of the "
            f"key file; if there is none, {NO_KEY_LEFT}"
        )


def create_key(path: Path) -> None:
    """Write a new key file, mode 0600, durable. Raises FileExistsError: a key is never replaced."""
    _write(path, secrets.token_bytes(KEY_BYTES))


@contextmanager
def new_key(path: Path) -> Iterator[None]:
    """A new key file that has its name once its journal was made inside, and not before.

    So an end amid a first start leaves no key that looks as if its journal were lost. Raises OSError.
    """
    fresh = _unnamed(path)
    fresh.unlink(missing_ok=True)  # of a first start that was cut off before its journal was there
    create_key(fresh)
    yield
    name_key(path)


def name_key(path: Path) -> bool:
    """Give the key of :func:`new_key` its name. Whether there was one that waited for it."""
    fresh = _unnamed(path)
    if not fresh.exists():
        return False
    fresh.rename(path)
    _sync_folder(path.parent)
    return True


def _unnamed(path: Path) -> Path:
    return path.with_name(f".{path.name}.first")


def add_key(path: Path) -> Sealer:
    """Seal with a new key from now on. The file has the old ones too, so that they open what they sealed.

    It is replaced when the new one is on disk, and never has another mode than 0600. Raises SealError,
    and OSError when it cannot be written: the old file is there then.
    """
    if load_key(path).keys == MOST_KEYS:
        raise SealError(f"{path}: has {MOST_KEYS} keys, and no more are tried: {NO_KEY_LEFT}")
    keys, fresh = _content(path) + secrets.token_bytes(KEY_BYTES), path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)  # of an attempt that was cut off
    try:
        _write(fresh, keys, path.stat())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return Sealer(keys)


def _write(path: Path, keys: bytes, owner: os.stat_result | None = None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        if owner is not None and os.geteuid() == 0:  # root rotates the key of a daemon that is somebody else
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
        file.write(keys)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load_key(path: Path) -> Sealer:
    """The sealer of a key file. Raises SealError when it is missing, is none, or others may read it."""
    keys = _content(path)
    try:
        return Sealer(keys)
    except SealError as error:
        raise SealError(f"{path}: {error}") from None


def _content(path: Path) -> bytes:
    """The keys of a regular file that nobody else may read; no more is read than a key file can have."""
    try:
        keys, mode = content(path, MOST_KEYS * KEY_BYTES)
    except OSError as error:
        raise SealError(f"{path}: {error.strerror}: the faces in the journal cannot be opened") from None
    if not stat.S_ISREG(mode):
        raise SealError(f"{path}: is no regular file, and so no sealing key: name the key file")
    if open_to_others(path, mode):
        raise SealError(f"{path}: others may read the sealing key: chmod 600 it")
    if len(keys) > MOST_KEYS * KEY_BYTES:
        most = f"{MOST_KEYS} keys of {KEY_BYTES} bytes"
        raise SealError(f"{path}: is longer than {most}, and so no sealing key: name the key file")
    return keys
