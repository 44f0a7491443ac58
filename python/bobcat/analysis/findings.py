"""Answers of the analysis as findings for code scanning.

A finding without a place of its own is about the whole file: code hosts refuse a result without a location.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from bobcat.analysis.calls import call_text
from bobcat.analysis.dead_rules import DeadParts, DeadRule
from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.engine import rule_ref
from bobcat.analysis.model import Diff, Reason, Region, RuleRef, Unknown, Witness
from bobcat.analysis.near_misses import Hole, Holes
from bobcat.analysis.permissions import Permission, Surface
from bobcat.analysis.proving import Proved
from bobcat.analysis.summary import reason_text, rule_text, tool_text, verdicts_text
from bobcat.bundle.model import Policy
from bobcat.diagnostics.catalogue import CODES
from bobcat.diagnostics.model import Diagnostic, Related, Severity, Span
from bobcat.diagnostics.sarif import sarif_log
from bobcat.text.display import safe_name

NAMES = {"loosening": "call-permitted-more", "tightening": "call-permitted-less", "unknown": "difference-unknown"}
"""The kinds of results of a difference, with their names in words."""
PROOF_NAMES = {"violated": "invariant-violated", "unknown": "invariant-unknown"}
"""The kinds of results of invariants."""
DEAD_NAMES = {
    "dead-rule": "rule-decides-no-call",
    "dead-clause": "clause-changes-no-decision",
    "unknown": "rule-not-decided",
}
"""The kinds of dead parts, beside the codes of lints."""
HOLE_NAMES = {"near-miss": "restricting-rule-misses-a-call", "unknown": "rule-without-a-call-to-vary"}
"""The kinds of results of holes."""
UNUSED_NAMES = {"unused": "permission-that-no-recorded-call-uses", "unknown": "permission-unknown"}
"""The kinds of results of a surface with traffic."""


def difference_sarif(differences: Iterable[tuple[Diff, str]]) -> str:
    """Return the regions of differences as a SARIF 2.1.0 log, one result each, at the rule of the new policy.

    Each difference has the name of its new policy.
    """
    return sarif_log([item for found, file in differences for item in _placed(_findings(found), file)], NAMES)


def _placed(findings: Iterable[Diagnostic], file: str) -> Iterator[Diagnostic]:
    """Yield findings, those without a place at their file."""
    whole = Span(file, 0, 0, 0, 0)
    yield from (item if item.span is not None else replace(item, span=whole) for item in findings)


def _unknown(about: str, reasons: Iterable[Reason], span: Span | None = None) -> Diagnostic:
    return Diagnostic("unknown", Severity.WARNING, f"{about}: {'; '.join(map(reason_text, reasons))}", span)


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


def proof_sarif(found: Iterable[Proved], policy: Policy, file: str) -> str:
    """Return the invariants that a policy does not keep as a SARIF 2.1.0 log, at their places.

    One without a place is at the rule that decides the call which violates it.
    """
    findings = [_unproved(item, policy) for item in found if not item.holds]
    return sarif_log(_placed(findings, file), PROOF_NAMES)


def _unproved(item: Proved, policy: Policy) -> Diagnostic:
    invariant = item.invariant
    reason = f": {invariant.reason}" if invariant.reason else ""
    if isinstance(item.answer, Witness):
        message = f"the invariant `{invariant.id}` is violated{reason}"
        example = f"for example {call_text(item.answer.request)}"
        decided = rule_ref(policy, DecidingRules(policy).index(item.answer.decision)).span
        related = () if decided is None else (Related(decided, "decides the call"),)
        if invariant.span is None:
            return Diagnostic("violated", Severity.ERROR, message, decided, example)
        return Diagnostic("violated", Severity.ERROR, message, invariant.span, example, related)
    help = "; ".join(map(reason_text, item.answer.reasons)) if isinstance(item.answer, Unknown) else None
    message = f"the invariant `{invariant.id}` is not proved{reason}"
    return Diagnostic("unknown", Severity.WARNING, message, invariant.span, help)


def dead_sarif(found: DeadParts, file: str) -> str:
    """Return the dead parts of a policy as a SARIF 2.1.0 log, with the rules that are not decided."""
    items = [*dead_findings(found), *_undecided((item.rule, item.reasons) for item in found.unknown)]
    names = {item.code: CODES[item.code].name for item in found.predicates if item.code in CODES}
    return sarif_log(_placed(items, file), DEAD_NAMES | names)


def _undecided(rules: Iterable[tuple[RuleRef, Sequence[Reason]]]) -> Iterator[Diagnostic]:
    for rule, reasons in rules:
        yield _unknown(f"the rule {rule_text(rule)}", reasons, rule.span)


def dead_findings(found: DeadParts) -> Iterator[Diagnostic]:
    """Yield the dead parts of a policy as findings."""
    for rule in found.rules:
        message = f"the rule {rule_text(rule.rule)} decides no call: {_why_dead(rule)}"
        place = "decides on its arguments" if rule.why == "overruled" else "decides before it"
        related = tuple(Related(item.span, place) for item in rule.culprits if item.span is not None)
        yield Diagnostic("dead-rule", Severity.WARNING, message, rule.rule.span, None, related)
    for clause in found.clauses:
        message = f"the clause `{clause.text}` of the rule {rule_text(clause.rule)} changes no decision"
        yield Diagnostic("dead-clause", Severity.WARNING, message, clause.span)
    yield from found.predicates


def _why_dead(rule: DeadRule) -> str:
    others = ", ".join(map(rule_text, rule.culprits)) or "other rules"
    match rule.why:
        case "contradiction":
            return "its match is never true"
        case "cannot_transform":
            return "its transform is an error on each one that it matches"
        case "overruled":
            return f"on the arguments that it makes, rules before it decide, such as {others}"
        case "shadowed":
            return f"each one that it matches goes to {others}"


def holes_sarif(found: Holes, file: str) -> str:
    """Return near misses as a SARIF 2.1.0 log, each at its rule, with the rules that were not varied."""
    return sarif_log(_placed([*map(_near_miss, found.holes), *_undecided(found.unknown)], file), HOLE_NAMES)


def unused_sarif(found: Surface, file: str) -> str:
    """Return the permissions that no recorded call uses as a SARIF 2.1.0 log, each at its rule."""
    items = [*map(_unused, found.unused), *([_unknown("the surface", found.reasons)] if found.reasons else [])]
    return sarif_log(_placed(items, file), UNUSED_NAMES)


def _unused(row: Permission) -> Diagnostic:
    tool = "any other tool" if row.tool is None else safe_name(row.tool)
    rules = row.rules or row.unknown_rules
    span = next((rule.span for rule in rules if rule.span is not None), None)
    head = f"no recorded call of {tool} uses {row.verdict} by {', '.join(map(rule_text, rules)) or 'other rules'}"
    if isinstance(row.answer, Unknown):
        return _unknown(head, row.answer.reasons, span)
    return Diagnostic("unused", Severity.NOTE, head, span, f"for example {call_text(row.answer.request)}")


def _near_miss(hole: Hole) -> Diagnostic:
    kind = hole.kind.replace("_", " ")
    message = f"the rule {rule_text(hole.rule)} misses {call_text(hole.missed.request)}: {kind} at `{hole.path}`"
    help = f"it takes {call_text(hole.taken.request)}"
    return Diagnostic("near-miss", Severity.WARNING, message, hole.rule.span, help)
