"""Code that raises as Python does, and the suggestion for code that cannot be lowered."""

from __future__ import annotations

from bobcat.ir import code as ir

SUPPORTED = "use supported Python (docs/reference/python-rules.md)"
"""Suggestion for a construct without a lowered form."""


def no_attribute() -> ir.Code:
    """Return code that raises `AttributeError`, as an attribute of None does."""
    return ir.Method(ir.Constant(None), "lower", ())


def type_error() -> ir.Code:
    """Return code that raises `TypeError`, as a value of the wrong type does."""
    return ir.CallFunction("len", (ir.Constant(None),))
