"""The body of an answer: decompressed in steps, so that no more than the limit is ever held."""

from __future__ import annotations

import base64
import codecs
import zlib
from collections.abc import Iterable

from bobcat.providers.web.target import unreachable

MAX_MEMBERS = 64
"""Maximum number of members of a compressed body: each costs a copy of what follows."""
_CODINGS = ("gzip", "x-gzip", "deflate")
_AUTO = 32 + zlib.MAX_WBITS
"""Both formats of zlib, by their own headers."""
_TEXTS = {"": "utf-8", "utf-8": "utf-8", "us-ascii": "utf-8", "iso-8859-1": "latin-1", "windows-1252": "cp1252"}
_LONGEST_CHARACTER = 4


class Body:
    """Collects a body up to `limit` bytes after decompression, and as many before it.

    Raises `ToolError` for a coding that was not asked for, and for damaged data.
    """

    def __init__(self, coding: str, limit: int) -> None:
        coding = coding.strip().lower()
        if coding not in ("", "identity", *_CODINGS):
            raise unreachable(f"the answer has the content coding `{coding[:40]}`, which was not asked for")
        self._inflate = zlib.decompressobj(_AUTO) if coding in _CODINGS else None
        self._found = bytearray()
        self._limit = limit
        self._received = 0
        self._members = 1
        self.truncated = False

    def add(self, data: bytes) -> bool:
        """Add received bytes. Returns false when no more are wanted."""
        self._received += len(data)
        if self._inflate is None:
            self._keep(data)
        else:
            self._decompress(data)
        self.truncated = self.truncated or self._received > self._limit
        return not self.truncated

    def content(self) -> bytes:
        """Return the bytes. Raises `ToolError` for compressed data that ends early."""
        if self._inflate is not None and not (self.truncated or self._inflate.eof) and self._received:
            raise unreachable("the compressed answer is incomplete")
        return bytes(self._found)

    def _keep(self, data: bytes) -> None:
        free = self._limit - len(self._found)
        self._found += data[:free]
        self.truncated = self.truncated or len(data) > free

    def _decompress(self, data: bytes) -> None:
        assert self._inflate is not None
        try:
            while data and not self.truncated:
                if self._inflate.eof:  # a further member of a gzip file
                    self._members += 1
                    if self._members > MAX_MEMBERS:
                        raise unreachable(f"the compressed answer has more than {MAX_MEMBERS} members")
                    self._inflate = zlib.decompressobj(_AUTO)
                # One byte more than is free shows that there is more.
                self._keep(self._inflate.decompress(data, self._limit - len(self._found) + 1))
                data = self._inflate.unconsumed_tail or self._inflate.unused_data
        except zlib.error as error:
            raise unreachable(f"the compressed answer is damaged: {error}") from error


def as_text(content: bytes, content_type: str, *, truncated: bool) -> tuple[str, str]:
    """Return a body as `text`, or as `base64` if it is not text; and which of the two."""
    charset = _TEXTS.get(_charset(content_type.lower().split(";")[1:]))
    if charset is not None:
        try:
            return _decoded(content, charset, truncated), "text"
        except UnicodeDecodeError:
            pass
    return base64.b64encode(content).decode(), "base64"


def _decoded(content: bytes, charset: str, truncated: bool) -> str:
    decoder = codecs.getincrementaldecoder(charset)()
    text = decoder.decode(content, final=not truncated)
    rest, _ = decoder.getstate()
    if len(rest) >= _LONGEST_CHARACTER:
        raise UnicodeDecodeError(charset, content, 0, 1, "incomplete")
    return text


def _charset(parameters: Iterable[str]) -> str:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            return value.strip().strip('"')
    return ""
