"""Code that raises as Python does: lowered forms of operations that always fail."""

from __future__ import annotations

from bobcat.ir import code as ir


def no_attribute() -> ir.Code:
    """Return code that raises `AttributeError`, as an attribute of None does."""
    return ir.Method(ir.Constant(None), "lower", ())


def type_error() -> ir.Code:
    """Return code that raises `TypeError`, as a value of the wrong type does."""
    return ir.CallFunction("len", (ir.Constant(None),))
