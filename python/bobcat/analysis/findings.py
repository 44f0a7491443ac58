"""Answers of the analysis as findings for code scanning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bobcat.analysis.calls import call_text
from bobcat.analysis.dead_rules import DeadParts
from bobcat.analysis.model import Diff, Region, Unknown, Witness
from bobcat.analysis.near_misses import Hole, Holes
from bobcat.analysis.proving import Proved
from bobcat.analysis.summary import reason_text, rule_text, tool_text, verdicts_text
from bobcat.diagnostics.catalogue import CODES
from bobcat.diagnostics.model import Diagnostic, Related, Severity
from bobcat.diagnostics.sarif import sarif_log

NAMES = {"loosening": "call-permitted-more", "tightening": "call-permitted-less", "unknown": "difference-unknown"}
"""The kinds of results of a difference, with their names in words."""
PROOF_NAMES = {"violated": "invariant-violated", "unknown": "invariant-unknown"}
"""The kinds of results of invariants."""
DEAD_NAMES = {"dead-rule": "rule-decides-no-call", "dead-clause": "clause-changes-no-decision"}
"""The kinds of dead parts, beside the codes of lints."""
HOLE_NAMES = {"near-miss": "restricting-rule-misses-a-call"}
"""The kinds of results of holes."""


def difference_sarif(differences: Iterable[Diff]) -> str:
    """Return the regions of differences as a SARIF 2.1.0 log, one result each, at the rule of the new policy."""
    return sarif_log([item for found in differences for item in _findings(found)], NAMES)


def _findings(found: Diff) -> Iterator[Diagnostic]:
    for region in found.regions:
        yield _finding(region)
    for reason in found.reasons:
        yield Diagnostic("unknown", Severity.WARNING, reason_text(reason), None)


def _finding(region: Region) -> Diagnostic:
    old, new = region.old.rule, region.new.rule
    span, other = (new.span, old.span) if new.span is not None else (old.span, None)
    related = () if other is None else (Related(other, f"decided {region.old.verdict} before"),)
    head = f"{tool_text(region)}: {verdicts_text(region)}, was by {rule_text(old)}, now by {rule_text(new)}"
    if region.witness is None:
        reasons = "; ".join(map(reason_text, region.reasons))
        return Diagnostic("unknown", Severity.WARNING, f"{head}: {reasons}", span, None, related)
    kind = "loosening" if region.loosens else "tightening"
    severity = Severity.WARNING if region.loosens else Severity.NOTE
    return Diagnostic(kind, severity, head, span, f"for example {call_text(region.witness.request)}", related)


def proof_sarif(found: Iterable[Proved]) -> str:
    """Return the invariants that were not proved as a SARIF 2.1.0 log, at their places."""
    return sarif_log([_unproved(item) for item in found if not item.holds], PROOF_NAMES)


def _unproved(item: Proved) -> Diagnostic:
    invariant = item.invariant
    reason = f": {invariant.reason}" if invariant.reason else ""
    if isinstance(item.answer, Witness):
        message = f"the invariant `{invariant.id}` is violated{reason}"
        example = f"for example {call_text(item.answer.request)}"
        return Diagnostic("violated", Severity.ERROR, message, invariant.span, example)
    help = "; ".join(map(reason_text, item.answer.reasons)) if isinstance(item.answer, Unknown) else None
    message = f"the invariant `{invariant.id}` is not proved{reason}"
    return Diagnostic("unknown", Severity.WARNING, message, invariant.span, help)


def dead_sarif(found: DeadParts) -> str:
    """Return the dead parts of a policy as a SARIF 2.1.0 log."""
    items = list(dead_findings(found))
    names = {item.code: CODES[item.code].name for item in found.predicates if item.code in CODES}
    return sarif_log(items, DEAD_NAMES | names)


def dead_findings(found: DeadParts) -> Iterator[Diagnostic]:
    """Yield the dead parts of a policy as findings."""
    for rule in found.rules:
        name = rule_text(rule.rule)
        if rule.why == "contradiction":
            message = f"the rule {name} decides no call: its match is never true"
        else:
            others = ", ".join(map(rule_text, rule.culprits)) or "other rules"
            message = f"the rule {name} decides no call: each one that it matches goes to {others}"
        related = tuple(Related(item.span, "decides before it") for item in rule.culprits if item.span is not None)
        yield Diagnostic("dead-rule", Severity.WARNING, message, rule.rule.span, None, related)
    for clause in found.clauses:
        message = f"the clause `{clause.text}` of the rule {rule_text(clause.rule)} changes no decision"
        yield Diagnostic("dead-clause", Severity.WARNING, message, clause.span)
    yield from found.predicates


def holes_sarif(found: Holes) -> str:
    """Return near misses as a SARIF 2.1.0 log, each at its rule."""
    return sarif_log(map(_near_miss, found.holes), HOLE_NAMES)


def _near_miss(hole: Hole) -> Diagnostic:
    kind = hole.kind.replace("_", " ")
    message = f"the rule {rule_text(hole.rule)} misses {call_text(hole.missed.request)}: {kind} at `{hole.path}`"
    help = f"it takes {call_text(hole.taken.request)}"
    return Diagnostic("near-miss", Severity.WARNING, message, hole.rule.span, help)
