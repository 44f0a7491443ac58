"""Patterns: Python's `re` dialect, and `fnmatch`."""

from __future__ import annotations

import ast
import fnmatch
import re
from typing import Any

from bobcat import _core
from bobcat.frontend.python.analysis.bindings import MISSING
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.ir import code as ir

SEARCHES: dict[Any, ir.RegexMethod] = {re.search: "search", re.match: "match", re.fullmatch: "fullmatch"}
_SEARCH_METHODS: dict[str, ir.RegexMethod] = {"search": "search", "match": "match", "fullmatch": "fullmatch"}


def static_pattern(node: ast.Call, f: Scope) -> Any:  # Any: a pattern, or MISSING
    """Compile `re.compile(...)` with constant arguments to a constant."""

    if not isinstance(node.func, ast.Attribute | ast.Name) or f.static(node.func) is not re.compile:
        return MISSING
    pattern, flags = _pattern_arguments(node, f)
    return _compiled(node, pattern, flags, f)


def _compiled(node: ast.AST, pattern: str, flags: int, f: Scope) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise f.error_at(node, f"has a pattern that Python rejects: {error}", "correct the pattern") from error


def _pattern_arguments(node: ast.Call, f: Scope, *, more: int = 0) -> tuple[str, int]:
    flags_node = node.args[1 + more] if len(node.args) > 1 + more else None
    for keyword in node.keywords:
        if keyword.arg != "flags":
            raise f.error_at(keyword.value, "passes a pattern a keyword argument", "pass it by position")
        flags_node = keyword.value
    if not node.args:
        raise f.error_at(node, "has no pattern", "write a pattern")
    pattern = text_of(node.args[0], f)
    flags = 0 if flags_node is None else _flags(flags_node, f)
    if pattern is None:
        raise f.error_at(node.args[0], "has a pattern that is only known at run time", "write a constant pattern")
    return pattern, flags


def text_of(node: ast.expr, f: Scope) -> str | None:
    """Return the value of a string known at compile time; None for any other expression."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = text_of(left, f), text_of(right, f)
            return None if first is None or second is None else first + second
        case ast.Name() | ast.Attribute():
            value = f.static(node)
            if value is MISSING and isinstance(node, ast.Name):
                written = f.written_once(node)
                return None if written is None else text_of(written, f)
            return value if type(value) is str else None
        case _:
            return None


def _flags(node: ast.expr, f: Scope) -> int:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _flags(left, f) | _flags(right, f)
        case ast.Constant(value=int() as number):
            return number
        case _:
            value = f.static(node)
            if isinstance(value, int):
                return int(value)
            raise f.error_at(node, "has flags that are only known at run time", "write constant flags: `re.IGNORECASE`")


def search(node: ast.Call, method: ir.RegexMethod, f: Scope) -> ir.Code:
    """Lower `re.search(pattern, text)` and similar calls."""
    if len(node.args) < 2:
        raise f.error_at(node, "has no text to search", "pass pattern and text by position")
    owner = f.static(node.args[0]) if isinstance(node.args[0], ast.Name | ast.Attribute) else None
    if isinstance(owner, re.Pattern):
        return regex(node, method, owner, f.value(node.args[1]), f)
    pattern, flags = _pattern_arguments(node, f, more=1)
    return regex(node, method, _compiled(node, pattern, flags, f), f.value(node.args[1]), f)


def of_pattern(node: ast.Call, pattern: re.Pattern[Any], name: str, f: Scope) -> ir.Code:
    """Lower a method call of a compiled pattern."""
    if name not in _SEARCH_METHODS:
        raise f.error_at(node, f"calls `{name}` of a pattern", "use `search`, `match` or `fullmatch`")
    if len(node.args) != 1 or node.keywords:
        raise f.error_at(node, f"passes `{name}` more than the text", "pass a slice of the text")
    return regex(node, _SEARCH_METHODS[name], pattern, f.value(node.args[0]), f)


def regex(node: ast.AST, method: ir.RegexMethod, pattern: re.Pattern[Any], text: ir.Code, f: Scope) -> ir.Code:
    """Lower a search for a pattern in Python's dialect. Raises if the pattern cannot run in linear time."""
    if not isinstance(pattern.pattern, str):
        raise f.error_at(node, "has a pattern of bytes", "write a string pattern")
    flags = int(pattern.flags) & ~int(re.UNICODE)
    if flags & (re.LOCALE | re.DEBUG):
        raise f.error_at(node, "has a pattern with `re.LOCALE` or `re.DEBUG`", "remove the flag")
    letters = "".join(letter for flag, letter in _LETTERS if flags & flag)
    problems = _core.check_pattern(f"(?{letters}){pattern.pattern}" if letters else pattern.pattern, "python")
    if problems:
        raise f.error_at(
            node,
            f"has a pattern that cannot run in linear time: {problems[0][-1]}",
            "write it without look-around and back-references",
        )
    return ir.Regex(method, pattern.pattern, flags, text)


_LETTERS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"), (re.VERBOSE, "x"), (re.ASCII, "a"))


def filename(node: ast.Call, f: Scope) -> ir.Code:
    """Lower `fnmatch.fnmatchcase(name, pattern)`."""
    if len(node.args) != 2 or node.keywords:
        raise f.error_at(
            node, "calls `fnmatchcase` with arguments that cannot be compiled", 'write `fnmatchcase(name, "*.txt")`'
        )
    pattern = text_of(node.args[1], f)
    if pattern is None:
        raise f.error_at(node.args[1], "has a pattern that is only known at run time", "write a constant pattern")
    found = regex(node, "match", re.compile(fnmatch.translate(pattern)), f.value(node.args[0]), f)
    return ir.Compare(found, ("is_not",), (ir.Constant(None),))
