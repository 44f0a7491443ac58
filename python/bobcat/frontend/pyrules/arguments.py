"""Arguments that are given by name, in the places where the core takes them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_KEYWORDS: dict[str, tuple[str, ...]] = {
    "split": ("sep", "maxsplit"), "rsplit": ("sep", "maxsplit"), "splitlines": ("keepends",),
    "int": ("", "base"), "round": ("number", "ndigits"), "sum": ("", "start"), "enumerate": ("iterable", "start"),
}  # fmt: skip
"""Parameters that may be given by name; "" for one that may not."""
_OMITTED: dict[str, tuple[Any, ...]] = {"split": (None, -1), "rsplit": (None, -1)}


def positional(node: ast.Call, name: str, f: Function) -> list[ast.expr]:
    """The arguments by position; those given by name are put in their places."""
    arguments = list(node.args)
    names = _KEYWORDS.get(name, ())
    for keyword in node.keywords:
        if keyword.arg not in names:
            raise f.cannot(keyword.value, f"gives `{name}` an argument by name", "give it by position")
        place = names.index(keyword.arg)
        while len(arguments) < place and name in _OMITTED:
            arguments.append(ast.copy_location(ast.Constant(_OMITTED[name][len(arguments)]), keyword.value))
        if place != len(arguments):
            raise f.cannot(keyword.value, f"gives `{name}` an argument by name", "give it by position")
        arguments.append(keyword.value)
    return arguments
