"""The paths of a request that the rules about a tool read, and values set there."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from bobcat.ir.conjuncts import named_tools
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import IrPolicy, IrRule, Leaf
from bobcat.ir.visit import leaves, refs

Path: TypeAlias = tuple[str, ...]
Data: TypeAlias = dict[str, Any]  # Any: JSON


class Absent:
    """Sentinel for a path that a request does not have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = Absent()


def rules_about(policy: IrPolicy, tool: str) -> Iterator[tuple[int, IrRule]]:
    """Yield the declarative rules that may be about a tool, with their indexes."""
    for index, rule in enumerate(policy.rules):
        if isinstance(rule, IrRule):
            tools = named_tools(rule)
            if not tools or tool in tools:
                yield index, rule


def paths_read(rules: Iterator[tuple[int, IrRule]]) -> list[Path]:
    """Return the paths that rules read, heads included, each once, those of the tool first."""
    found: dict[Path, None] = {("tool",): None}
    for _, rule in rules:
        for leaf in leaves(rule.match):
            for path in leaf_paths(leaf):
                found[path] = None
    return list(found)


def leaf_paths(leaf: Leaf) -> Iterator[Path]:
    """Yield the paths that one comparison reads; none of those of the run."""
    if not reads_memory(leaf):
        yield (str(leaf.head), *leaf.path)
    yield from (path for path in refs(leaf.operand) if path[0] != "run")


def value_at(data: Data, path: Path) -> Any:  # Any: JSON, or ABSENT
    """Return the value at a path of a request in JSON data."""
    here: Any = data
    for step in path:
        if not isinstance(here, dict) or step not in here:
            return ABSENT
        here = here[step]
    return here


def with_value(data: Data, path: Path, value: Any) -> Data | None:  # Any: JSON, or ABSENT
    """Return a copy of a request with another value at a path; None where another value is in the way."""
    changed = copy.deepcopy(data)
    here: Any = changed
    for step in path[:-1]:
        here = here.setdefault(step, {})
        if not isinstance(here, dict):
            return None
    if value is ABSENT:
        if len(path) == 1:
            return None
        here.pop(path[-1], None)
    else:
        here[path[-1]] = copy.deepcopy(value)
    return changed


def path_name(path: Sequence[str]) -> str:
    """Return a path as policies write it."""
    return ".".join(path)
