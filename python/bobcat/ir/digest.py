"""The digest of the canonical bytes of an IR, as `canonical` defines it, without the nodes that `canonical` encodes."""

from __future__ import annotations

from bobcat._core import sha256

DOMAIN = b"bobcat/ir/v1\0"


def digest(data: bytes) -> bytes:
    """Return the digest of canonical bytes: 32 bytes."""
    return sha256(DOMAIN, data)
