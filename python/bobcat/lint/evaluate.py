"""Python evaluation of one comparison, to choose among candidate values before the core is called.

The rows of operators evaluate it; see `bobcat.language.truth`.
"""

from __future__ import annotations

from typing import Any

from bobcat.ir.constants import from_const
from bobcat.ir.schema import Const
from bobcat.language.operators import OPERATORS
from bobcat.language.truth import all_true


def holds(op: str, operand: Const, value: Any) -> bool | None:  # Any: JSON
    """Return true if a value passes a test; None if the test cannot be evaluated."""
    row = OPERATORS[op]
    if not row.nests:
        return row.holds(value, from_const(operand))

    def passes(item: Any) -> bool | None:  # Any: JSON
        return all_true(holds(test["op"], test["operand"], item) for test in operand["tests"])

    return row.holds(value, passes)
