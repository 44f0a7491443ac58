"""Collector of one compilation's findings, and quoting of the user's text in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bobcat._core import Node
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Related, Severity, Span
from bobcat.frontend.observation import Finding, observed
from bobcat.text.json_text import safe_str

MAX_FINDINGS = 1_000
"""Maximum number of errors of one source; the next one is `E0114`, the last."""

MAX_OBSERVATIONS = 10_000
"""Maximum number of observations of one source that are kept; the others are counted."""

_SHOWN = 60


class DiagnosticCollector:
    """Findings of one source in order of creation; `sorted` returns them in source order."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.texts: dict[str, str] = {}
        """Texts of other files that findings refer to."""
        self.files = [file]
        """The files of the source, the policy's own first; `file_number` adds the others."""
        self.full = False
        """The limit is reached, so that further checks have no effect."""
        self._found: dict[Finding, None] = {}
        self._errors = self._observations = 0
        self._omitted: Counter[str] = Counter()
        self.plain_keys: set[str] = set()
        """Keys of mappings that are strings by their first character; see `entries` of `yaml.nodes`."""

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
        if self.full:
            return
        span = self.span(place) if isinstance(place, Node) else place
        origin = getattr(place.start_mark, "origin", None) if isinstance(place, Node) else None
        related = related if origin is None else (*related, origin)
        self._keep(diagnose(code, span, help=help, related=related, **params))

    def observe(self, lint: str, node: Node, **facts: object) -> None:
        """Record a construct for the lint of that name."""
        if self._observations < MAX_OBSERVATIONS:
            self._observations += 1
            self._keep(observed(lint, self.span(node), **facts))
        else:
            self._omitted[lint] += 1

    def append(self, diagnostic: Diagnostic) -> None:
        """Record a diagnostic created elsewhere."""
        self._keep(diagnostic)

    def _keep(self, item: Finding) -> None:
        if self.full or item in self._found:
            return
        if isinstance(item, Diagnostic) and item.severity is Severity.ERROR:
            if self._errors == MAX_FINDINGS:
                item = diagnose("E0114", item.span, limit=MAX_FINDINGS)
                self.full = True
            self._errors += 1
        self._found[item] = None

    def span(self, node: Node) -> Span:
        """Return the span of `node`. A collection ends at the end of its last value."""
        start = node.start_mark
        path: str = getattr(start, "path", "")
        if path:
            return Span(self.file, 0, 0, 0, 0, path)
        return Span(getattr(start, "file", None) or self.file, *node.position_to(node))

    def file_number(self, node: Node) -> int:
        """Return the index in `files` of the file of a node."""
        file = getattr(node.start_mark, "file", None)
        if file is None or file == self.file:
            return 0
        if file not in self.files:
            self.files.append(file)
        return self.files.index(file)

    @property
    def count(self) -> int:
        """Return the number of findings so far, each counted once."""
        return len(self._found)

    def has_errors(self) -> bool:
        """Return true if a finding is an error."""
        return self._errors > 0

    def sorted(self) -> tuple[Finding, ...]:
        """Return every finding once, in source order; findings without a position come first."""
        found = [*self._found]
        if self._omitted:
            what = [f"{lint} for {count:,} place{'s' if count > 1 else ''}" for lint, count in self._omitted.items()]
            found.append(diagnose("N0101", None, what=", ".join(what)))
        return tuple(sorted(found, key=place))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the findings without the observations, in source order."""
        return tuple(item for item in self.sorted() if isinstance(item, Diagnostic))


def place(item: Finding) -> tuple[str, int, int]:
    """Sort key for source order; findings without a position come first."""
    return (item.span.file, item.span.line, item.span.column) if item.span is not None else ("", 0, 0)


def shown(text: object) -> str:
    """Escape control characters in `text` for use between backticks, and truncate long text."""
    string = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in safe_str(text)[:200]
    )
    return string if len(string) <= _SHOWN else string[: _SHOWN - 3] + "..."
