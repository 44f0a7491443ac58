"""Build explanations of compiled Python rules from the traces of the core."""

from __future__ import annotations

from typing import Any

from bobcat.bundle.explanation import MOST_SHOWN, ExplainedCondition, FunctionExplanation, Read, Truth
from bobcat.bundle.model import Policy
from bobcat.diagnostics.model import Span
from bobcat.ir import code as ir
from bobcat.ir.pretty import path_text
from bobcat.ir.pretty_code import code_text
from bobcat.ir.spelling import run_path
from bobcat.ir.visit import statements
from bobcat.text.shortening import shortened


def explain_function(
    bundle: Policy, index: int, trace: Any
) -> FunctionExplanation:  # Any: nested tuples, see _core.pyi
    """Explain the function at `index` in evaluation order."""
    at, tried = trace
    function = _Function(bundle, index)
    # For code in other files, only the outcome is shown, at the calling statement in this file.
    own = [item for item in tried if not function.places or function.span(item[0]) is not None]
    return FunctionExplanation(
        function.span_around(at) if at is not None else None,
        tuple(function.condition(item) for item in own),
    )


class _Function:
    def __init__(self, bundle: Policy, index: int) -> None:
        self._bundle = bundle
        self._index = index
        rule: Any = bundle.ir.rules[index]  # Any: a FunctionRule, as only they have this trace
        self._statements = list(statements(rule.body))
        source = bundle.source_map.rules[index] if bundle.source_map is not None else None
        self.places = source.leaves if source is not None else ()
        self._names = source.names if source is not None else ()

    def span(self, statement: int) -> Span | None:
        """Return the position of a statement; None for one that its author did not write, or in another file."""
        if self._bundle.source_map is None or statement >= len(self.places) or not self.places[statement][0]:
            return None
        return self._bundle.source_map.leaf_span(self._index, statement)

    def span_around(self, statement: int) -> Span | None:
        """Return the position of a statement, or of its nearest enclosing statement."""
        while statement >= 0:
            span = self.span(statement)
            if span is not None:
                return span
            statement = self._statements[statement][1]
        return None

    def condition(self, tried: tuple[int, Truth, int, Any]) -> ExplainedCondition:  # Any: nested tuples, see _core.pyi
        number, outcome, times, reads = tried
        statement, span = self._statements[number][0], self.span(number)
        text = _source(self._bundle, span)
        if text is None:
            text = code_text(statement.test, self._names) if isinstance(statement, ir.If) else ""
        shown = tuple(self._read(*read) for read in reads if not isinstance(read[0], int) or self._is_named(read[0]))
        return ExplainedCondition(outcome, shortened(text, MOST_SHOWN), times, shown, span)

    def _is_named(self, slot: int) -> bool:
        """Return true if a local is the author's, or if no names are known."""
        return not self._names or (slot < len(self._names) and bool(self._names[slot]))

    def _read(self, head: int | str, path: tuple[str, ...], value: str | None) -> Read:
        if isinstance(head, str):
            text = run_path(path[0], self._bundle.ir.memory) if head == "run" else path_text(head, path)
            return Read(text, value)
        return Read(self._names[head] if self._names else f"v{head}", value)


def _source(bundle: Policy, span: Span | None) -> str | None:
    """Return the source text of a span in one line; None if the bundle does not have the text."""
    if span is None:
        return None
    lines = bundle.sources.get(span.file, "").splitlines()[span.line - 1 : span.end_line]
    if len(lines) != span.end_line - span.line + 1:
        return None
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return " ".join(line.strip() for line in lines)
