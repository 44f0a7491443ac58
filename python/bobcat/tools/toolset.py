"""Sets of tools: lookup by name, filters and unions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bobcat.model.frozen import FrozenDict
from bobcat.model.run import ToolDef
from bobcat.model.tool_names import check_tool_name
from bobcat.tools.decorator import _label, definition_of

_EMPTY: Mapping[str, ToolDef] = FrozenDict()


@dataclass(frozen=True, slots=True)
class ToolSet:
    """An immutable set of tools by name. The mapping it is built from is copied."""

    tools: Mapping[str, ToolDef] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        if not isinstance(self.tools, Mapping):
            raise TypeError(
                f"ToolSet takes a mapping of names to ToolDefs, got {type(self.tools).__name__}; "
                "for functions write ToolSet.from_functions(...)"
            )
        object.__setattr__(self, "tools", FrozenDict(self.tools))
        for name in self.tools:
            check_tool_name(name)

    @classmethod
    def from_functions(cls, *fns: Callable[..., Any]) -> ToolSet:
        """Build a set from decorated functions. Shadows attached later are not included."""
        found: dict[str, ToolDef] = {}
        for fn in fns:
            definition = definition_of(fn)
            if definition is None and isinstance(fn, list | tuple | set | frozenset):
                raise TypeError(
                    f"ToolSet.from_functions takes functions, got a {type(fn).__name__}; write from_functions(*tools)"
                )
            if definition is None:
                raise TypeError(f"{_label(fn)} is not decorated with @tool — cannot include in ToolSet")
            if definition.name in found:
                raise ValueError(f"Duplicate tool name {definition.name!r} in ToolSet.from_functions")
            found[definition.name] = definition
        return cls(found)

    def with_tool(self, t: ToolDef) -> ToolSet:
        """Return this set with one more tool."""
        if t.name in self.tools:
            raise ValueError(
                f"ToolSet already contains a tool named {t.name!r}; use without_tool first or build a new ToolSet"
            )
        return ToolSet({**self.tools, t.name: t})

    def without_tool(self, name: str) -> ToolSet:
        """Return this set without one tool; the same tools when it is missing."""
        return ToolSet({known: definition for known, definition in self.tools.items() if known != name})

    def union(self, other: ToolSet) -> ToolSet:
        """Return the union of both sets. A name may be in one of them only."""
        overlap = self.tools.keys() & other.tools.keys()
        if overlap:
            raise ValueError(f"ToolSet.union collision on names: {sorted(overlap)}")
        return ToolSet({**self.tools, **other.tools})

    def names(self) -> tuple[str, ...]:
        """The names, sorted."""
        return tuple(sorted(self.tools))

    def get(self, name: str) -> ToolDef:
        """The tool of that name. Raises `KeyError` for an unknown name."""
        found = self.tools.get(name)
        if found is None:
            raise KeyError(f"Unknown tool: {name}")
        return found

    def __len__(self) -> int:
        return len(self.tools)
