"""Example calls for the table of access: verdicts that calls of a cell really get.

The bounds of a cell may be too wide; what a probe gets is certain. A probe outside of its bounds would widen them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from bobcat import _core
from bobcat.bounds.decisions import ORDER, Cell
from bobcat.bounds.known import CALLER, ENVIRONMENT, Exactly, Path
from bobcat.bundle import Policy
from bobcat.doctor.probe_requests import probe_calls
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata
from bobcat.report.access import AccessTable, Row
from bobcat.report.columns import Column

MAX_PROBES = 4_000
"""Calls that are tried in each column."""

Found = dict[tuple[str, int], set[str]]
"""The verdicts of example calls, by tool and column."""


def probed(policy: Policy, table: AccessTable) -> AccessTable:
    """Return the table with the verdicts of example calls.

    No call is tried where Python callables decide, which may have effects, or the state of a run.
    """
    if policy.manifest.host_rules or policy.remembers or policy.profile != "strict":
        return table
    calls = [call for _, call in islice(probe_calls(policy.ir), MAX_PROBES)]
    tools = frozenset(row.tool for row in table.rows if row.tool is not None)
    declared = {row.tool: row.declared for row in table.rows if row.tool is not None and row.declared is not None}
    found: Found = {}
    for index, column in enumerate(table.columns.columns):
        moved = [_in_column(call, column, declared.get(call.tool)) for call in calls]
        for call, decision in zip(moved, _core.evaluate_many(policy, moved), strict=True):
            if call.tool in tools or not table.left_out:
                tool = call.tool if call.tool in tools else ""
                found.setdefault((tool, index), set()).add(decision.verdict.value)
    return replace(table, rows=tuple(replace(row, cells=tuple(_cells(row, found))) for row in table.rows))


def _cells(row: Row, found: Found) -> Iterator[Cell]:
    for index, cell in enumerate(row.cells):
        seen = found.get((row.tool or "", index), set())
        yield replace(
            cell,
            verdicts=tuple(verdict for verdict in ORDER if verdict in seen or verdict in cell.verdicts),
            seen=tuple(verdict for verdict in ORDER if verdict in seen),
        )


def _in_column(call: ActionRequest, column: Column, declared: ToolMetadata | None) -> ActionRequest:
    """The call in the environment, and by the caller, of a column."""
    context = call.context
    for path, label in column.labels:
        context = _with(context, path, _value(path, label, column))
    return ActionRequest(call.tool, call.args, call.declared if declared is None else declared, context)


def _with(context: ExecutionContext, path: Path, value: str) -> ExecutionContext:
    if path == ENVIRONMENT:
        return replace(context, environment=value)
    caller = context.principal
    kind, id = (value, caller.id) if path == CALLER[0] else (caller.kind, value)
    return replace(context, principal=Principal(kind, id, caller.name))  # type: ignore[arg-type]  # any text


def _value(path: Path, label: str | None, column: Column) -> str:
    """The value of a column; for all others one that no rule names."""
    if label is not None:
        return label
    fact = column.known.facts[path]
    named = frozenset() if isinstance(fact, Exactly) else fact.texts
    usual = [text for text in ("user", "service", "agent") if path == CALLER[0] and text not in named]
    return next(
        text for text in (*usual, *(f"other-{number}" for number in range(len(named) + 1))) if text not in named
    )
