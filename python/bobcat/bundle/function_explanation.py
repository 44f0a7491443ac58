"""Trace of a compiled Python function on one request: the deciding statement, and the conditions before it.

`explain_function` builds one from the core's trace and the positions in the source map. It decides nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bobcat.diagnostics.model import Span

MOST_SHOWN = 160
"""Characters of a condition."""

Truth = Literal["true", "false", "error"]


@dataclass(frozen=True, slots=True)
class Read:
    """A value that a condition read: a local by name, or a path of the request such as `args.path`.

    `value` is JSON text, or the `repr` of a container that the function created; a long one is truncated,
    with the number of omitted characters. None if the value is absent.
    """

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ExplainedCondition:
    """The condition of one `if`, `elif`, `assert`, `case` or conditional expression that returns.

    `outcome` and `reads` are of the last evaluation, `times` is the number of evaluations. `text` is the source
    if the bundle has it, else a listing of the code. `span` is None if unknown.
    """

    outcome: Truth
    text: str
    times: int
    reads: tuple[Read, ...]
    span: Span | None


@dataclass(frozen=True, slots=True)
class FunctionExplanation:
    """Path of a function to its decision. `decided_at` is the `return` that was reached, or the statement that raised;
    None if the function reached its end, or the position is unknown. Conditions are in the order of their first
    evaluation.
    """

    decided_at: Span | None
    conditions: tuple[ExplainedCondition, ...]
