"""The table of access as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from bobcat.bounds.decisions import ORDER, Cell, Part
from bobcat.bounds.known import CALLER, ENVIRONMENT, Path
from bobcat.ir.conjuncts import conjuncts
from bobcat.ir.pretty import expr_lines
from bobcat.ir.schema import IrRule, Leaf
from bobcat.pages.html import code, section, table, text
from bobcat.report.access import MAX_ROWS, Row
from bobcat.report.columns import NOUNS, Column
from bobcat.report.model import PolicyReport

WORDS = {
    "allow": ("allowed", "good"),
    "transform": ("allowed with changed arguments", "note"),
    "dry_run": ("dry run", "note"),
    "approve_required": ("after approval", "part"),
    "deny": ("denied", "bad"),
}
"""The words for the verdicts, with the classes of their colours."""
SOURCES = {"rules": "rules", "tools": "the tool set", "logs": "logs"}
MAX_PARTS = 12
"""Rules that one cell lists."""
MAX_CONDITION = 240
"""Characters of a condition in a cell."""


def access_section(report: PolicyReport) -> str:
    """The section `Who may do what`."""
    columns = report.access.columns.columns
    writer = _Cells(report)
    heads = [("tool", ""), *((column_label(column), "") for column in columns)]
    rows = (writer.row(row, len(columns)) for row in report.access.rows)
    return section("access", "Who may do what", [*_legend(report), table(heads, rows, id="access-table")])


def column_label(column: Column) -> str:
    """The head of a column."""
    if not column.labels:
        return "every caller"
    return ", ".join(_label(path, value) for path, value in column.labels)


def _label(path: Path, value: str | None) -> str:
    words = {ENVIRONMENT: "other environments", CALLER[0]: "other kinds of principals", CALLER[1]: "other principals"}
    return words[path] if value is None else code(value)


def _legend(report: PolicyReport) -> Iterator[str]:
    yield (
        "<p class=quiet>A single verdict holds for every call of the cell, whatever its arguments are. "
        "<b class=part>depends</b>: calls may get different verdicts, and the rules that may give them are listed in "
        "evaluation order; not every verdict of the list must occur. Calls that exceed a limit of the engine are "
        "left out.</p>"
    )
    for path, count in report.access.columns.left_out:
        yield f"<p class=quiet>The rules name {count:,} values of {NOUNS[path]}: too many for columns.</p>"
    if report.access.left_out:
        yield f"<p class=quiet>{report.access.left_out:,} tools beyond {MAX_ROWS:,} are left out.</p>"


def _listed(verdicts: tuple[str, ...]) -> str:
    *first, last = (WORDS[verdict][0] for verdict in verdicts)
    return f"{', '.join(first)} or {last}" if first else last


class _Cells:
    def __init__(self, report: PolicyReport) -> None:
        self._report = report
        self._condition = lru_cache(maxsize=None)(self._condition_of)

    def row(self, row: Row, columns: int) -> str:
        title = "every other tool" if row.tool is None else code(row.tool)
        named = f"<br><span class=quiet>from {', '.join(SOURCES[each] for each in row.sources)}</span>"
        head = f'<th scope="row">{title}{named if row.sources and row.sources != ("rules",) else ""}</th>'
        if columns > 1 and len(set(row.cells)) == 1:
            seen = {verdict for cell in row.cells for verdict in cell.seen}
            whole = replace(row.cells[0], seen=tuple(filter(seen.__contains__, ORDER)))
            return f'<tr>{head}<td colspan="{columns}">{self.cell(whole, row.tool)}</td></tr>'
        return f"<tr>{head}{''.join(f'<td>{self.cell(cell, row.tool)}</td>' for cell in row.cells)}</tr>"

    def cell(self, cell: Cell, tool: str | None) -> str:
        if cell.always is not None:
            words, kind = WORDS[cell.always]
            by = [self._name(part) for part in cell.parts[:MAX_PARTS]]
            more = len(cell.parts) - len(by)
            names = ", ".join(dict.fromkeys(by)) + (f" and {more:,} more" if more else "")
            return f'<b class="{kind}">{words}</b>' + (f" <span class=quiet>by {names}</span>" if names else "")
        parts = [self._part(part, tool) for part in cell.parts[:MAX_PARTS]]
        parts += [f"{len(cell.parts) - MAX_PARTS:,} more"] if len(cell.parts) > MAX_PARTS else []
        parts += ["denied where a rule cannot be evaluated"] if cell.fails else []
        parts += [f"example calls were {_listed(cell.seen)}"] if cell.seen else []
        items = "".join(f"<li>{part}</li>" for part in parts)
        return f'<details><summary class="part">depends: {_listed(cell.verdicts)}</summary><ul>{items}</ul></details>'

    def _part(self, part: Part, tool: str | None) -> str:
        words = WORDS[part.verdict][0]
        if part.rule is None:
            defaults = self._report.policy.ir.defaults
            if part.certain or defaults.on_missing_shadow == defaults.on_no_match:
                return f"otherwise {words} by default"
            missing = part.verdict == defaults.on_missing_shadow
            which = "if the tool is irreversible and has no shadow" if missing else "if it is reversible or has one"
            return f"otherwise {words} by default {which}"
        if part.certain:
            return f"otherwise {words} by {self._name(part)}"
        condition = self._condition(part.rule) if tool is not None else ""
        return f"{words} where {self._name(part)} matches" + (f": <code>{condition}</code>" if condition else "")

    def _name(self, part: Part) -> str:
        if part.rule is None:
            return "default"
        return f'<a href="#rule-{part.rule}">{text(self._report.rules[part.rule].id, limit=80)}</a>'

    def _condition_of(self, index: int) -> str:
        """The condition of a rule that names its tools, without that part; empty for other rules."""
        rule = self._report.policy.ir.rules[index]
        if not isinstance(rule, IrRule):
            return ""
        items = conjuncts(rule.match)
        rest = [item for item in items if not (isinstance(item, Leaf) and item.head == "tool")]
        if len(rest) == len(items):
            return ""
        whole = " and ".join(" ".join(line.strip() for line in expr_lines(item)) for item in rest)
        return text(whole, limit=MAX_CONDITION)
