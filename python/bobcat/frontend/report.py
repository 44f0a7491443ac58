"""Collector of one compilation's diagnostics, and quoting of the user's text in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from yaml.nodes import CollectionNode, Node

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Related, Severity, Span

MAX_FINDINGS = 1_000
"""Maximum number of diagnostics of one source; the next one is `E0114`, the last."""

_SHOWN = 60


class DiagnosticCollector:
    """Diagnostics of one source in order of creation; `sorted` returns them in source order."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: dict[Diagnostic, None] = {}

    def add(
        self,
        code: str,
        place: Node | Span | None,
        *,
        help: str | None = None,
        related: Iterable[Related] = (),
        **params: object,
    ) -> None:
        """Record the diagnostic `code` at a node or a span."""
        if len(self._found) > MAX_FINDINGS:
            return
        span = self.span(place) if isinstance(place, Node) else place
        if len(self._found) == MAX_FINDINGS:
            self._found[diagnose("E0114", span, limit=MAX_FINDINGS)] = None
            return
        self._found[diagnose(code, span, help=help, related=related, **params)] = None

    def append(self, diagnostic: Diagnostic) -> None:
        """Record a diagnostic created elsewhere."""
        self._found[diagnostic] = None

    def span(self, node: Node) -> Span:
        """Return the span of `node`. A collection ends at the end of its last value."""
        start = node.start_mark
        path: str = getattr(start, "path", "")
        if path:
            return Span(self.file, 0, 0, 0, 0, path)
        end = end_of(node)
        return Span(self.file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    @property
    def full(self) -> bool:
        """Return true if the limit is reached, so that further checks have no effect."""
        return len(self._found) > MAX_FINDINGS

    def has_errors(self) -> bool:
        """Return true if a diagnostic is an error."""
        return any(item.severity is Severity.ERROR for item in self._found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return every diagnostic once, in source order; diagnostics without a position come first."""
        return tuple(sorted(self._found, key=_place))


def end_of(node: Node) -> Any:  # Any: the marks of a text and of a mapping have no common type
    """Return the end mark of `node`. A collection ends at the end of its last value."""
    start = node.start_mark.index
    last = node
    while isinstance(last, CollectionNode) and last.value and not last.flow_style:
        item = last.value[-1]
        last = item[1] if isinstance(item, tuple) else item
        if last.start_mark.index < start:  # an alias: its text comes before this collection
            return node.end_mark
    return last.end_mark


def _place(item: Diagnostic) -> tuple[str, int, int]:
    return (item.span.file, item.span.line, item.span.column) if item.span is not None else ("", 0, 0)


def shown(text: object) -> str:
    """Escape control characters in `text` for use between backticks, and truncate long text."""
    string = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(text)[:200])
    return string if len(string) <= _SHOWN else string[: _SHOWN - 3] + "..."
