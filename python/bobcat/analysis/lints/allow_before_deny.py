"""A deny after an allow of the same priority that does not look at what the deny is about.

What it does: finds an `allow` or `transform`, and a later `deny` or `approve_required` of the same priority that can
    match the same calls and looks at a path the first does not look at.
Why: the first match wins, so whatever the `allow` matches never reaches the `deny`.
Example: `allow` for `declared.scope.contains: filesystem:read`, then `deny` for `args.cmd.matches: rm -rf`.
Use instead: the most specific denies first, or with a higher priority.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.implication import PERMITS, conjuncts, contradict, disjoint, implies
from bobcat.bundle.source_map import SourceMap
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic, Related
from bobcat.ir.schema import Leaf, Policy, Rule
from bobcat.ir.visit import leaves, refs

MAX_CANDIDATES = 200
"""Earlier rules compared with one rule; past it a pair may go unseen."""

_RESTRICTS = frozenset(("deny", "approve_required"))
_ANY_TOOL = ""


def check(policy: Policy, source_map: SourceMap) -> Iterator[Diagnostic]:
    """The denies that an allow before them may keep from being asked, each with the first such allow."""
    allows: dict[tuple[int, str], list[tuple[int, Rule]]] = {}
    for index, rule in enumerate(policy.rules):
        if not isinstance(rule, Rule) or contradict(conjuncts(rule.match)):
            continue
        if rule.verdict in PERMITS:
            for tool in _tools(rule) or (_ANY_TOOL,):
                allows.setdefault((rule.priority, tool), []).append((index, rule))
        elif rule.verdict in _RESTRICTS:
            first = _blind_allow(rule, allows)
            if first is not None:
                other_index, other = first
                place = source_map.rule_span(other_index)
                related = [Related(place, f"`{other.id}` is here")] if place is not None else []
                yield diagnose(
                    "W0102",
                    source_map.rule_span(index),
                    related=related,
                    id=rule.id,
                    other=other.id,
                    verdict=rule.verdict,
                )


def _blind_allow(rule: Rule, allows: dict[tuple[int, str], list[tuple[int, Rule]]]) -> tuple[int, Rule] | None:
    tools = _tools(rule) or tuple(tool for priority, tool in allows if priority == rule.priority)[:MAX_CANDIDATES]
    candidates = [
        entry for tool in (_ANY_TOOL, *tools) for entry in allows.get((rule.priority, tool), ())[:MAX_CANDIDATES]
    ]
    looked_at = _looked_at(rule)
    for index, allow in sorted(candidates, key=lambda entry: entry[0])[:MAX_CANDIDATES]:
        blind = looked_at - _looked_at(allow) - {("tool",)}
        if blind and not disjoint(allow, rule) and not implies(rule, allow):
            return index, allow
    return None


def _looked_at(rule: Rule) -> set[tuple[str, ...]]:
    """The paths a rule reads, those in operands too."""
    found: set[tuple[str, ...]] = set()
    for leaf in leaves(rule.match):
        found.add((leaf.head, *leaf.path))
        found.update(refs(leaf.operand))
    return found


def _tools(rule: Rule) -> tuple[str, ...]:
    """The tools a rule names; none when it is about any tool."""
    for item in conjuncts(rule.match):
        if isinstance(item, Leaf) and item.head == "tool" and item.op == "eq" and isinstance(item.operand, str):
            return (item.operand,)
        if isinstance(item, Leaf) and item.head == "tool" and item.op == "in" and isinstance(item.operand, list):
            return tuple(item.operand)
    return ()
