"""A rule whose match no call can make true.

What it does: finds a match that is false by itself, or asks for two different values at one path.
Why: the rule decides nothing; if it denies, it protects nothing.
Example: `match: {tool: shell, all_of: [{tool: bash}]}`.
Use instead: `tool.in: [shell, bash]`, or `any_of`.
Fix: by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.analysis.implication import conjuncts, contradict
from bobcat.bundle.source_map import SourceMap
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir.schema import Policy, Rule


def check(policy: Policy, source_map: SourceMap) -> Iterator[Diagnostic]:
    """Every such rule."""
    for index, rule in enumerate(policy.rules):
        if isinstance(rule, Rule) and contradict(conjuncts(rule.match)):
            yield diagnose("W0112", source_map.rule_span(index), id=rule.id)
