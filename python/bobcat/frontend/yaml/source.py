"""Conversion of a policy's text or mapping to checked YAML nodes; all limits are enforced before further processing.

`compose` never builds Python objects from tags, never expands an alias, and stops at the first value past a limit: a
hostile source costs bounded time and memory.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import Any

from bobcat import _core
from bobcat._core import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode
from bobcat.diagnostics.model import Span
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.yaml.libyaml_escapes import LINE_BREAK, Place, escape_for_libyaml, first_unquoted
from bobcat.frontend.yaml.scalars import CONSTANT_STYLE

MAX_CHARACTERS = 16 * 1024 * 1024
"""Length of a policy text, in code points."""
MAX_DEPTH = 64
"""Nesting of a source, aliases expanded."""
MAX_NODES = 2_000_000
"""Scalars, lists and mappings of a source, aliases expanded."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_ASCII = bytes((0x09, 0x0A, 0x0D, *range(0x20, 0x80)))
# PERF: only a text with a tag or an anchor needs the traversal of all nodes (a fifth of the time of `compose`).
_TAG_OR_ANCHOR = re.compile(r"(?:^|[\s\[{,:?-])[!&]")


@cache  # PERF: it takes 5 ms to compile, and most texts are plain
def _forbidden() -> re.Pattern[str]:
    return re.compile("[^\t\n\r\x20-\ud7ff\ue000-\U0010ffff]")


