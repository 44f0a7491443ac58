"""The bundle file format: a section table with digests, then the sections; digests are checked before decoding.

    magic       8 bytes   89 42 4F 42 43 41 54 0A
    version     u16       1
    sections    u16       their number
    table       60 bytes a section: name (16 bytes, zero padded), flags (u32, bit 0: critical), length (u64), digest
    check       32 bytes  SHA-256 of all of the above
    sections              in table order, nothing between or after them

A section's digest is its SHA-256. The digest of the IR is the policy digest, computed from the same bytes
with a prefix: hashing megabytes twice would be a large part of the load time. Numbers are big-endian. The names and
order of sections are fixed, so equal content gives equal bytes. `manifest` and `model` define the section contents;
this module handles bytes only, and must decode nothing before all digests are verified.
"""

from __future__ import annotations

import os
import struct

from bobcat._core import sha256
from bobcat.errors import BundleError
from bobcat.ir.digest import digest as ir_digest

TYPE_CHECKING = False  # PERF: see `bobcat.lazy`
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from dataclasses import dataclass
else:
    from bobcat.model.light_dataclass import dataclass

MAGIC = b"\x89BOBCAT\n"
FORMAT_VERSION = 1
MAX_BUNDLE_BYTES = 512 * 1024 * 1024
MAX_SECTIONS = 16
CRITICAL = 1

MANIFEST = "manifest"
IR = "ir"
SOURCE_MAP = "source_map"
SOURCES = "sources"
LAYER_SIGNATURES = "layer_signatures"
SIGNATURES = "signatures"

_MIB = 1024 * 1024
MAX_SECTION_BYTES: Mapping[str, int] = {
    MANIFEST: 16 * _MIB,
    IR: 256 * _MIB,
    SOURCE_MAP: 128 * _MIB,
    SOURCES: 64 * _MIB,
    LAYER_SIGNATURES: _MIB,
    SIGNATURES: _MIB,
}
"""The known sections in file order, with their size limits."""

_CRITICAL_SECTIONS = frozenset({MANIFEST, IR})
_HEAD = struct.Struct(">8sHH")
_ROW = struct.Struct(">16sIQ32s")
_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Sections:
    """Sections of a bundle with verified digests, the policy digest, and the message that signatures sign."""

    content: Mapping[str, bytes]
    policy_digest: bytes
    signed_message: bytes


