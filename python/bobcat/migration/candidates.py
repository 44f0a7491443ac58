"""Candidate edits for a finding: texts that may say the same in the current spelling, to be proved by `migrate`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import yaml

from bobcat.diagnostics.model import Diagnostic, Span
from bobcat.formatting.tree import Entry, Value

RENAMED = {"verdict": "decision"}
"""Keys of a rule that have another name now."""
_DEFAULTS = {"match": "match: {}", "decision": "decision: deny"}
"""Keys that may be missing in lynx-agent, with the meaning that this has there."""
_MISSING = re.compile(r"has no `(match|decision)`$")


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of a part of a text."""

    start: int
    end: int
    text: str

    def apply(self, text: str) -> str:
        """Return the text with the replacement."""
        return text[: self.start] + self.text + text[self.end :]


class _Found(NamedTuple):
    entry: Entry
    parent: Value
    number: int


def candidates(finding: Diagnostic, text: str, root: Value) -> Iterator[Edit]:
    """Yield the edits that may resolve a finding, the best one first."""
    span = finding.related[0].span if finding.code == "E0111" and finding.related else finding.span
    if span is None or not span.line:
        return
    at = offset(text, span)
    found = _entry_at(root, at)
    if found is None:
        return
    missing = _MISSING.search(finding.message)
    if missing is not None:
        yield _inserted(_DEFAULTS[missing[1]], found, text)
    elif found.entry.key is not None and found.entry.key.start == at:
        yield from _of_key(finding, found, text)
    else:
        yield from _of_value(found.entry.value)


def offset(text: str, span: Span) -> int:
    """Return the index of the start of a span."""
    at = 0
    for _ in range(span.line - 1):
        at = text.index("\n", at) + 1
    return at + span.column - 1


def _entry_at(value: Value, at: int) -> _Found | None:
    """Return the entry whose key or scalar begins at an index."""
    for number, entry in enumerate(value.entries):
        if (entry.key is not None and entry.key.start == at) or (entry.value.start == at and not entry.value.entries):
            return _Found(entry, value, number)
        found = _entry_at(entry.value, at)
        if found is not None:
            return found
    return None


def _inserted(added: str, found: _Found, text: str) -> Edit:
    """Return the edit that puts an entry behind the id of a rule, or in front of its first entry."""
    entry = found.entry
    column = entry.start - text.rfind("\n", 0, entry.start) - 1
    between = ", " if found.parent.flow else "\n" + " " * column
    if entry.key is None or entry.key.text != "id" or entry.value.style in ("|", ">"):
        return Edit(entry.start, entry.start, f"{added}{between}")
    end = entry.value.end if found.parent.flow else text.find("\n", entry.value.end)
    end = len(text) if end < 0 else end
    return Edit(end, end, f"{between}{added}")


def _of_key(finding: Diagnostic, found: _Found, text: str) -> Iterator[Edit]:
    key = found.entry.key
    if key is None:
        return
    names = {entry.key.text for entry in found.parent.entries if entry.key is not None}
    renamed = RENAMED.get(key.text)
    if finding.code == "E0202" and renamed is not None and renamed not in names:
        yield Edit(key.start, key.end, renamed)
    elif finding.code in ("E0202", "E0111") and not found.parent.flow:
        yield from _commented_out(found, text)


def _commented_out(found: _Found, text: str) -> Iterator[Edit]:
    """Yield the edit that makes an entry which nothing reads a comment."""
    entry = found.entry
    start = text.rfind("\n", 0, entry.start) + 1
    end = text.find("\n", max(entry.value.end - 1, entry.start))
    end = len(text) if end < 0 else end
    before = text[start : entry.start]
    lines = text[entry.start : end].split("\n")
    if not before.strip():
        yield Edit(
            entry.start, end, "\n".join([f"# {lines[0]}", *(f"{before}# {line[len(before) :]}" for line in lines[1:])])
        )
    elif before.strip() == "-" and len(lines) == 1 and found.number == 0 and len(found.parent.entries) > 1:
        following = found.parent.entries[1]
        if not text[end : following.start].strip():
            dash = before[: before.index("-")]
            yield Edit(start, following.start, f"{dash}# {lines[0]}\n{before}")


def _of_value(value: Value) -> Iterator[Edit]:
    if value.kind != "scalar" or value.style in ("|", ">") or not value.source:
        return
    spellings = [value.text.lower(), json.dumps(value.text, ensure_ascii=False), value.text]
    try:
        typed = yaml.safe_load(value.source)
    except (yaml.YAMLError, ValueError):
        typed = None
    if isinstance(typed, bool | int | float | str):
        spellings += [json.dumps(typed), json.dumps(str(typed), ensure_ascii=False)]
        spellings += [str(int(typed))] if isinstance(typed, float) and typed.is_integer() else []
    if isinstance(typed, str) and re.fullmatch("-?[0-9]{1,18}", typed.strip()):
        spellings.append(str(int(typed)))
    for spelling in dict.fromkeys(spellings):
        if spelling and spelling != value.source:
            yield Edit(value.start, value.end, spelling)
