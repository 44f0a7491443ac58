"""A part of a request that is known: exact values at some paths, and texts that others do not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from bobcat.model.decision import ActionRequest, ToolMetadata
from bobcat.model.request_json import declared_data, request_from_data

Path: TypeAlias = tuple[str, ...]
TOOL: Path = ("tool",)
ENVIRONMENT: Path = ("context", "environment")
CALLER: tuple[Path, ...] = (("context", "principal", "kind"), ("context", "principal", "id"))
REVERSIBLE: Path = ("declared", "reversible")
HAS_SHADOW: Path = ("declared", "has_shadow")


@dataclass(frozen=True, slots=True)
class Exactly:
    """The value at a path: a text, or another JSON value of a declaration."""

    value: Any  # Any: JSON


@dataclass(frozen=True, slots=True)
class Other:
    """Any valid Unicode text but these."""

    texts: frozenset[str]


Fact: TypeAlias = Exactly | Other


@dataclass(frozen=True)
class Known:
    """Facts by path. Nothing is known about the other paths, not even that they exist."""

    facts: Mapping[Path, Fact]

    def __or__(self, other: Known) -> Known:
        return Known({**self.facts, **other.facts})

    @cached_property
    def request(self) -> ActionRequest:
        """A request with the exact values, and any others elsewhere."""
        data: dict[str, Any] = {"tool": "x"}  # Any: JSON
        for path, fact in self.facts.items():
            if isinstance(fact, Exactly):
                here = data
                for step in path[:-1]:
                    here = here.setdefault(step, {"kind": "user", "id": "x"} if step == "principal" else {})
                here[path[-1]] = fact.value
        return request_from_data(data)


def declared_facts(declared: ToolMetadata) -> dict[Path, Fact]:
    """Return what the declaration of a tool says of its calls."""
    return {
        ("declared", name): Exactly(list(value) if isinstance(value, tuple) else value)
        for name, value in declared_data(declared).items()
    }


def is_text(value: object) -> bool:
    """Return true for a text of valid Unicode."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)
