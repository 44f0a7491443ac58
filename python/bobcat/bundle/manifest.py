"""The manifest of a bundle: metadata of a policy that needs no decoding of the IR.

`model` writes it, `load` checks it against the IR. It holds no time, no machine name and no absolute path.
"""

from __future__ import annotations

import ntpath
import posixpath
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from bobcat.bundle.source_map import SourceMap
from bobcat.errors import BundleError
from bobcat.ir.schema import Defaults, HostRule, Profile

MAX_EPOCH = 2**53 - 1
"""The largest epoch: every JSON reader represents it exactly."""

Epoch = Annotated[int, msgspec.Meta(ge=0, le=MAX_EPOCH)]
Expires = Annotated[datetime, msgspec.Meta(tz=True)]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Metadata of a policy. `digest` is that of the IR, in 64 hexadecimal digits; `host_rules` are in the order of the
    IR.

    `lynx_id` is lynx-agent's 16-digit id, or null. `epoch` counts the releases of a policy, `expires` is the end of
    the time for which a release may be distributed; a bundle without them has no such keys, like bundles from before
    they existed.
    """

    digest: str
    profile: Profile
    language_version: int
    defaults: Defaults
    rule_count: int
    host_rules: tuple[HostRule, ...]
    source_files: tuple[str, ...]
    lynx_id: str | None = None
    epoch: Epoch | UnsetType = UNSET
    expires: Expires | UnsetType = UNSET


_encode = msgspec.json.Encoder(order="sorted").encode
_decode_manifest = msgspec.json.Decoder(Manifest).decode


def encode_section(value: Manifest | list[Any] | dict[str, str]) -> bytes:  # Any: see `SourceMap.rows`
    """Encode a JSON section: equal content gives equal bytes."""
    try:
        return _encode(value)
    except UnicodeEncodeError as error:
        raise BundleError("bad_text", "a description or a file name holds a lone surrogate") from error


def decode_manifest(data: bytes) -> Manifest:
    """Decode the manifest section."""
    try:
        manifest = _decode_manifest(data)
    except (ValueError, RecursionError) as error:
        raise BundleError("bad_manifest", f"section `manifest` is malformed: {error}") from error
    if encode_section(manifest) != data:
        raise BundleError("bad_manifest", "section `manifest` is not in canonical form")
    return manifest


def checked_epoch(epoch: object, name: str) -> int:
    """Validate an epoch from a caller. Raises `BundleError` for anything but an integer from 0 to `MAX_EPOCH`."""
    if type(epoch) is not int or not 0 <= epoch <= MAX_EPOCH:
        raise BundleError("bad_epoch", f"`{name}` must be an integer from 0 to {MAX_EPOCH}")
    return epoch


def checked_expires(expires: object) -> datetime:
    """Return the end of a release's time in UTC, in whole seconds. Raises `BundleError` without a time zone."""
    if not isinstance(expires, datetime) or expires.tzinfo is None:
        raise BundleError("bad_expires", "`expires` must be a datetime with a time zone")
    try:
        return expires.astimezone(UTC).replace(microsecond=0)
    except OverflowError as error:
        raise BundleError("bad_expires", f"`expires` is out of range: {expires}") from error


def decode_source_map(data: bytes, manifest: Manifest) -> SourceMap:
    """Decode the source map section, checked against the manifest."""
    try:
        source_map = msgspec.json.decode(data, type=SourceMap)
    except (ValueError, RecursionError) as error:
        raise BundleError("bad_source_map", f"section `source_map` is malformed: {error}") from error
    if len(source_map.rules) != manifest.rule_count:
        raise BundleError(
            "bad_source_map", f"the source map has {len(source_map.rules)} rules, the policy {manifest.rule_count}"
        )
    count = len(source_map.files)
    if any(len(rule.leaf_files) not in (0, len(rule.leaves)) for rule in source_map.rules):
        raise BundleError("bad_source_map", "the source map has not one file for each test of a rule")
    files = (file for rule in source_map.rules for file in rule.leaf_files)
    if any(rule.file >= count for rule in source_map.rules) or any(not 0 <= file < count for file in files):
        raise BundleError("bad_source_map", "the source map names a file that it does not list")
    return source_map


def decode_sources(data: bytes) -> dict[str, str]:
    """Decode the source texts in their section, by file name."""
    try:
        return msgspec.json.decode(data, type=dict[str, str])
    except (ValueError, RecursionError) as error:
        raise BundleError("bad_sources", f"section `sources` is malformed: {error}") from error


def portable(path: str) -> str:
    """Return `path` in the form for bundle files: relative paths with `/`, only the last part of absolute ones."""
    if posixpath.isabs(path):
        return posixpath.basename(path)
    if ntpath.splitdrive(path)[0] or ntpath.isabs(path):
        return ntpath.basename(path)
    return path
