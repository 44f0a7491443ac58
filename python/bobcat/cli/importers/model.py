"""Imported rules and notes, and the policy that they are written as.

INVARIANT: a call that the policy permits is one that the source permits. A permission that cannot be said exactly is
made narrower or is left out, a restriction wider; each of these has a note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from bobcat.text.display import safe_text

Decision: TypeAlias = Literal["allow", "approve_required", "deny"]
Match: TypeAlias = dict[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True)
class ImportedRule:
    """One rule of the policy."""

    decision: Decision
    match: Match
    place: str
    """The file and line of the source."""
    source: str
    """The rule as the source has it."""
    reason: str | None = None
    priority: int = 0
    wider: bool = False
    """A restriction that holds for more calls than that of the source."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the policy does not say as the source does."""

    place: str
    source: str
    effect: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The content of the sources."""

    rules: tuple[ImportedRule, ...]
    notes: tuple[Note, ...]
    on_no_match: Decision = "approve_required"


class ImportFailed(Exception):
    """A source that cannot be read, or a part of it that may hold a restriction. The message begins with the place."""


def policy_text(imported: Imported, head: str) -> str:
    """Return the policy as YAML, with the places of the source as comments."""
    lines = [
        f"# {_comment(head)}",
        "version: 1",
        "defaults:",
        f"  on_no_match: {imported.on_no_match}",
        f"  on_missing_shadow: {imported.on_no_match}",
        "rules:" if imported.rules else "rules: []",
    ]
    numbers = dict.fromkeys(("allow", "approve_required", "deny"), 0)
    for rule in imported.rules:
        numbers[rule.decision] += 1
        lines += [
            f"  # {_comment(rule.place)}: {_comment(rule.source)}",
            f"  - id: {_IDS[rule.decision]}-{numbers[rule.decision]}",
            *([f"    priority: {rule.priority}"] if rule.priority else []),
            f"    match: {_flow(rule.match)}",
            f"    decision: {rule.decision}",
            f"    reason: {_quoted(rule.reason or f'`{rule.source}` of the imported rules')}",
        ]
    return "\n".join(lines) + "\n"


_IDS = {"allow": "allow", "approve_required": "ask", "deny": "deny"}


def _comment(text: str) -> str:
    return safe_text(text)


def _flow(value: object) -> str:
    match value:
        case Mapping():
            return "{" + ", ".join(f"{_quoted(str(key))}: {_flow(item)}" for key, item in value.items()) + "}"
        case str():
            return _quoted(value)
        case Sequence():
            return "[" + ", ".join(map(_flow, value)) + "]"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case _:
            raise AssertionError(value)


def _quoted(text: str) -> str:
    """Return a double-quoted scalar of YAML."""
    cells = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in text)
    return f'"{"".join(cells)}"'
