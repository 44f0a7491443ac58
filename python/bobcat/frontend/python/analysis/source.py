"""The source of a function: its syntax tree, found through its code object and checked against it.

Text that changed since its import, or that a tool rewrote, is rejected: the lowered code must be the code that runs.
"""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import os
import types
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bobcat.frontend.python.analysis.refusal import SourceFragment

# `exec` of a text can inherit this flag from its caller; it affects only annotations, which are not lowered.
_FUTURE = __future__.annotations.compiler_flag

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A compiled text: its tree, its code objects, and its functions by their first lines."""

    place: SourceFragment
    text: str
    tree: ast.Module
    codes: tuple[types.CodeType, ...]
    functions: Mapping[int, Sequence[FunctionNode]]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionSource:
    """A function and the text around it."""

    module: Module
    node: FunctionNode

    @property
    def place(self) -> SourceFragment:
        """Return the text that contains the nodes."""
        return self.module.place


class NoSource(Exception):
    """No text is known with certainty to be the source of a code object; the message gives the reason."""


def source_of(code: types.CodeType, module_globals: Mapping[str, Any]) -> FunctionSource:
    """Find the source of a function from its code and its globals. Raises `NoSource`."""
    _forget_stale(code.co_filename)
    lines = linecache.getlines(code.co_filename, dict(module_globals))
    if not lines:
        raise NoSource("its source text is not available")
    module = _module("".join(lines), code.co_filename)
    if not any(_same(code, candidate) for candidate in module.codes):
        raise NoSource("its source text has changed since it was compiled")
    return FunctionSource(module, _node(code, module.functions.get(code.co_firstlineno, ())))


def _forget_stale(file: str) -> None:
    """Drop the cached text of a file: it may be an earlier one, or that of another file with the same relative path."""
    linecache.checkcache(file)
    if os.path.exists(file):
        linecache.cache.pop(file, None)


def module_of_file(file: str | None, module_globals: Mapping[str, Any]) -> Module:
    """Return the text of an imported module. Raises `NoSource`."""
    lines = linecache.getlines(file, dict(module_globals)) if file is not None else []
    if not lines or file is None:
        raise NoSource("its source text is not available")
    return _module("".join(lines), file)


@functools.lru_cache(maxsize=64)
def _module(text: str, file: str) -> Module:
    try:
        tree = ast.parse(text, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # assigned when the text was imported
            code = compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NoSource("its source text cannot be parsed") from error
    # PERF: a module of 500 rules is traversed once, not once a rule.
    functions: dict[int, list[FunctionNode]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            functions[_first_line(node)].append(node)
    return Module(SourceFragment(file, tuple(text.splitlines())), text, tree, tuple(_codes(code)), functions)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _same(one: types.CodeType, other: types.CodeType) -> bool:
    if one is other:
        return True
    return (
        one.co_name == other.co_name
        and one.co_firstlineno == other.co_firstlineno
        and one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and one.co_freevars == other.co_freevars
        and one.co_flags & ~_FUTURE == other.co_flags & ~_FUTURE
        and tuple(one.co_positions()) == tuple(other.co_positions())
        and len(one.co_consts) == len(other.co_consts)
        and all(_same_constant(own, its) for own, its in zip(one.co_consts, other.co_consts, strict=True))
    )


def _same_constant(one: object, other: object) -> bool:
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return _same(one, other)
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same_constant, one, other))
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))  # their order depends on how they were made
    return repr(one) == repr(other)


def _node(code: types.CodeType, candidates: Sequence[FunctionNode]) -> FunctionNode:
    """Return the one of the functions on the first line of a code that it was compiled from."""
    if code.co_name != "<lambda>":
        found = [node for node in candidates if not isinstance(node, ast.Lambda) and node.name == code.co_name]
        if len(found) == 1:
            return found[0]
        raise NoSource("several functions start on its line")
    # Several lambdas may share one line: the code belongs to the innermost one that contains all its instructions.
    positions = [item for item in code.co_positions() if None not in item and item[2:] != (0, 0)]
    lambdas = [node for node in candidates if isinstance(node, ast.Lambda)]
    around = [node for node in lambdas if positions and all(_inside(item, node.body) for item in positions)]
    if not around:
        raise NoSource("it is one of several lambdas on its line")
    return min(around, key=lambda node: sum(1 for _ in ast.walk(node)))


def _first_line(node: FunctionNode) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(item.lineno for item in decorators)])


def _inside(position: tuple[int | None, int | None, int | None, int | None], body: ast.expr) -> bool:
    line, end_line, column, end_column = (item or 0 for item in position)
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    return start <= (line, column) and (end_line, end_column) <= end
