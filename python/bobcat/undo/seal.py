"""Bytes of snapshots as a store keeps them: MessagePack, encrypted when there is a key.

AES-256-GCM with a random nonce; the names of the entry are authenticated with it, so that no content passes for that of
another entry. `cryptography` is the extra `bobcat[undo]`, imported only where there is a key.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import msgspec

from bobcat.errors import UndoError
from bobcat.model.frozen import thaw
from bobcat.model.snapshot import Snapshot
from bobcat.undo.entry import Row

KEY_BYTES = 32
_NONCE_BYTES = 12


class Sealer:
    """Encodes snapshots and outcomes, and encrypts them with `key`: 32 bytes, or their 64 hexadecimal digits."""

    def __init__(self, key: bytes | str | None) -> None:
        self._cipher = None if key is None else _cipher(key)
        self.sealed = int(key is not None)

    def seal(self, row: Row, part: str, value: Any) -> bytes:  # Any: JSON values and bytes
        """Return the bytes of a part of a row, `snapshot` or `outcome`."""
        data = msgspec.msgpack.encode(value)
        if self._cipher is None:
            return data
        nonce = os.urandom(_NONCE_BYTES)
        sealed: bytes = self._cipher.encrypt(nonce, data, _names(row, part))
        return nonce + sealed

    def unseal(self, row: Row, part: str) -> Any:  # Any: JSON values and bytes
        """Return the value of a part of a row. Raises `UndoError` for a missing or a wrong key, and damaged bytes."""
        data: bytes = getattr(row, part)
        if bool(row.sealed) is not (self._cipher is not None):
            problem = "is encrypted: give its key" if row.sealed else "is not encrypted, and a key was given"
            raise UndoError("bad_key", f"undo entry `{row.id}` {problem}")
        if self._cipher is not None:
            from cryptography.exceptions import InvalidTag

            try:
                data = self._cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], _names(row, part))
            except (InvalidTag, ValueError) as error:
                raise UndoError(
                    "bad_key", f"undo entry `{row.id}` cannot be decrypted: another key, or damage"
                ) from error
        try:
            return msgspec.msgpack.decode(data)
        except msgspec.DecodeError as error:
            raise UndoError("damaged", f"undo entry `{row.id}` is damaged: {error}") from error

    def snapshot(self, row: Row) -> Snapshot:
        """Return the snapshot of a row."""
        found = self.unseal(row, "snapshot")
        try:
            before, after = tuple(found["before"]), found["after"]
            snapshot = Snapshot(**{**found, "before": before, "after": None if after is None else tuple(after)})
        except (KeyError, TypeError) as error:
            raise UndoError("damaged", f"undo entry `{row.id}` is damaged: it has no snapshot") from error
        if (snapshot.target, snapshot.to) != (row.target, row.other):
            raise UndoError("damaged", f"undo entry `{row.id}` is damaged: its snapshot has another target")
        return snapshot


def plain(snapshot: Snapshot) -> dict[str, Any]:  # Any: JSON values and bytes
    """Return the fields of a snapshot as plain values."""
    return {**asdict(snapshot), "data": thaw(snapshot.data)}


def _names(row: Row, part: str) -> bytes:
    return msgspec.json.encode(
        ["bobcat undo 1", part, row.id, row.tool, row.origin, row.target, row.other, row.kind, row.undoes]
    )


def _cipher(key: bytes | str) -> Any:  # Any: AESGCM, of an optional package
    if isinstance(key, str):
        try:
            key = bytes.fromhex(key)
        except ValueError as error:
            raise ValueError(f"key must be {KEY_BYTES} bytes or their hexadecimal digits") from error
    if len(key) != KEY_BYTES:
        raise ValueError(f"key must have {KEY_BYTES} bytes, got {len(key)}")
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "an encrypted undo store needs cryptography: pip install 'bobcat[undo]'", name="cryptography"
        ) from error
    return AESGCM(key)
