"""The paths of a request that policies can test: one row each, with everything that other modules know of a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from bobcat.language.kinds import OperandKind
from bobcat.model.decision import Effect

Head: TypeAlias = Literal["tool", "args", "declared", "context", "run", "result", "record"]
"""The heads of paths in the IR: those of a request, then those of the memory of a run."""
HEADS: tuple[Head, ...] = ("tool", "args", "declared", "context")
"""The heads of a request."""


@dataclass(frozen=True, slots=True)
class PathSpec:
    """One path: its head and steps, and the type of the value there.

    `values` are the only strings there, if they are a closed set; `sample` is a plausible value; lints search with the
    values `tried`.
    """

    path: tuple[str, ...]
    kind: OperandKind
    values: tuple[str, ...] = ()
    sample: Any = "x"  # Any: JSON
    tried: tuple[Any, ...] = ()  # Any: JSON

    @property
    def open(self) -> bool:
        """Return true if a policy names entries below."""
        return self.kind is OperandKind.MAPPING


_CALLER = ("context", "principal")
PATHS: dict[tuple[str, ...], PathSpec] = {
    row.path: row
    for row in (
        PathSpec(("tool",), OperandKind.STRING),
        PathSpec(("args",), OperandKind.MAPPING),
        PathSpec(("declared", "cost"), OperandKind.STRING, ("low", "medium", "high"), sample="low"),
        PathSpec(("declared", "reversible"), OperandKind.BOOL, sample=True, tried=(True, False)),
        PathSpec(("declared", "scope"), OperandKind.STRINGS),
        PathSpec(("declared", "blast_radius_hint"), OperandKind.NULLABLE_NUMBER, sample=1, tried=(1, 10, 1_000)),
        PathSpec(("declared", "has_shadow"), OperandKind.BOOL, sample=True, tried=(False, True)),
        PathSpec(("declared", "isolation"), OperandKind.NULLABLE_STRING),
        PathSpec(("declared", "effect"), OperandKind.STRING, get_args(Effect)),
        PathSpec(("context", "environment"), OperandKind.STRING),
        PathSpec(("context", "workspace"), OperandKind.STRING),
        PathSpec(("context", "correlation_id"), OperandKind.STRING),
        PathSpec(("context", "step_seq"), OperandKind.NUMBER, sample=1, tried=(1, 10, 100)),
        PathSpec(("context", "timestamp"), OperandKind.TIME, sample="2026-01-01T00:00:00+00:00"),
        PathSpec(("context", "extra"), OperandKind.MAPPING),
        PathSpec(("context", "task"), OperandKind.STRING, sample="Pay the bill of 100 from Ann."),
        PathSpec(("context", "principal"), OperandKind.MAPPING),
        PathSpec((*_CALLER, "kind"), OperandKind.STRING, ("user", "service", "agent"), sample="user"),
        PathSpec((*_CALLER, "id"), OperandKind.STRING),
        PathSpec((*_CALLER, "name"), OperandKind.NULLABLE_STRING),
    )
}


LEDGER_SCOPES = {
    **{name: name for name in ("run", "thread", "principal", "tenant", "day", "month")},
    "daily": "day",
    "monthly": "month",
}
"""The names after `ledger` in a key, and the scopes of caps that they stand for."""
LEDGER_FIELDS = ("remaining", "spent", "reserved", "remaining_tokens", "spent_tokens", "reserved_tokens")
"""What a key reads of a scope: dollars, or tokens."""


def fields(*group: str) -> dict[str, OperandKind]:
    """Return the fields of a group of paths, by name."""
    size = len(group)
    return {path[size]: row.kind for path, row in PATHS.items() if path[:size] == group and len(path) == size + 1}


def closed_paths() -> dict[str, OperandKind]:
    """Return the paths with a declared type, as keys."""
    return {".".join(path): row.kind for path, row in PATHS.items() if not row.open}


def values_at(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the only strings that a path can hold; empty if they are not a closed set."""
    row = PATHS.get(path)
    return row.values if row else ()
