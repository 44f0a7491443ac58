"""Formatting of one text, with the proof that it means the same.

The result is returned only if its data are the same, entry by entry, if the policy compiles to the same digest or has
the same errors, and if comments ignore the same findings. Where the order of keys is in the way, it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from bobcat.diagnostics.model import Diagnostic, Span
from bobcat.formatting.comments import attach
from bobcat.formatting.layout import Layout
from bobcat.formatting.line_ends import as_in, with_lf
from bobcat.formatting.orders import KeyOrders
from bobcat.formatting.tree import Unformattable, read_tree
from bobcat.frontend.files import Inputs, PolicyFiles
from bobcat.frontend.profiles import lower
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.yaml.nodes import checked_data
from bobcat.frontend.yaml.source import collector_paused, compose
from bobcat.ir.canonical import digest, encode
from bobcat.lint.check import check_source

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Any: two loaders without a common typed base


class FormatError(ValueError):
    """A text that cannot be formatted; `findings` has its errors, with their places."""

    def __init__(self, message: str, findings: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


@dataclass(frozen=True, slots=True)
class Formatted:
    """The formatted text of a file, and true if it differs from the text that was given."""

    text: str
    changed: bool


def formatted(text: str, file: str, orders: KeyOrders, *, policy: bool = True, path: str | None = None) -> Formatted:
    """Return a text in the common layout. Raises `FormatError`.

    `policy`: the text is a policy and not a suite. `path` is the place of the file, for the files that it includes.
    The result has the line ends of the first line, and no byte order mark.
    """
    plain = with_lf(text)
    data = _data(plain, file)
    older = _yaml_1_1(plain)
    before = _meaning(plain, file, path) if policy else None
    for order in (orders, {}):
        result = _laid_out(plain, file, order)
        try:
            same = _same(data, _data(result, file), (), order) and _same(older, _yaml_1_1(result), (), order)
        except FormatError:
            same = False
        if (
            same
            and (before is None or _meaning(result, file, path) == before)
            and _laid_out(result, file, order) == result
        ):
            made = as_in(text, result)
            return Formatted(made, made != text)
    raise FormatError(f"{file}: the formatted text would not mean the same; the file is left as it is")


def _laid_out(text: str, file: str, orders: KeyOrders) -> str:
    try:
        root, comments, marked = read_tree(text)
        attach(text, root, comments)
    except Unformattable as problem:
        line = text.count("\n", 0, problem.index) + 1
        raise FormatError(f"{file}:{line}: {problem} cannot be formatted") from None
    return Layout(orders).text(root, marked=marked)


def _data(text: str, file: str) -> Any:  # Any: plain data
    """Return the data of a text; raise its errors."""
    report = DiagnosticCollector(file)
    with collector_paused():
        root = compose(text, report)
        if root is None and not report.has_errors():
            report.add("E0201", Span(file, 1, 1, 1, 2), kind="an empty document")
        data = None if root is None else checked_data(root, report)
    if report.has_errors():
        raise FormatError(f"{file} cannot be read", report.diagnostics())
    if not isinstance(data, dict):
        raise FormatError(f"{file}: neither a policy nor a suite")
    return data


def _same(one: Any, other: Any, path: tuple[str, ...], orders: KeyOrders) -> bool:  # Any: plain data
    """Return true if two values are equal, with their types, and with the order of their keys where it is kept."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        kept = path in orders or list(one) == list(other)
        return kept and one.keys() == other.keys() and all(_same(one[k], other[k], (*path, k), orders) for k in one)
    if isinstance(one, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(a, b, (*path, "*"), orders) for a, b in pairs)
    return bool(one == other) or one != one  # NaN


def _yaml_1_1(text: str) -> Any:  # Any: plain data
    """Return the data that lynx-agent reads; the type of the error where it reads none."""
    # PERF: compiling in the `lynx` profile takes ten times as long, and depends on nothing but these data.
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        return type(error).__name__


def _meaning(text: str, file: str, path: str | None) -> object:
    """Return what a policy means: its digest, or its errors, and the findings that comments ignore."""
    inputs = Inputs(None if path is None else PolicyFiles(path))
    found = check_source(text, file, inputs=inputs) if "bobcat:" in text else ()
    shown = sorted((item.code, item.message, item.suppressed or "") for item in found)
    lowered = lower(text, file, "strict", (), inputs)
    if lowered.policy is not None:
        return digest(encode(lowered.policy)), shown
    return sorted((item.code, item.message) for item in lowered.errors), shown
