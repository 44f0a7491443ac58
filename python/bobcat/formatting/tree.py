"""The tree of a YAML text: collections with their entries, scalars as they are written, and the comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from bobcat.frontend.yaml.libyaml_escapes import escape_for_libyaml

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # Any: two loaders without a common typed base
_ANCHOR = re.compile(r"&[^\s,\[\]{}]+")
_GAP = re.compile(r"(?:\s+|(?<=\s)#[^\n]*)*")
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)


@dataclass(slots=True)
class Value:
    """One value. `start` and `end` are indexes of the text; a scalar has its source, an alias its name."""

    kind: Literal["mapping", "sequence", "scalar", "alias"]
    start: int
    end: int
    outer: int
    """The index of its anchor, if it has one, or else `start`."""
    anchor: str = ""
    flow: bool = False
    style: str = ""
    text: str = ""
    source: str = ""
    entries: list[Entry] = field(default_factory=list)
    closing: list[str] = field(default_factory=list)
    """Comments after the last entry."""


@dataclass(slots=True)
class Entry:
    """One entry of a mapping, or one item of a sequence, which has no key."""

    start: int
    key: Value | None
    value: Value
    leading: list[str] = field(default_factory=list)
    """Comments above it; an empty string is an empty line between two of them."""
    head: str = ""
    """The comment behind its key, before a nested collection."""
    trailing: str = ""
    blank: bool = False
    """An empty line stands above it."""


@dataclass(slots=True)
class Comment:
    """A comment with its place. `alone`: nothing else stands on its line."""

    start: int
    column: int
    text: str
    alone: bool


class Unformattable(Exception):
    """A construct that the formatter does not know, at an index of the text."""

    def __init__(self, problem: str, index: int) -> None:
        super().__init__(problem)
        self.index = index


def read_tree(text: str) -> tuple[Value, list[Comment], bool]:
    """Return the root of a text without errors, its comments, and true if it begins with `---`."""
    readable, _ = escape_for_libyaml(text)
    return _Reader(text, readable).read()


class _Reader:
    def __init__(self, text: str, readable: str) -> None:
        self._text = text
        self._events: Iterator[Any] = yaml.parse(readable, Loader=_Loader)
        self._readable = readable
        self._scalars: list[tuple[int, int]] = []

    def read(self) -> tuple[Value, list[Comment], bool]:
        marked = False
        for event in self._events:  # Any: PyYAML's events
            if isinstance(event, DocumentStartEvent):
                marked = bool(event.explicit)
                if event.version or event.tags:
                    raise Unformattable("a directive of YAML", 0)
                break
        root = self._value(next(self._events))
        return root, list(self._comments()), marked

    def _value(self, event: Any) -> Value:  # Any: PyYAML's events
        anchor = event.anchor or ""
        start, end = event.start_mark.index, event.end_mark.index
        outer = start
        if isinstance(event, AliasEvent):
            return Value("alias", start, end, outer, text=anchor)
        if isinstance(event, ScalarEvent):
            start = self._after_anchor(start, anchor)
            source = self._text[start:end]
            style = event.style or ""
            if not style:
                source = source.rstrip()
            self._scalars.append((start, start + len(source)))
            return Value("scalar", start, start + len(source), outer, anchor, False, style, event.value, source)
        start = self._after_anchor(start, anchor) if event.flow_style else start
        kind: Literal["mapping", "sequence"] = "mapping" if isinstance(event, MappingStartEvent) else "sequence"
        if not isinstance(event, MappingStartEvent | SequenceStartEvent):
            raise Unformattable("an unexpected construct", start)
        value = Value(kind, start, end, outer, anchor, bool(event.flow_style))
        while True:
            event = next(self._events)
            if isinstance(event, MappingEndEvent | SequenceEndEvent):
                break
            value.entries.append(self._entry(event, value))
        closed: int = event.end_mark.index  # type: ignore[union-attr]  # libyaml sets the marks of every event
        value.end = closed if value.flow else max([value.start, *(entry.value.end for entry in value.entries)])
        return value

    def _entry(self, event: Any, parent: Value) -> Entry:  # Any: as above
        first = self._value(event)
        if parent.kind == "sequence":
            return Entry(first.outer if parent.flow else self._dash(parent), None, first)
        if first.kind not in ("scalar", "alias"):
            raise Unformattable("a key that is no string", first.start)
        value = self._value(next(self._events))
        return Entry(first.outer, first, value)

    def _dash(self, parent: Value) -> int:
        """Return the index of the `-` of the next item of a block sequence."""
        last = parent.entries[-1] if parent.entries else None
        start = self._after_anchor(parent.start, parent.anchor) if last is None else max(last.value.end, last.start + 1)
        gap = _GAP.match(self._text, start)
        at = start if gap is None else gap.end()
        if self._text[at : at + 1] != "-":
            raise Unformattable("a list", at)
        return at

    def _after_anchor(self, start: int, anchor: str) -> int:
        """Return the index of the value behind its anchor."""
        found = _ANCHOR.match(self._text, start) if anchor else None
        if found is None:
            return start
        gap = _GAP.match(self._text, found.end())
        return found.end() if gap is None else gap.end()

    def _comments(self) -> Iterator[Comment]:
        inside = sorted(self._scalars)
        at = index = 0
        while (found := _COMMENT.search(self._text, index)) is not None:
            start = found.start()
            while at < len(inside) and inside[at][1] <= start:
                at += 1
            if at < len(inside) and inside[at][0] <= start:
                index = inside[at][1]
                continue
            index = found.end()
            line = self._text.rfind("\n", 0, start) + 1
            yield Comment(start, start - line, found[0].rstrip(), not self._text[line:start].strip())
