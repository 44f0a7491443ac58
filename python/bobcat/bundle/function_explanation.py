"""What a compiled Python function did on one request: the statement that decided, and the conditions on the way to it.

`explanation` builds one from what the core has seen and the places in the source map. It decides nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bobcat.ir import code as ir
from bobcat.ir.pretty import path_text
from bobcat.ir.pretty_code import code_text
from bobcat.ir.visit import statements

if TYPE_CHECKING:
    from bobcat.bundle.model import PolicyBundle
    from bobcat.diagnostics import Span

MOST_SHOWN = 160
"""Characters of a condition."""

Truth = Literal["true", "false", "error"]


@dataclass(frozen=True, slots=True)
class Read:
    """A value that a condition read: a local by its name, or a path of the request such as `args.path`.

    `value` is JSON text, cut when long, or what `repr` gives for a container that the function made; None where
    nothing is there.
    """

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of one `if`, `elif`, `assert`, `case` or conditional expression that returns.

    `outcome` and `reads` are those of the last time, `times` is how often it was asked. `text` is that of the source
    where the bundle has it, else a listing of the code. `span` is None where it is not known.
    """

    outcome: Truth
    text: str
    times: int
    reads: tuple[Read, ...]
    span: Span | None


@dataclass(frozen=True, slots=True)
class FunctionExplanation:
    """`decided_at` is the `return` that was reached, or the statement that raised; None when the function came to its
    end, or its place is not known. Conditions stand in the order in which they were first asked.
    """

    decided_at: Span | None
    conditions: tuple[Condition, ...]


def explained(bundle: PolicyBundle, index: int, trace: Any) -> FunctionExplanation:  # Any: nested tuples, see _core.pyi
    """What the function at `index` in evaluation order did."""
    at, tried = trace
    function = _Function(bundle, index)
    # Of what stands in other files only the outcome counts: the statement here that asked for it.
    own = [item for item in tried if not function.places or function.span(item[0]) is not None]
    return FunctionExplanation(
        function.span_around(at) if at is not None else None,
        tuple(function.condition(item) for item in own),
    )


class _Function:
    def __init__(self, bundle: PolicyBundle, index: int) -> None:
        self._bundle = bundle
        self._index = index
        rule: Any = bundle.ir.rules[index]  # Any: a FunctionRule, as only they have this trace
        self._statements = list(statements(rule.body))
        source = bundle.source_map.rules[index] if bundle.source_map is not None else None
        self.places = source.leaves if source is not None else ()
        self._names = source.names if source is not None else ()

    def span(self, statement: int) -> Span | None:
        """Where a statement stands; None for one that its author did not write, or not in this file."""
        if self._bundle.source_map is None or statement >= len(self.places) or not self.places[statement][0]:
            return None
        return self._bundle.source_map.leaf_span(self._index, statement)

    def span_around(self, statement: int) -> Span | None:
        """Where a statement stands, or the one that it is a part of."""
        while statement >= 0:
            span = self.span(statement)
            if span is not None:
                return span
            statement = self._statements[statement][1]
        return None

    def condition(self, tried: tuple[int, Truth, int, Any]) -> Condition:  # Any: nested tuples, see _core.pyi
        number, outcome, times, reads = tried
        statement, span = self._statements[number][0], self.span(number)
        text = _source(self._bundle, span)
        if text is None:
            text = code_text(statement.test, self._names) if isinstance(statement, ir.If) else ""
        shown = tuple(self._read(*read) for read in reads if not isinstance(read[0], int) or self._is_named(read[0]))
        return Condition(outcome, _cut(text), times, shown, span)

    def _is_named(self, slot: int) -> bool:
        """Whether a local is the author's, or no names are known at all."""
        return not self._names or (slot < len(self._names) and bool(self._names[slot]))

    def _read(self, head: int | str, path: tuple[str, ...], value: str | None) -> Read:
        if isinstance(head, str):
            return Read(path_text(head, path), value)
        return Read(self._names[head] if self._names else f"v{head}", value)


def _source(bundle: PolicyBundle, span: Span | None) -> str | None:
    """What stands at a place, in one line; None where the bundle does not have the text."""
    if span is None:
        return None
    lines = bundle.sources.get(span.file, "").splitlines()[span.line - 1 : span.end_line]
    if len(lines) != span.end_line - span.line + 1:
        return None
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return " ".join(line.strip() for line in lines)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
