"""Where every rule of a policy stands in its sources: kept beside the IR, never part of its identity.

The front ends make it, the bundle file carries it, `explain` and the lints read it. No digest of a policy covers it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from bobcat.diagnostics import Span

Position = tuple[int, int, int, int]
"""(line, column, end line, end column), counted from 1; all zero where the source has no text."""


class RuleSource(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The source of one rule.

    `file` indexes `SourceMap.files` (-1 for a host rule); `order` is the rule's place in its file; `leaves` holds the
    spans of the leaves of the rule's normalised match, in pre-order. Of a function it holds those of its statements,
    where an `if` is its condition, all zero for one without a place in the file; `names` are its locals by slot, empty
    for one that its author did not name.
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


class SourceMap(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The sources of a policy. `rules` is parallel to `Policy.rules`, that is, in evaluation order.

    `defaults` holds the positions of the values of `on_no_match`, `on_missing_shadow` and `on_rule_error` in the first
    file; all zero for one that is not written.
    """

    files: tuple[str, ...]
    rules: tuple[RuleSource, ...]
    defaults: tuple[Position, ...] = ()

    def rows(self) -> list[Any]:  # Any: JSON data
        """The form in a bundle file: a rule without names of locals has no place for them either."""
        files, rules, defaults = msgspec.to_builtins(self)
        return [files, [rule if rule[-1] else rule[:-1] for rule in rules], defaults]

    def rule_span(self, index: int) -> Span | None:
        """The span of the whole rule at `index` in evaluation order; None when it has no place in a file."""
        rule = self.rules[index]
        if rule.file < 0:
            return None
        return self._span(rule, (rule.line, rule.column, rule.end_line, rule.end_column))

    def leaf_span(self, index: int, leaf: int) -> Span | None:
        """The span of leaf or statement number `leaf` (pre-order) of the rule at `index`; None when it is not known."""
        rule = self.rules[index]
        if rule.file < 0 or not 0 <= leaf < len(rule.leaves):
            return None
        return self._span(rule, rule.leaves[leaf])

    def default_span(self, number: int) -> Span | None:
        """The span of the default with this number (see above); None when it is not written."""
        if number >= len(self.defaults) or not self.files or not any(self.defaults[number]):
            return None
        return _span_at(self.files[0], self.defaults[number])

    def _span(self, rule: RuleSource, position: Position) -> Span:
        path = "" if rule.line else f"$.rules[{rule.order}]"
        return _span_at(self.files[rule.file], position, path)


def _span_at(file: str, position: Position, path: str = "") -> Span:
    # PERF: deciding needs no diagnostics; only who asks for a place in the source loads them.
    from bobcat.diagnostics import Span

    return Span(file, *position, path=path)
