"""Lints that the analysis makes exact: rules that never fire, and rules that others take all calls from.

`bobcat check` passes this to `check_source`. It adds what the lints do not see, and removes the note about comparisons
that they left out. What they report is proved already.
"""

from __future__ import annotations

from bobcat.analysis.dead_rules import DeadRule, dead
from bobcat.bundle.model import Policy
from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Related
from bobcat.ir.schema import HostRule, IrPolicy

_OF_RULES = frozenset(("W0101", "W0108", "W0112"))
_CAPPED = "N0101"


def with_exact_findings(
    policy: IrPolicy, places: SourceMap, found: tuple[Diagnostic, ...], *, seconds: float | None
) -> tuple[Diagnostic, ...]:
    """Return findings with those of the analysis, which has a limit of `seconds`."""
    if any(isinstance(rule, HostRule) for rule in policy.rules):
        return found
    parts = dead(Policy.from_policy(policy, source_map=places), clauses=False, budget=seconds)
    known = {item.span for item in found if item.code in _OF_RULES}
    explained = [
        item for item in parts.rules if item.why == "contradiction" or (item.why == "shadowed" and item.culprits)
    ]
    added = [_finding(item) for item in explained if item.rule.span not in known]
    kept = [item for item in found if item.code != _CAPPED or parts.unknown]
    return (*kept, *added)


def _finding(item: DeadRule) -> Diagnostic:
    if item.why == "contradiction":
        return diagnose("W0112", item.rule.span, id=item.rule.id)
    related = [Related(rule.span, "it fires first") for rule in item.culprits if rule.span is not None]
    others = "` or `".join(rule.id for rule in item.culprits)
    return diagnose("W0101", item.rule.span, id=item.rule.id, other=others, related=related)
