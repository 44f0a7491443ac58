"""Signed checkpoints: an Ed25519 signature over the Merkle root of all entries before the checkpoint's own.

A checkpoint that is kept elsewhere (a ticket, another machine, a transparency log) fixes everything before it: the log
cannot be rewritten or cut without contradicting it. `cryptography` is the extra `bobcat[sign]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bobcat.bundle.sign import BundleSignature, sign, verify
from bobcat.decision_log.entry import Head
from bobcat.decision_log.merkle import MerkleTree, leaf_hash
from bobcat.errors import BundleError, DecisionLogError
from bobcat.model.plain_fields import fields_to_json
from bobcat.text.json_text import json_text

DOMAIN = b"bobcat/decision-log-checkpoint/v1\0"
"""Prefix of the signed message."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A signed tree head: `root` is the Merkle root of the first `size` entries, `hash` that of the last of them."""

    size: int
    root: str
    hash: str
    time: str
    public_key: str
    signature: str

    def to_json(self) -> dict[str, Any]:
        """The checkpoint as plain data, as it stands in the body of its entry. Any: JSON."""
        return fields_to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Checkpoint:
        """Read a checkpoint. Raises `ValueError` for a malformed one."""
        names = ("size", "root", "hash", "time", "public_key", "signature")
        if set(data) != set(names) or type(data["size"]) is not int:
            raise ValueError(f"a checkpoint has the fields {', '.join(names)}")
        if not all(isinstance(data[name], str) for name in names[1:]):
            raise ValueError("a field of the checkpoint is not a text")
        return cls(**{name: data[name] for name in names})

    def check_signature(self, public_key: bytes | str | None = None) -> None:
        """Check the signature, by this key if one is given. Raises `ValueError`; `DecisionLogError` for a bad key."""
        try:
            verify(
                _message(Head(self.size, self.hash), self.root, self.time),
                [BundleSignature(self.public_key, self.signature)],
                [self.public_key if public_key is None else public_key],
                domain=DOMAIN,
            )
        except BundleError as error:
            if error.code in ("bad_key", "no_crypto") and (public_key is not None or error.code == "no_crypto"):
                raise DecisionLogError(error.code, str(error)) from error
            problem = "no signature by the given key" if error.code == "unsigned" else "a wrong signature"
            raise ValueError(problem) from error


def sign_checkpoint(head: Head, root: bytes, *, time: str, key: bytes | str) -> Checkpoint:
    """Sign the tree of all entries up to `head`. Raises `DecisionLogError` (`bad_key`, `no_crypto`)."""
    try:
        signed = sign(_message(head, root.hex(), time), key, domain=DOMAIN)
    except BundleError as error:
        raise DecisionLogError(error.code, str(error)) from error
    return Checkpoint(head.seq, root.hex(), head.hash, time, signed.public_key, signed.signature)


def check_key(key: bytes | str) -> None:
    """Raise `DecisionLogError` (`bad_key`, `no_crypto`) for a key that cannot sign."""
    try:
        sign(b"", key, domain=DOMAIN)
    except BundleError as error:
        raise DecisionLogError(error.code, str(error)) from error


def entry_leaf(hash: str) -> bytes:
    """The leaf of the entry with this hash."""
    return leaf_hash(bytes.fromhex(hash))


def tree_peaks(tree: MerkleTree) -> list[str]:
    """The peaks of a tree as text."""
    return [peak.hex() for peak in tree.peaks]


def _message(head: Head, root: str, time: str) -> bytes:
    return json_text({"hash": head.hash, "root": root, "size": head.seq, "time": time}).encode()
