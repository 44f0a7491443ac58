"""The catalogue of findings in a graph: code, wording and help. `docs/how-to/handoff-graphs.md` explains them.

Errors of a graph as YAML have the codes of policies, `E0101` to `E0114`.
"""

from __future__ import annotations

from types import MappingProxyType

from bobcat.diagnostics.catalogue import Code
from bobcat.diagnostics.model import Diagnostic, Severity, Span

_ALL = (
    Code("G01", "no-mapping", "graph file must be a mapping with 'start' and 'edges'"),
    Code("G02", "unknown-key", "unknown keys {names}; allowed: version, start, max_transitions, edges"),
    Code("G03", "bad-version", "'version' must be 1", "leave it out, or write `version: 1`"),
    Code("G04", "bad-start", "'start' is required and must be a node name"),
    Code("G05", "start-is-done", "'start' cannot be the reserved terminal 'done'"),
    Code("G06", "start-nowhere", "'start' is `{name}`, which no edge names"),
    Code("G07", "bad-bound", "'max_transitions' must be a positive integer"),
    Code("G08", "bad-edges", "'edges' is required and must be a non-empty list", "put `- ` before each edge"),
    Code("G09", "bad-edge", "{edge}: each edge must be a mapping", "write `- {{from: a, to: b}}`"),
    Code("G10", "unknown-edge-key", "{edge}: unknown keys {names}; allowed: from, to, when"),
    Code("G11", "bad-end", "{edge}: '{key}' is required", "it is the name of a node; numbers are quoted"),
    Code("G12", "from-done", "{edge}: cannot route FROM the terminal 'done'"),
    Code("G13", "bad-when", "{edge}: 'when' must be a mapping", "leave `when` out of an edge that is always taken"),
    Code("G14", "unknown-predicate", "{edge}: unknown predicate(s) {names}; allowed: {allowed}"),
    Code("G15", "bad-status", "{edge}: status must be one of ['failed', 'succeeded']"),
    Code("G16", "bad-pattern", "{edge}: {problem}"),
    Code("G17", "bad-count", "{edge}: {key} must be an integer", "it is at least 0, and not quoted"),
    Code("G18", "dead-edge", "{edge}: never taken: {other} takes every outcome of `{name}`",
         "the first edge that matches is taken: move the one without `when` to the end"),
    Code("G19", "bad-answer", "{edge}: answer_is must be a text, or a list of texts, without white space around it",
         "quote it; an answer is compared without the white space around it"),
    Code("G20", "unanchored-answer", "{edge}: answer_matches `{pattern}` is found inside a longer answer, too",
         "write `answer_is: TEXT` for the whole answer, or anchor the pattern at both ends: `^...$`"),
)  # fmt: skip

WARNINGS = frozenset({"G20"})
"""The codes that do not stop compilation."""

GRAPH_CODES = MappingProxyType({code.id: code for code in _ALL})


def finding(code: str, span: Span | None, help: str | None = None, **params: object) -> Diagnostic:
    """The finding `code` at a location."""
    known = GRAPH_CODES[code]
    usual = known.help.format(**params) if known.help is not None else None
    severity = Severity.WARNING if code in WARNINGS else known.severity
    return Diagnostic(code, severity, known.message.format(**params), span, help or usual)
