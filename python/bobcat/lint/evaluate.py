"""Evaluation of one comparison by the core, to choose among candidate values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from bobcat._core import CoreError, Program, explain
from bobcat.ir import canonical, construct
from bobcat.ir.schema import Const, Dialect, Leaf
from bobcat.ir.visit import refs
from bobcat.language.facets import IR_OPERATORS
from bobcat.language.kinds import OperandForm
from bobcat.model.request import Request

_OUTCOMES = {"true": True, "false": False}


def holds(op: str, operand: Const, value: Any) -> bool | None:  # Any: JSON
    """Return true if a value passes a test; None if the test does not apply to it, or reads another path."""
    program = None if any(refs(operand)) else _program(op, canonical.encode_value(operand))
    if program is None:
        return None
    _, ((_, _, _, comparison, _),) = explain(program, Request("", {"value": value}))
    return _OUTCOMES.get(comparison[1])


@lru_cache(maxsize=1_024)
def _program(op: str, operand: bytes) -> Program | None:
    """Return the program of a rule with only this test; None if the core rejects the operand."""
    dialect: Dialect | None = "re2" if IR_OPERATORS[op].operand is OperandForm.PATTERN else None
    leaf = Leaf("args", ("value",), op, msgspec.json.decode(operand), dialect)
    try:
        return Program(canonical.encode(construct.policy([construct.rule("", leaf, "deny")])))
    except CoreError:
        return None
