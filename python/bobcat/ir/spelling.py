"""Definitions of memory in one line, close to the spelling of policies, for traces."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UnsetType

from bobcat.ir.pretty import leaf_text, path_text
from bobcat.ir.schema import (
    AllExpr,
    AllFormula,
    AnyExpr,
    AnyFormula,
    CallEvent,
    Definition,
    Expr,
    Formerly,
    Formula,
    FormulaDefinition,
    Leaf,
    Measure,
    NotExpr,
    NotFormula,
    Previous,
    ResultEvent,
    Since,
)
from bobcat.language.operators import SIGNS

MAX_CHARS = 160
"""Length of a text; longer ones are cut."""
_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"))


def run_path(name: str, memory: Mapping[str, Definition] | UnsetType) -> str:
    """Return the text of the value that a name under `run` stands for: `run.count.send_money.with_this within 1h`."""
    definition = None if isinstance(memory, UnsetType) else memory.get(name)
    match definition:
        case Measure():
            text = _measure(definition)
        case FormulaDefinition(formula):
            text = f"run: {_formula(formula)}"
        case _:
            text = path_text("run", (name,))
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 3]}..."


def source_name(name: str) -> str:
    """Return the author's name of a source, given its name in `IrPolicy.memory`."""
    return name.rpartition("-")[0] or name


def duration(micros: int) -> str:
    """Return a window as a policy writes it: `1h`, `90s`; a fraction of a second in seconds."""
    for size, unit in _UNITS:
        if micros >= size and micros % size == 0:
            return f"{micros // size}{unit}"
    return f"{micros / 1_000_000:g} seconds"


def _measure(measure: Measure) -> str:
    field = () if isinstance(measure.field, UnsetType) else measure.field
    head, of = "run.sum" if field else "run.count", measure.of
    if isinstance(of, Leaf) and of.head == "tool" and SIGNS.get(of.op) == "==" and isinstance(of.operand, str):
        found = path_text(head, (of.operand, *field)) + (".with_this" if measure.this else "")
    else:
        found = " ".join([head, *([path_text("args", field)] if field else []), f"of ({_expr(of)})"])
        found += " with_this" if measure.this else ""
    found += _within(measure.within)
    return found if isinstance(measure.by, UnsetType) else f"{found} by {measure.by}"


def _within(within: int | UnsetType) -> str:
    return "" if isinstance(within, UnsetType) else f" within {duration(within)}"


def _expr(expr: Expr) -> str:
    match expr:
        case Leaf():
            return leaf_text(expr)
        case NotExpr(item):
            return f"not ({_expr(item)})"
        case AllExpr(items):
            return " and ".join(map(_expr_part, items)) or "any"
        case AnyExpr(items):
            return " or ".join(map(_expr_part, items)) or "no one"


def _expr_part(expr: Expr) -> str:
    return _expr(expr) if isinstance(expr, Leaf | NotExpr) else f"({_expr(expr)})"


def _formula(formula: Formula) -> str:
    match formula:
        case CallEvent(match):
            return f"call ({_expr(match)})"
        case ResultEvent(match):
            return f"result ({_expr(match)})"
        case NotFormula(item):
            return f"not {_formula(item)}"
        case AllFormula(items):
            return f"({' and '.join(map(_formula, items))})" if items else "always"
        case AnyFormula(items):
            return f"({' or '.join(map(_formula, items))})" if items else "never"
        case Previous(item, within):
            return f"previous{_within(within)} {_formula(item)}"
        case Formerly(item, within):
            return f"formerly{_within(within)} {_formula(item)}"
        case Since(AnyFormula(()), start, within):
            return f"last{_within(within)} {_formula(start)}"
        case Since(holds, start, within):
            return f"{_formula(holds)} since{_within(within)} {_formula(start)}"
