"""What a rule returns, where it is certainly neither a decision nor None, and decisions that it makes for nothing.

Such a rule has a meaning, which is that of Python: wherever it returns something else, it is in error. Nobody wants
that, so it is said when the rule is compiled.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from bobcat.frontend.pyrules.kinds import Kind

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_NOT_DECISIONS: frozenset[Kind] = frozenset({"num", "str", "bytes", "list", "tuple", "dict", "set", "datetime"})
_MOST_SHOWN = 40
"""Characters of an expression in a message."""
_INSTEAD = 'return a decision, as `deny("...")` is, or None to abstain'


def check(value: ast.expr, f: Function) -> None:
    """Note every value among those that a `return` may give that is no decision."""
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
                    f.mistake(item, f"returns {_shown(item)} where what stands before `{word}` is {when}", instead)
            check(last, f)
        case _:
            if f.kind(value) in _NOT_DECISIONS:
                f.mistake(value, f"returns {_shown(value)}, which is no decision", _INSTEAD)


def check_kept(value: ast.expr, f: Function) -> None:
    """Note a decision that is made as a statement of its own, and that nobody keeps."""
    if f.kind(value) == "decision":
        f.mistake(value, f"makes {_shown(value)} and does not return it", "write `return` before it")


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"`{text}`" if len(text) <= _MOST_SHOWN else "something"
