"""A settings file of a host: read strictly, shown as a difference, and replaced atomically.

A file that cannot be written back without loss (comments, a key twice) is refused.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bobcat.bundle.file import write
from bobcat.cli.failures import InputError, reason_of

JsonObject = dict[str, Any]  # Any: JSON

_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|(//[^\n]*|/\*.*?\*/)', re.DOTALL)
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOM = "\ufeff"


class UnreadableSettings(Exception):
    """The file is not one JSON object. `comments`: it has comments."""

    def __init__(self, message: str, *, comments: bool = False) -> None:
        super().__init__(message)
        self.comments = comments


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file as it is now."""

    path: Path
    data: bytes | None
    """The bytes of the file; None if it is missing."""
    settings: JsonObject

    @property
    def text(self) -> str:
        """The text of the file; empty if it is missing."""
        return (self.data or b"").decode()

    def render(self, settings: JsonObject) -> str:
        """Return `settings` as text in the style of the file: its indentation, its end, its line breaks."""
        found = _INDENT.search(self.text)
        indent = found[1] if found else 2
        text = json.dumps(settings, indent=indent, ensure_ascii=False)
        if (self.data and self.text.isascii()) or _SURROGATE.search(text):
            text = json.dumps(settings, indent=indent)
        if self.data is None or not self.text.strip() or self.text.endswith("\n"):
            text += "\n"
        if "\r\n" in self.text:
            text = text.replace("\n", "\r\n")
        return (_BOM if self.text.startswith(_BOM) else "") + text

    def difference(self, text: str | None) -> list[str]:
        """Return the unified difference to `text`; None: to no file."""
        old, new = _lines(self.text), _lines(text or "")
        before = "/dev/null" if self.data is None else str(self.path)
        after = "/dev/null" if text is None else str(self.path)
        return list(difflib.unified_diff(old, new, before, after, lineterm=""))

    def replace(self, text: str | None) -> None:
        """Write the file, or remove it for None. Raises `InputError`; the file is then as before.

        A file that has changed since it was read stays as it is.
        """
        try:
            if _read(self.path) != self.data:
                raise InputError(f"`{self.path}` changed while it was read; run the command again")
            if text is None:
                self.path.unlink()
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write(self.path, text.encode(), keep_mode=True)
        except OSError as error:
            raise InputError(f"cannot write `{self.path}`: {reason_of(error)}") from error


def read_settings(path: Path, *, comments: bool = False) -> SettingsFile:
    """Read a settings file; a missing or empty one has no settings. `comments`: skip them, for reading only.

    Raises `UnreadableSettings` and `InputError`.
    """
    try:
        data = _read(path)
    except OSError as error:
        raise InputError(f"cannot read `{path}`: {reason_of(error)}") from error
    if data is None:
        return SettingsFile(path, None, {})
    try:
        text = data.decode().removeprefix(_BOM)
    except UnicodeDecodeError as error:
        raise UnreadableSettings(f"`{path}` is not UTF-8 text (byte 0x{data[error.start]:02x})") from error
    if comments:
        text = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    if not text.strip():
        return SettingsFile(path, data, {})
    try:
        settings = json.loads(text, object_pairs_hook=_pairs, parse_float=_float, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        comments = any(match[1] for match in _COMMENT.finditer(text))
        place = f":{error.lineno}:{error.colno}: {error.msg.lower()}" if isinstance(error, json.JSONDecodeError) else ""
        message = f"{path}{place}" if place else f"`{path}`: {error}"
        raise UnreadableSettings(
            message + ("; the file has comments" if comments else ""), comments=comments
        ) from error
    if not isinstance(settings, dict):
        raise UnreadableSettings(f"`{path}` is not a JSON object")
    return SettingsFile(path, data, settings)


def _lines(text: str) -> list[str]:
    """Split at line feeds alone: JSON holds other line breaks as they are."""
    return text.removesuffix("\n").split("\n") if text else []


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        if path.is_symlink():
            raise
        return None


def _pairs(pairs: list[tuple[str, Any]]) -> JsonObject:  # Any: JSON
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {json.dumps(twice)} is there twice")
    return found


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text} is too large")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