def pack(content: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a bundle with these sections."""
    rows, bodies = [], []
    for name, cap in MAX_SECTION_BYTES.items():
        body = content.get(name)
        if body is None:
            continue
        if len(body) > cap:
            raise BundleError("too_large", f"section `{name}` has {len(body)} bytes; the limit is {cap}")
        rows.append(_row(name, body))
        bodies.append(body)
    head = _HEAD.pack(MAGIC, FORMAT_VERSION, len(rows)) + b"".join(rows)
    return b"".join((head, sha256(head), *bodies))


def signed_message(content: Mapping[str, bytes]) -> bytes:
    """Return the message that the signatures of a bundle sign: the table rows of its other sections."""
    names = [name for name in MAX_SECTION_BYTES if name in content and name != SIGNATURES]
    return b"".join(_row(name, content[name]) for name in names)


def signed_policy(message: bytes) -> bytes | None:
    """Return the digest of the policy in a message of `signed_message`; None without one."""
    rows = [message[offset : offset + _ROW.size] for offset in range(0, len(message), _ROW.size)]
    if not all(len(row) == _ROW.size for row in rows):
        return None
    return next((digest for name, _, _, digest, _ in map(_parse_row, rows) if name == IR), None)


def unpack(data: bytes) -> Sections:
    """Parse the sections of a bundle file. Raises `BundleError` for any bytes that `pack` would not have written."""
    if len(data) > MAX_BUNDLE_BYTES:
        raise BundleError("too_large", f"the file has {len(data)} bytes; the limit is {MAX_BUNDLE_BYTES}")
    rows, start = _table(data)
    content: dict[str, bytes] = {}
    policy_digest = b""
    signed: list[bytes] = []
    for name, flags, length, digest, raw in rows:
        body = data[start : start + length]
        start += length
        if _digest(name, body) != digest:
            raise BundleError("digest_mismatch", f"section `{name}` does not have the digest in the table")
        if name != SIGNATURES:
            signed.append(raw)
        if name == IR:
            policy_digest = digest
        if name in MAX_SECTION_BYTES:
            content[name] = body
        elif flags & CRITICAL:
            raise BundleError("unknown_section", f"section `{name}` is critical and unknown to this version")
    for name in MAX_SECTION_BYTES:
        if name in _CRITICAL_SECTIONS and name not in content:
            raise BundleError("missing_section", f"section `{name}` is missing")
    return Sections(content, policy_digest, b"".join(signed))


def read(path: str | os.PathLike[str]) -> bytes:
    """Read a bundle file, at most one byte more than the limit."""
    try:
        with open(path, "rb") as handle:
            # PERF: allocating the file size takes 0.2 ms for 6 MB, allocating the limit 2.4.
            size = os.fstat(handle.fileno()).st_size
            data = handle.read(min(size, MAX_BUNDLE_BYTES) + 1)
            return data if len(data) <= size else data + handle.read(MAX_BUNDLE_BYTES + 1 - len(data))
    except (OSError, ValueError) as error:
        raise BundleError("unreadable", f"cannot read bundle file {os.fspath(path)}: {_reason(error)}") from error


def write(path: str | os.PathLike[str], data: bytes, *, keep_mode: bool = False) -> None:
    """Write a file atomically and durably. A symbolic link or device is kept; `keep_mode`: so is the mode."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as handle:  # a pipe or a device cannot be replaced; a directory raises here
            handle.write(data)
        return
    from contextlib import suppress  # PERF: 2 ms, which a worker that only reads avoids

    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f".{name}.{os.urandom(8).hex()}.part")
    keep_mode = keep_mode and os.path.exists(path)
    mode = 0o600 if keep_mode else 0o666
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    except OSError as error:
        error.filename = path  # the error that the caller expects
        raise
    try:
        with os.fdopen(descriptor, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        if keep_mode:
            from shutil import copymode  # PERF: as above

            copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(directory or os.curdir)


_Row = tuple[str, int, int, bytes, bytes]


def _row(name: str, body: bytes) -> bytes:
    flags = CRITICAL if name in _CRITICAL_SECTIONS else 0
    return _ROW.pack(name.encode("ascii"), flags, len(body), _digest(name, body))


def _digest(name: str, body: bytes) -> bytes:
    return ir_digest(body) if name == IR else sha256(body)


def _table(data: bytes) -> tuple[list[_Row], int]:
    """Return the rows of the table, checked against the file size, and the offset of the first section."""
    if data[: len(MAGIC)] != MAGIC:
        raise BundleError(
            "not_a_bundle",
            "the file is not a Bobcat bundle; a policy source is compiled by `Policy.compile(Path(...))`",
        )
    if len(data) < _HEAD.size:
        raise BundleError("truncated", "the file ends inside its header")
    _, version, count = _HEAD.unpack_from(data)
    if version != FORMAT_VERSION:
        raise BundleError(
            "unsupported_format", f"the bundle has format {version}; this version reads format {FORMAT_VERSION}"
        )
    if count > MAX_SECTIONS:
        raise BundleError("too_large", f"the bundle has {count} sections; the limit is {MAX_SECTIONS}")
    end = _HEAD.size + count * _ROW.size
    if len(data) < end + _DIGEST_BYTES:
        raise BundleError("truncated", "the file ends inside its section table")
    if sha256(data[:end]) != data[end : end + _DIGEST_BYTES]:
        raise BundleError("digest_mismatch", "the section table does not have its digest")
    rows = [_parse_row(data[offset : offset + _ROW.size]) for offset in range(_HEAD.size, end, _ROW.size)]
    _check_rows(rows, len(data) - end - _DIGEST_BYTES)
    return rows, end + _DIGEST_BYTES


def _parse_row(raw: bytes) -> _Row:
    padded, flags, length, digest = _ROW.unpack(raw)
    try:
        name = padded.rstrip(b"\0").decode("ascii")
    except UnicodeDecodeError as error:
        raise BundleError("bad_table", "a section name is not ASCII") from error
    if not name.isidentifier():
        raise BundleError("bad_table", f"`{name!r}` is not a section name")
    return name, flags, length, digest, raw


def _check_rows(rows: Iterable[_Row], available: int) -> None:
    seen: set[str] = set()
    total = 0
    for name, flags, length, _, _ in rows:
        if name in seen:
            raise BundleError("bad_table", f"section `{name}` is in the table twice")
        if flags & ~CRITICAL:
            raise BundleError("bad_table", f"section `{name}` has unknown flags")
        cap = MAX_SECTION_BYTES.get(name, MAX_BUNDLE_BYTES)
        if length > cap:
            raise BundleError("too_large", f"section `{name}` has {length} bytes; the limit is {cap}")
        seen.add(name)
        total += length
    if total > available:
        raise BundleError("truncated", f"the sections have {total} bytes, but the file has only {available}")
    if total < available:
        raise BundleError("bad_table", f"{available - total} bytes follow the last section")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _sync_directory(directory: str) -> None:
    """Make the new directory entry durable, if the platform can open a directory."""
    from contextlib import suppress

    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
