"""Releases: what a signed bundle says about itself, and which release may follow which.

INVARIANT: epoch, expiry and policy digest are in the manifest, which one signature covers: none of them can be replaced
without the others. Pure: no file, no network, no clock.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from bobcat.bundle import file
from bobcat.bundle.load import open_bundle
from bobcat.bundle.manifest import checked_epoch, checked_expires, encode_section
from bobcat.bundle.sign import sign
from bobcat.errors import BundleError

Keys = Collection[bytes | str]
"""Public Ed25519 keys: 32 bytes or 64 hexadecimal digits each."""


class Release(NamedTuple):
    """One release: the policy digest, the epoch, the expiry, and `content`, the SHA-256 of the file.

    `signed` is true for a bundle with a signature, which `read_release` verified if it was given keys.
    """

    digest: str
    epoch: int | None
    expires: datetime | None
    content: str
    signed: bool
    has_host_rules: bool

    @property
    def text(self) -> str:
        """The release in a message."""
        return f"epoch {self.epoch}, policy {self.digest[:16]}"

    def to_json(self, now: datetime) -> dict[str, Any]:  # Any: JSON
        """Return the fields for readers, and whether the release has expired."""
        expires = self.expires
        return {
            "bundle": self.digest,
            "epoch": self.epoch,
            "expires": None if expires is None else expires.isoformat(),
            "expired": expires is not None and expires <= now,
            "signed": self.signed,
            "sha256": self.content,
        }


def read_release(data: bytes, trust: Keys | None) -> Release:
    """Verify digests and signatures; return the release. Raises `BundleError`."""
    sections, manifest = open_bundle(data, trust)
    return Release(
        manifest.digest,
        None if manifest.epoch is msgspec.UNSET else manifest.epoch,
        None if manifest.expires is msgspec.UNSET else manifest.expires,
        sha256(data).hexdigest(),
        sections.content.get(file.SIGNATURES, b"[]") != b"[]",
        bool(manifest.host_rules),
    )


def check_follows(new: Release, present: Release | None, *, min_epoch: int = 0) -> None:
    """Raise `BundleError` for a release that must not replace the `present` one.

    `old_epoch`: its epoch is lower, or it has none. `epoch_reused`: the epoch is the same, and the policy is another
    one. A release of the same policy may repeat its epoch, with a later expiry.
    """
    least = max(min_epoch, (present.epoch if present is not None else None) or 0)
    if (new.epoch or 0) < least or (new.epoch is None and present is not None and present.epoch is not None):
        has = "no epoch" if new.epoch is None else f"the epoch {new.epoch}"
        raise BundleError("old_epoch", f"the bundle has {has}; {least} is the lowest that is accepted")
    if present is None or present.epoch is None or new.epoch != present.epoch:
        return
    if new.digest != present.digest:
        raise BundleError(
            "epoch_reused",
            f"the epoch {new.epoch} is that of the policy {present.digest[:16]}, and the bundle has {new.digest[:16]}",
        )
    if new.expires is not None and present.expires is not None and new.expires < present.expires:
        raise BundleError("old_epoch", f"the same release was signed until {present.expires.isoformat()} before")


def check_fresh(release: Release, now: datetime) -> None:
    """Raise `BundleError` for a release that has expired."""
    if release.expires is not None and release.expires <= now:
        raise BundleError("expired", f"the bundle expired at {release.expires.isoformat()}")


def sign_release(data: bytes, private_key: bytes | str, *, epoch: int, expires: datetime | None = None) -> bytes:
    """Return the bundle with this epoch and expiry, and one signature. Raises `BundleError`."""
    sections, manifest = open_bundle(data, None)
    manifest = msgspec.structs.replace(
        manifest,
        epoch=checked_epoch(epoch, "epoch"),
        expires=msgspec.UNSET if expires is None else checked_expires(expires),
    )
    signed = {name: body for name, body in sections.content.items() if name != file.SIGNATURES}
    signed[file.MANIFEST] = encode_section(manifest)
    signature = sign(file.signed_message(signed), private_key)
    return file.pack({**signed, file.SIGNATURES: msgspec.json.encode([signature], order="sorted")})
