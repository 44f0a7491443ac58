"""`fs.read`, `fs.list` and `fs.stat`. Synchronous: they run in a thread."""

from __future__ import annotations

import base64
import codecs
import os
import stat
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from bobcat.errors import ToolError
from bobcat.providers.filesystem.paths import Place, kind_of
from bobcat.providers.filesystem.root import PROBE

Encoding: TypeAlias = Literal["utf-8", "base64"]
_CHUNK = 1024 * 1024
Result: TypeAlias = dict[str, Any]  # Any: JSON


def read(place: Place, encoding: Encoding, offset: int, max_bytes: int, *, hard_links: bool) -> Result:
    """Read at most `max_bytes` from `offset` on. `truncated` is true when the file goes on behind them."""
    with place.errors():
        fd, status = place.open_regular(os.O_RDONLY, links=hard_links)
        try:
            place.record(status)
            data = _read_at(fd, offset, max_bytes + 1)
        finally:
            os.close(fd)
    truncated = len(data) > max_bytes
    content, used = _decoded(place, data[:max_bytes], encoding, partial=truncated)
    return {
        "path": place.given,
        "content": content,
        "encoding": encoding,
        "size": status.st_size,
        "next_offset": offset + used if truncated else None,
        "truncated": truncated,
    }


def content_of(place: Place, max_bytes: int) -> bytes | None:
    """The whole content of a regular file, or None for one that is longer. Records nothing."""
    fd, _ = place.open_regular(os.O_RDONLY, links=True)
    try:
        data = _read_at(fd, 0, max_bytes + 1)
    finally:
        os.close(fd)
    return None if len(data) > max_bytes else data


def list_directory(place: Place, max_entries: int) -> Result:
    """List the names of a directory, with type and size, in order. `truncated` is true when there are more."""
    entries: list[Result] = []
    with place.errors():
        fd = place.open(os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK)
        try:
            place.record(os.fstat(fd))
            with os.scandir(fd) as found:
                names = []
                for entry in found:
                    names.append(entry.name)
                    if len(names) > max_entries:
                        break
            truncated = len(names) > max_entries
            for name in sorted(names[:max_entries]):
                try:
                    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
                except FileNotFoundError:
                    continue
                entries.append({"name": _shown(name), "type": kind_of(status), "size": _size(status)})
        finally:
            os.close(fd)
    return {"path": place.given, "entries": entries, "truncated": truncated}


def describe(place: Place) -> Result:
    """Type, size, permissions and time of a file or directory. The file is not opened for reading."""
    with place.errors():
        fd = place.open(PROBE)
        try:
            status = os.fstat(fd)
            place.record(status)
        finally:
            os.close(fd)
    return {
        "path": place.given,
        "type": kind_of(status),
        "size": _size(status),
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
        "modified": datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="milliseconds"),
        "links": status.st_nlink,
    }


def encoded(content: str, encoding: Encoding, max_bytes: int, path: str) -> bytes:
    """The bytes of a `content`. Raises `ToolError` for malformed base64 and for more than `max_bytes`."""
    try:
        data = content.encode() if encoding == "utf-8" else base64.b64decode(content, validate=True)
    except ValueError:
        raise ToolError(f"the content for `{path}` is not {encoding}", "encoding") from None
    if len(data) > max_bytes:
        raise ToolError(f"the content for `{path}` has {len(data)} bytes; at most {max_bytes} are written", "too_large")
    return data


def _read_at(fd: int, offset: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0:
        part = os.pread(fd, min(count, _CHUNK), offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        count -= len(part)
    return b"".join(parts)


def _decoded(place: Place, data: bytes, encoding: Encoding, *, partial: bool) -> tuple[str, int]:
    """The text of the bytes, and how many of them it has: a character that is cut in two belongs to the next part."""
    if encoding == "base64":
        return base64.b64encode(data).decode("ascii"), len(data)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data, final=not partial)
    except UnicodeDecodeError:
        raise place.error('is not text in UTF-8 from there on; read it with encoding="base64"', "encoding") from None
    return text, len(data) - len(decoder.getstate()[0])


def _size(status: os.stat_result) -> int | None:
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _shown(name: str) -> str:
    """A name as text: bytes that are not UTF-8 are written as escapes, and cannot be opened by that name."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
