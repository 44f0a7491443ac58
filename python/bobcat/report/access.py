"""Who may do what: the verdicts that each tool can get in each environment and for each caller."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from bobcat.bounds.decisions import Bounds, Cell
from bobcat.bounds.known import TOOL, Exactly, Known, Other, declared_facts, is_text
from bobcat.ir.schema import IrPolicy
from bobcat.model.decision import ToolMetadata
from bobcat.report.columns import Columns, columns_of, tools_of

MAX_ROWS = 2_000
"""Tools of one table."""


@dataclass(frozen=True, slots=True)
class Row:
    """A tool, or every other tool for None, with a cell for each column; `sources` are those that name the tool."""

    tool: str | None
    sources: tuple[Literal["rules", "tools", "logs"], ...]
    cells: tuple[Cell, ...]
    declared: ToolMetadata | None = None
    """Its declaration, where that is known."""


@dataclass(frozen=True, slots=True)
class AccessTable:
    """The whole table. `left_out` is the number of tools beyond `MAX_ROWS`."""

    columns: Columns
    rows: tuple[Row, ...]
    left_out: int


def access_table(
    policy: IrPolicy, declarations: Mapping[str, ToolMetadata] | None = None, logged: Collection[str] = ()
) -> AccessTable:
    """Return the table of a policy: a row for each tool that rules, declarations or logs name, and one for all others.

    `declarations` are the known declarations of tools by name.
    """
    declarations = declarations or {}
    columns = columns_of(policy)
    named = tools_of(policy)
    every = sorted(named | {tool for tool in (*declarations, *logged) if is_text(tool)})
    bounds = Bounds(policy)
    rows = []

    def cells(known: Known) -> tuple[Cell, ...]:
        return tuple(bounds.of(known | column.known) for column in columns.columns)

    for tool in every[:MAX_ROWS]:
        sources: list[Literal["rules", "tools", "logs"]] = ["rules"] if tool in named else []
        sources += ["tools"] if tool in declarations else []
        sources += ["logs"] if tool in logged else []
        declared = declarations.get(tool)
        known = Known({**({} if declared is None else declared_facts(declared)), TOOL: Exactly(tool)})
        rows.append(Row(tool, tuple(sources), cells(known), declared))
    rows.append(Row(None, (), cells(Known({TOOL: Other(frozenset(every))}))))
    return AccessTable(columns, tuple(rows), max(0, len(every) - MAX_ROWS))
