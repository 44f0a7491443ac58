"""JSON that commands print. Needs no click."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping

from bobcat.text.display import safe_json_text


def json_text(value: object, indent: int | None = None) -> str:
    """Return JSON of plain data that reads back as the same data, including infinities and integers of any length."""
    mark = f"<{os.urandom(8).hex()}>"
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # a caller that passes a huge integer accepts the conversion time
    try:
        text = json.dumps(_plain(value, mark), indent=indent, ensure_ascii=False, allow_nan=False)
    finally:
        sys.set_int_max_str_digits(most)
    return text.replace(f'"-{mark}"', "-1e999").replace(f'"{mark}"', "1e999")


def encoded(text: str) -> bytes:
    """Return JSON in UTF-8; characters that are unsafe to display are escaped."""
    return safe_json_text(text).encode("utf-8", "backslashreplace")


def json_document(value: object) -> bytes:
    """Return one indented JSON document, as commands print it."""
    return encoded(json_text(value, indent=2))


def _plain(value: object, mark: str) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(item, mark) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, mark) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return mark if value > 0 else f"-{mark}"
    return value
