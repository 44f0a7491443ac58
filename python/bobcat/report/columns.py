"""The columns of a table of access: the environments and callers that rules distinguish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from bobcat.bounds.code_outcomes import compared_texts
from bobcat.bounds.known import CALLER, ENVIRONMENT, TOOL, Exactly, Fact, Known, Other, Path, is_text
from bobcat.ir.schema import FunctionRule, HostRule, IrPolicy, IrRule
from bobcat.ir.visit import leaves

MAX_COLUMNS = 12
"""Columns of one table. Beyond them, what has most values is no column, and any value in all cells."""
NOUNS = {ENVIRONMENT: "environment", CALLER[0]: "kind of principal", CALLER[1]: "principal"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its labels by path, and what is known in it."""

    labels: tuple[tuple[Path, str | None], ...]
    """The value at each path; None for any other one."""
    known: Known


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table; `left_out` are the paths with too many values for columns, with their number."""

    columns: tuple[Column, ...]
    left_out: tuple[tuple[Path, int], ...]


def columns_of(policy: IrPolicy) -> Columns:
    """Return the columns for a policy: one without labels if no rule distinguishes callers."""
    values = {path: _ordered(path, policy) for path in (ENVIRONMENT, *CALLER)}
    values = {path: found for path, found in values.items() if found}
    left_out: list[tuple[Path, int]] = []
    while values and _count(values) > MAX_COLUMNS:
        largest = max(values, key=lambda path: len(values[path]))
        left_out.append((largest, len(values.pop(largest))))
    return Columns(tuple(_columns(values)), tuple(left_out))


def tools_of(policy: IrPolicy) -> frozenset[str]:
    """Return the tools that rules name."""
    return frozenset(value for path, value in _texts(policy) if path == TOOL)


def _count(values: dict[Path, tuple[str, ...]]) -> int:
    count = 1
    for found in values.values():
        count *= len(found) + 1
    return count


def _columns(values: dict[Path, tuple[str, ...]]) -> Iterator[Column]:
    choices = [[*((path, text) for text in texts), (path, None)] for path, texts in values.items()]
    for labels in product(*choices):
        facts: dict[Path, Fact] = {
            path: Other(frozenset(values[path])) if text is None else Exactly(text) for path, text in labels
        }
        yield Column(labels, Known(facts))


def _ordered(path: Path, policy: IrPolicy) -> tuple[str, ...]:
    return tuple(sorted({value for found, value in _texts(policy) if found == path}))


def _texts(policy: IrPolicy) -> Iterator[tuple[Path, str]]:
    """Yield the texts that rules compare with fields, with the paths of these; not those that are no valid Unicode."""
    for rule in policy.rules:
        match rule:
            case IrRule():
                for leaf in leaves(rule.match):
                    operands = leaf.operand if isinstance(leaf.operand, list) else [leaf.operand]
                    if leaf.op in ("eq", "in", "not_in"):
                        path = (leaf.head, *leaf.path)
                        yield from ((path, each) for each in operands if is_text(each))
            case FunctionRule():
                yield from (pair for pair in compared_texts(rule) if is_text(pair[1]))
            case HostRule():
                pass
