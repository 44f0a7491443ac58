"""Ed25519 signatures over the section table of a bundle.

`bobcat.bundle.file` calls this; `cryptography` (the extra `bobcat[sign]`) is imported only when something is signed or
verified. Keys are 32 raw bytes or their 64 hexadecimal digits. The signed message lists every other section with
its SHA-256, so a signature covers all content, and adding one changes no other section.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from bobcat.errors import BundleError

if TYPE_CHECKING:
    from types import ModuleType

KEY_BYTES = 32
MAX_SIGNATURES = 64

_DOMAIN = b"bobcat/bundle-signature/v1\0"


class BundleSignature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One signature: the public key and the signature, both in hexadecimal."""

    public_key: str
    signature: str


def public_key(private_key: bytes | str) -> str:
    """Return the public key, as hexadecimal digits, of a private key (the 32-byte Ed25519 seed)."""
    ed25519 = _ed25519()
    private = ed25519.Ed25519PrivateKey.from_private_bytes(_key_bytes(private_key))
    raw: bytes = private.public_key().public_bytes_raw()
    return raw.hex()


def sign(message: bytes, private_key: bytes | str, *, domain: bytes = _DOMAIN) -> BundleSignature:
    """Sign a section table; with another `domain`, a message of another format."""
    private = _ed25519().Ed25519PrivateKey.from_private_bytes(_key_bytes(private_key))
    return BundleSignature(public_key(private_key), private.sign(domain + message).hex())


def verify(
    message: bytes,
    signatures: Iterable[BundleSignature],
    trusted_keys: Iterable[bytes | str],
    *,
    domain: bytes = _DOMAIN,
) -> None:
    """Verify that one of `trusted_keys` signed `message` and that every signature by a trusted key is valid."""
    if isinstance(trusted_keys, str | bytes | bytearray | memoryview):
        raise BundleError("bad_key", "`trusted_keys` must be a list of keys, not a single key")
    trusted = {_key_bytes(key).hex() for key in trusted_keys}
    relevant = [item for item in signatures if item.public_key in trusted]
    if not trusted:
        raise BundleError("unsigned", "`trusted_keys` is empty, so no signature is trusted; None skips the check")
    if not relevant:
        raise BundleError("unsigned", "the bundle carries no signature of a trusted key")
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    for item in relevant:
        public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(item.public_key))
        try:
            public.verify(bytes.fromhex(item.signature), domain + message)
        except (InvalidSignature, ValueError) as error:
            raise BundleError("bad_signature", f"the signature of key `{item.public_key}` is wrong") from error


def _key_bytes(key: bytes | str) -> bytes:
    if not isinstance(key, str | bytes | bytearray | memoryview):  # `bytes(32)` would be a key of zeros
        raise BundleError("bad_key", f"a key is 32 bytes or 64 hexadecimal digits, not {type(key).__name__}")
    try:
        raw = bytes.fromhex(key) if isinstance(key, str) else bytes(key)
    except ValueError as error:
        raise BundleError("bad_key", "a key is 32 bytes or 64 hexadecimal digits") from error
    if len(raw) != KEY_BYTES:
        raise BundleError("bad_key", f"a key is 32 bytes or 64 hexadecimal digits, not {len(raw)} bytes")
    return raw


def _ed25519() -> ModuleType:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise BundleError("no_crypto", "signatures need `pip install 'bobcat[sign]'`") from error
    return ed25519
