"""Decoding of policy files as UTF-8."""

from __future__ import annotations

import re

from bobcat.bundle import is_bundle
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Span

_LINE_BREAK = re.compile("\r\n|[\n\r]")


def decode(data: bytes, file: str) -> tuple[str, Diagnostic | None]:
    """Decode UTF-8 without its byte order mark; on error, return the displayable text and a diagnostic."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff"), None
    except UnicodeDecodeError as error:
        before = _LINE_BREAK.split(data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        line, column = len(before), len(before[-1]) + 1
        what = f"the byte 0x{data[error.start]:02x}, which is not UTF-8"
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        # A bundle means that the caller used the wrong function, not the wrong encoding.
        help = "this is a bundle, not a policy source: it is loaded by `Policy.load`" if is_bundle(data) else None
        return text, diagnose("E0102", Span(file, line, column, line, column + 1), what=what, help=help)
