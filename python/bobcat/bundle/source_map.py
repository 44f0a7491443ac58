"""Source map: the source positions of every rule of a policy, separate from the IR and its identity.

The front ends create it, the bundle file stores it, `explain` and the lints read it. No policy digest covers it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from bobcat.diagnostics.model import Span

Position = tuple[int, int, int, int]
"""(line, column, end line, end column), counted from 1; all zero if the source has no text."""


class RuleSource(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The source of one rule.

    `file` indexes `SourceMap.files` (-1 for a host rule); `order` is the rule's index in its file, or for a rule of the
    capability with index N, -N - 1; `leaves` holds the
    spans of the leaves of the rule's normalised match, in pre-order. For a function it holds the spans of its
    statements, with an `if` at its condition, all zero for a statement without a position in the file; `names` are its
    locals by slot, empty for a local without a name. `leaf_files` holds the file of each leaf where some are in another
    file than the rule, as those of an included predicate are.
    """

    file: int
    line: int
    column: int
    end_line: int
    end_column: int
    description: str
    order: int
    leaves: tuple[Position, ...] = ()
    names: tuple[str, ...] = ()
    leaf_files: tuple[int, ...] = ()

    @property
    def place(self) -> str:
        """Return the path of the rule, or of its capability, in the data of the file."""
        return f"rules[{self.order}]" if self.order >= 0 else f"capabilities[{-self.order - 1}]"


class SourceMap(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The sources of a policy. `rules` is parallel to `Policy.rules`, that is, in evaluation order.

    `defaults` holds the positions of the values of `on_no_match`, `on_missing_shadow` and `on_rule_error` in the first
    file; all zero for an implicit default.
    """

    files: tuple[str, ...]
    rules: tuple[RuleSource, ...]
    defaults: tuple[Position, ...] = ()

    def rows(self) -> list[Any]:  # Any: JSON data
        """Return the form in a bundle file: a rule omits the last fields that are empty."""
        files, rules, defaults = msgspec.to_builtins(self)
        return [files, [_shortened(rule) for rule in rules], defaults]

    def rule_span(self, index: int) -> Span | None:
        """Return the span of the whole rule at `index` in evaluation order; None if it has no position in a file."""
        rule = self.rules[index]
        if rule.file < 0:
            return None
        return self._span(rule, (rule.line, rule.column, rule.end_line, rule.end_column), rule.file)

    def leaf_span(self, index: int, leaf: int) -> Span | None:
        """Return the span of leaf or statement number `leaf` (pre-order) of the rule at `index`; None if unknown."""
        rule = self.rules[index]
        if rule.file < 0 or not 0 <= leaf < len(rule.leaves):
            return None
        return self._span(rule, rule.leaves[leaf], rule.leaf_files[leaf] if rule.leaf_files else rule.file)

    def default_span(self, number: int) -> Span | None:
        """Return the span of the default with this number (see above); None if it is implicit."""
        if number >= len(self.defaults) or not self.files or not any(self.defaults[number]):
            return None
        return _span_at(self.files[0], self.defaults[number])

    def _span(self, rule: RuleSource, position: Position, file: int) -> Span:
        path = "" if rule.line else f"$.{rule.place}"
        return _span_at(self.files[file], position, path)


def _shortened(rule: list[Any]) -> list[Any]:  # Any: JSON data
    return rule if rule[-1] else rule[:-1] if rule[-2] else rule[:-2]


def _span_at(file: str, position: Position, path: str = "") -> Span:
    return _span_type()(file, *position, path=path)


@cache  # PERF: an import statement takes as long as a span, and 95,000 findings have 190,000 spans
def _span_type() -> type[Span]:
    # PERF: evaluation needs no diagnostics; only code that requests a source position loads them.
    from bobcat.diagnostics.model import Span

    return Span
