"""Check of returned values that are definitely neither a decision nor None, and of decisions that are not returned.

Such a rule is valid Python, and returning anything else is a rule error at run time. It is always a mistake, so the
compiler reports it.
"""

from __future__ import annotations

import ast

from bobcat.frontend.python.analysis.kinds import InferredKind
from bobcat.frontend.python.analysis.scope import Scope

_NOT_DECISIONS: frozenset[InferredKind] = frozenset({"num", "str", "bytes", "list", "tuple", "dict", "set", "datetime"})
_MOST_SHOWN = 40
"""Characters of an expression in a message."""
_INSTEAD = 'return a decision, such as `deny("...")`, or None to abstain'


def check(value: ast.expr, f: Scope) -> None:
    """Report every value of a `return` that cannot be a decision."""
    match value:
        case ast.IfExp(body=then, orelse=otherwise):
            check(then, f)
            check(otherwise, f)
        case ast.NamedExpr(value=inner):
            check(inner, f)
        case ast.BoolOp(op=op, values=[*before, last]):
            word, when = ("and", "false") if isinstance(op, ast.And) else ("or", "true")
            for item in before:
                if f.kind(item) in _NOT_DECISIONS:
                    instead = "write `decision if condition else None`"
                    f.warn_at(item, f"returns {_shown(item)} where the value before `{word}` is {when}", instead)
            check(last, f)
        case _:
            if f.kind(value) in _NOT_DECISIONS:
                f.warn_at(value, f"returns {_shown(value)}, which is not a decision", _INSTEAD)


def check_kept(value: ast.expr, f: Scope) -> None:
    """Report a decision that an expression statement creates and discards."""
    if f.kind(value) == "decision":
        f.warn_at(value, f"makes {_shown(value)} and does not return it", "write `return` before it")


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"`{text}`" if len(text) <= _MOST_SHOWN else "something"
