"""A file beside a message: its name, its media type, and the digest of its bytes."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from bobcat.errors import AttachmentError

SIGNATURES = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
    ("application/pdf", b"%PDF-"),
)
"""The first bytes of formats whose content is checked; `image/webp` has its own at two places."""

_CHECKED = frozenset({media_type for media_type, _ in SIGNATURES} | {"image/webp"})
_MAX_NAME = 255
_TEXT_TYPES = ("application/json", "application/xml", "application/yaml", "application/toml")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file beside a message. `digest` is the SHA-256 of its bytes, in hexadecimal; `size` is their number.

    `data` is None where only the reference is known, as in a journal: `AttachmentStore.load` finds the bytes. Two
    attachments are equal when their references are. Raises `AttachmentError` for an invalid name or media type, and for
    data that the media type, the size or the digest contradicts.
    """

    name: str
    media_type: str
    digest: str
    size: int
    data: bytes | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_media_type(self.media_type)
        if type(self.digest) is not str or len(self.digest) != 64 or set(self.digest) - set("0123456789abcdef"):
            raise AttachmentError("digest", "the digest of an attachment must be 64 lower-case hexadecimal digits")
        if type(self.size) is not int or self.size < 0:
            raise AttachmentError("size", f"the size of an attachment must be at least 0, got {self.size!r}")
        if self.data is None:
            return
        if type(self.data) is not bytes:
            raise AttachmentError("data", f"the data of an attachment must be bytes, got {type(self.data).__name__}")
        if len(self.data) != self.size or sha256(self.data).hexdigest() != self.digest:
            raise AttachmentError("damaged", f"the data of attachment {self.name!r} is not that of its digest")
        check_content(self.media_type, self.data)

    @classmethod
    def from_bytes(cls, data: bytes, *, media_type: str | None = None, name: str = "attachment") -> Self:
        """Create an attachment. Without a media type, it follows from the content, then from the name."""
        data = bytes(data)
        return cls(name, media_type or _guessed(data, name), sha256(data).hexdigest(), len(data), data)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, media_type: str | None = None, name: str | None = None) -> Self:
        """Read a file. Raises `OSError` where it cannot be read."""
        file = Path(path)
        return cls.from_bytes(file.read_bytes(), media_type=media_type, name=name or file.name)

    @classmethod
    def text(cls, text: str, *, name: str = "text.txt", media_type: str = "text/plain") -> Self:
        """Create an attachment from text."""
        return cls.from_bytes(text.encode(), media_type=media_type, name=name)

    @classmethod
    def from_reference(cls, reference: object) -> Self:
        """The attachment of a reference, without its data. Raises `AttachmentError` for an invalid one."""
        if not isinstance(reference, Mapping) or set(reference) != {"name", "media_type", "digest", "size"}:
            raise AttachmentError("reference", "a reference to an attachment has name, media_type, digest and size")
        return cls(**reference)

    def reference(self) -> dict[str, Any]:  # Any: JSON
        """The reference as JSON: everything but the data."""
        return {"name": self.name, "media_type": self.media_type, "digest": self.digest, "size": self.size}

    @property
    def is_image(self) -> bool:
        """True for an image."""
        return self.media_type.startswith("image/")

    @property
    def is_text(self) -> bool:
        """True for text of any kind, JSON and XML included."""
        return self.media_type.startswith("text/") or self.media_type in _TEXT_TYPES

    def content(self) -> bytes:
        """The data. Raises `AttachmentError` (`not_loaded`) where only the reference is known."""
        if self.data is None:
            raise AttachmentError("not_loaded", f"the data of attachment {self.name!r} is not loaded")
        return self.data


def check_content(media_type: str, data: bytes) -> None:
    """Raise `AttachmentError` for an image, a PDF or text whose bytes are of another format."""
    found = detected(data)
    if media_type in _CHECKED and found != media_type:
        raise AttachmentError("media_type", f"the content is not {media_type}" + (f" but {found}" if found else ""))
    if media_type.startswith("text/"):
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise AttachmentError("media_type", f"the content is not {media_type}: it is not UTF-8") from error


def detected(data: bytes) -> str | None:
    """The media type that the first bytes declare, or None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for media_type, start in SIGNATURES if data.startswith(start)), None)


def _guessed(data: bytes, name: str) -> str:
    known = detected(data)
    if known is not None:
        return known
    named = mimetypes.guess_type(name)[0]
    if named is not None and named not in _CHECKED:
        return named
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain"


def _check_name(name: object) -> None:
    if type(name) is not str or not 0 < len(name) <= _MAX_NAME or not name.isprintable() or set(name) & {"/", "\\"}:
        raise AttachmentError(
            "name", f"the name of an attachment must be 1 to {_MAX_NAME} printable characters without slashes"
        )


def _check_media_type(media_type: object) -> None:
    parts = media_type.split("/") if type(media_type) is str else []
    valid = all(part and part.isascii() and not set(part) - _TOKEN for part in parts)
    if len(parts) != 2 or not valid:
        raise AttachmentError("media_type", f"{media_type!r} is not a media type, such as `image/png`")


_TOKEN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789!#$&^_.+-")