class PastCap(Exception):
    """Stop the construction of nodes: a limit is exceeded, in `node` where known."""

    def __init__(self, code: str, limit: int, node: Node | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.limit = limit
        self.node = node


_CODES = {"depth": "E0108", "count": "E0109", "recursive": "E0110"}
_LIMITS = {"depth": MAX_DEPTH, "count": MAX_NODES}


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector while nodes are constructed."""
    # PERF: composing 10,000 rules takes 0.07 s, with collections 0.13 to 0.19 s.
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def compose(text: str, report: DiagnosticCollector) -> Node | None:
    """Return the root node of a policy text; None for an empty document or when `report` has the reason."""
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_CHARACTERS:
        report.add("E0107", _start(report.file), size=len(text), limit=MAX_CHARACTERS)
        return None
    # PERF: for 2 MB of ASCII text this takes 1 ms; the regular expression takes 80 ms.
    clean = text.isascii() and not text.encode().translate(None, _ASCII)
    bad = None if clean else _forbidden().search(text)
    if bad is not None:
        span = _offset_span(report.file, text, bad.start())
        if _SURROGATE.match(bad[0]):
            report.add("E0102", span, what=_surrogate(bad[0]))
        else:
            report.add("E0103", span, what=_code_point(bad[0]))
        return None
    readable, escapes = escape_for_libyaml(text)
    with collector_paused():
        root = _composed(readable, report)
        if escapes is not None and not report.has_errors():
            quoted: list[Place] = []
            if root is not None:
                root, quoted = escapes.restore(root)
            offset = first_unquoted(text, quoted)
            if offset is not None:
                report.add("E0103", _offset_span(report.file, text, offset), what=_code_point(text[offset]))
                return None
        if root is not None and may_have_anchors(text) and not _Walk(report).accepts(root):
            return None
    return root


def may_have_anchors(text: str) -> bool:
    """Return true if a text may have an anchor, or a tag: without them, every node has one place."""
    return ("&" in text or "!" in text) and _TAG_OR_ANCHOR.search(text) is not None


def _composed(text: str, report: DiagnosticCollector) -> Node | None:
    try:
        root, second = _core.compose_yaml(text, MAX_DEPTH, MAX_NODES)
    except _core.YamlError as error:
        kind, problem, position = error.args
        if position is not None:
            line, column = position
            place = Span(report.file, line + 1, column + 1, line + 1, column + 2)
        elif kind == "syntax":  # at the end, where libyaml may name a line that does not exist
            place = _offset_span(report.file, text, len(text.rstrip()))
        else:
            place = _start(report.file)
        if kind in _CODES:
            report.add(_CODES[kind], place, limit=_LIMITS.get(kind))
        else:
            report.add("E0101", place, help=_yaml_help(problem), problem=problem)
        return None
    if second is not None:
        report.add("E0104", second)
        return None
    return root


def _yaml_help(problem: str) -> str | None:
    if "tab character" in problem or "\\t" in problem:
        return "indent with spaces"
    if "cannot start any token" in problem:
        return "quote the value; tabs cannot indent"
    if "undefined alias" in problem:
        return "define the anchor with `&` before its alias"
    if "defined twice" in problem:
        return "use each anchor name once"
    if "escape code" in problem:
        return "a lone surrogate is not a character: remove it"
    if "mapping values are not allowed" in problem:
        return "quote the value that holds `: `"
    return None


class _Walk:
    """One traversal of all distinct nodes: tags, and the expanded size and depth of aliases."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report
        # id → (nodes, levels) expanded.
        self._seen: dict[int, tuple[int, int]] = {}

    def accepts(self, root: Node) -> bool:
        """Return true if the expanded source is within the limits and free of tags; otherwise `report` has the
        reasons.
        """
        try:
            self._measure(root)
        except PastCap as cap:
            self._report.add(cap.code, cap.node or root, limit=cap.limit)
        return not self._report.has_errors()

    def _measure(self, node: Node) -> tuple[int, int]:
        if node.tag:
            self._report.add("E0105", node, tag=shown(node.tag.replace("tag:yaml.org,2002:", "!!")))
        if not isinstance(node, CollectionNode):
            return 1, 1
        key = id(node)
        if key in self._seen:
            return self._seen[key]
        nodes, levels = 1, 0
        for item in node.value:
            for child in item if isinstance(item, tuple) else (item,):
                below = self._measure(child)
                nodes += below[0]
                levels = max(levels, below[1])
        if nodes > MAX_NODES:
            raise PastCap("E0109", MAX_NODES, node)
        if levels + 1 > MAX_DEPTH:
            raise PastCap("E0108", MAX_DEPTH, node)
        self._seen[key] = nodes, levels + 1
        return nodes, levels + 1


class PathMark:
    """Mark of a node without text: its path in the mapping, such as `$.rules[0].match`."""

    __slots__ = ("column", "line", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.line = self.column = -1


def from_mapping(source: Mapping[Any, Any], report: DiagnosticCollector) -> Node | None:
    """Return the nodes of a policy given as Python data, copied; None when `report` has the reason."""
    try:
        with collector_paused():
            _values_in(source, {}, 1)
            return PlainCopy(report).node(source, "$", 1)
    except PastCap as cap:
        report.add(cap.code, Span(report.file, 0, 0, 0, 0, "$"), limit=cap.limit)
        return None


# Any: a caller's data. `sizes` holds the containers already seen, so that shared ones are inspected once.
def _values_in(value: Any, sizes: dict[int, int], depth: int) -> int:
    if not isinstance(value, dict | list | tuple):
        return 1
    if depth > MAX_DEPTH:
        raise PastCap("E0108", MAX_DEPTH)
    size = sizes.get(id(value))
    if size is None:
        size = 1
        for item in dict.values(value) if isinstance(value, dict) else _items(value):
            size += _values_in(item, sizes, depth + 1)
        if size > MAX_NODES:
            raise PastCap("E0109", MAX_NODES)
        sizes[id(value)] = size
    return size


class PlainCopy:
    """Copy of plain data as nodes, so that no object of the caller is kept."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self.report = report
        self._count = 0

    # Any: this is the place where a caller's data is inspected.
    def node(self, value: Any, path: str, depth: int) -> Node:
        """Return the node of a value; `path` is its path in the data."""
        if depth > MAX_DEPTH:
            raise PastCap("E0108", MAX_DEPTH)
        self._count += 1
        if self._count > MAX_NODES:
            raise PastCap("E0109", MAX_NODES)
        start, end = self.marks(path)
        if isinstance(value, Mapping):
            return MappingNode("", self._entries(value, path, depth), start, end)
        if isinstance(value, list | tuple):
            items = [self.node(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(_items(value))]
            return SequenceNode("", items, start, end)
        return ScalarNode("", self._scalar(value, path), start, end, CONSTANT_STYLE)

    def _entries(self, value: Mapping[Any, Any], path: str, depth: int) -> list[tuple[Node, Node]]:
        try:
            pairs = [(key, item) for key, item in islice(value.items(), MAX_NODES + 1)]  # a mapping may be infinite
        except Exception as error:  # a caller's own mapping type may run arbitrary code
            self.report.add(
                "E0113", self.span(path), kind=shown(type(value).__name__), help=shown(f"it raised {error!r}")
            )
            return []
        return [
            (self.node(key, below, depth + 1), self.node(item, below, depth + 1))
            for key, item in pairs
            for below in [_below(path, key)]
        ]

    def _scalar(self, value: Any, path: str) -> str | int | float | bool | None:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            text = str.__str__(value)
            bad = _SURROGATE.search(text)
            if bad is not None:
                self.report.add("E0102", self.span(path), what=_surrogate(bad[0]))
            return text
        if isinstance(value, int):
            return int.__int__(value)
        if isinstance(value, float):
            return float.__float__(value)
        self.report.add("E0113", self.span(path), kind=shown(type(value).__name__), help=_instead(value, path))
        return None

    def marks(self, path: str) -> tuple[Any, Any]:  # Any: marks of a text, or of none
        """Return the start and end marks of a node."""
        mark = PathMark(path)
        return mark, mark

    def span(self, path: str) -> Span:
        """Return the span of a diagnostic about a value."""
        return Span(self.report.file, 0, 0, 0, 0, path)


# Any: a caller's data.
def _items(value: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    """Iterate over the underlying storage: a subclass's own `__iter__` is not called."""
    return list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)


def _below(path: str, key: object) -> str:
    if not isinstance(key, str):
        return path
    return f"{path}.{key}" if key.isidentifier() else f'{path}["{shown(key)}"]'


def _instead(value: object, path: str) -> str | None:
    """Suggest the intended call for a value that is not a policy."""
    if path != "$":
        return None
    if isinstance(value, os.PathLike):
        return "the policy in a file is compiled by `Policy.compile(Path(...))`"
    if isinstance(value, bytes | bytearray | memoryview):
        return "decode the bytes of a policy source; a bundle is loaded by `Policy.load`"
    return None


def _start(file: str) -> Span:
    return Span(file, 1, 1, 1, 2)


def _code_point(char: str) -> str:
    return f"U+{ord(char):04X}"


def _surrogate(char: str) -> str:
    return f"the lone surrogate {_code_point(char)}, which UTF-8 cannot carry"


def _offset_span(file: str, text: str, offset: int) -> Span:
    breaks = list(LINE_BREAK.finditer(text, 0, offset))
    line = len(breaks) + 1
    column = offset - (breaks[-1].end() if breaks else 0) + 1
    return Span(file, line, column, line, column + 1)
