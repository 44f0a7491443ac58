"""Comparison of both profiles on one policy: errors of strict, and requests with different decisions.

INVARIANT: a request is shown only after both profiles have evaluated it again, read back from its JSON text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import msgspec

from bobcat._core import evaluate_many
from bobcat.bundle import Policy
from bobcat.bundle.explanation import RuleExplanation
from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics.model import Diagnostic, Span
from bobcat.diagnostics.render import render_text
from bobcat.doctor.probe_requests import Request, probe_calls
from bobcat.doctor.reduce import reduce_policy
from bobcat.errors import PolicyCompileError
from bobcat.frontend.lynx.policy import compile_lynx
from bobcat.frontend.strict.policy import compile_strict
from bobcat.ir.schema import IrPolicy, IrRule
from bobcat.model.decision import Decision, Verdict
from bobcat.model.request_json import request_from_json

RESTRICTING = ("deny", "approve_required", "dry_run")
PERMISSIVE = ("allow", "transform", "dry_run", "approve_required", "deny")


@dataclass(frozen=True, slots=True)
class StrictRefusal:
    """An error of the strict profile, and lynx-agent's decision on a related request.

    `rule` is None outside of the rules. `request` and `lynx` are None when no request was found.
    """

    diagnostic: Diagnostic
    rule: str | None
    request: Request | None
    lynx: Decision | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the profiles, and a request that shows it. `rule` is the rule with different results."""

    rule: str
    span: Span | None
    cause: str
    request: Request
    lynx: Decision
    strict: Decision

    @property
    def lost(self) -> int:
        """Return how much less strict permits than lynx-agent; negative if it permits more."""
        return PERMISSIVE.index(self.strict.verdict) - PERMISSIVE.index(self.lynx.verdict)


@dataclass(frozen=True, slots=True)
class Examination:
    """Result of an examination. `requests` is the number evaluated by both profiles, without the rules in `left_out`.

    `compared` is false if the strict profile rejects the policy in a way that leaves nothing to compare.
    """

    refusals: tuple[StrictRefusal, ...]
    differences: tuple[Difference, ...]
    requests: int
    compared: bool
    left_out: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Return true if there are no findings."""
        return not self.refusals and not self.differences


def examine(text: str, name: str = "<inline>") -> Examination:
    """Search for differences between the profiles. PolicyCompileError if lynx-agent also rejects the policy."""
    lynx, strict = compile_lynx(text, name), compile_strict(text, name)
    if lynx.policy is None or lynx.source_map is None:
        raise PolicyCompileError(render_text(lynx.errors, {name: text}), lynx.errors)
    lynx_bundle = Policy.from_policy(lynx.policy, source_map=lynx.source_map)
    if strict.policy is not None:
        found, count = _compare(lynx_bundle, Policy.from_policy(strict.policy), _spans(lynx.source_map))
        return Examination((), found, count, True, ())
    refusals = tuple(_refusal(item, lynx_bundle, lynx.policy, lynx.source_map) for item in strict.errors)
    rest = reduce_policy(text, name)
    if rest is None:
        return Examination(refusals, (), 0, False, ())
    spans = _spans(lynx.source_map)
    ids = [str(rule.id) for rule in lynx.policy.rules if isinstance(rule, IrRule)]
    kept = [spans[ids.index(str(rule.id))] for rule in rest.lynx.rules if isinstance(rule, IrRule)]
    found, count = _compare(Policy.from_policy(rest.lynx), Policy.from_policy(rest.strict), kept)
    return Examination(refusals, found, count, True, rest.left_out)


def _spans(places: SourceMap) -> list[Span | None]:
    return [places.rule_span(index) for index in range(len(places.rules))]


# --- errors of the strict profile ---


def _refusal(item: Diagnostic, lynx: Policy, policy: IrPolicy, places: SourceMap) -> StrictRefusal:
    index = None if item.span is None else _rule_at(item.span, places)
    if index is None:
        about = msgspec.structs.replace(policy, rules=())
        return StrictRefusal(item, None, *_decided(lynx, about, None))
    rule = policy.rules[index]
    name = str(rule.id) if isinstance(rule, IrRule) else rule.name
    return StrictRefusal(item, name, *_decided(lynx, msgspec.structs.replace(policy, rules=(rule,)), name))


def _rule_at(span: Span, places: SourceMap) -> int | None:
    """Return the rule at a position, or the first rule that uses the predicate at it."""
    at = (span.line, span.column)
    for index, rule in enumerate(places.rules):
        if (rule.line, rule.column) <= at < (rule.end_line, rule.end_column):
            return index
    for index, rule in enumerate(places.rules):
        if any((line, column) <= at < (end, end_column) for line, column, end, end_column in rule.leaves):
            return index
    return None


def _decided(lynx: Policy, about: IrPolicy, rule: str | None) -> tuple[Request | None, Decision | None]:
    """Return a request about some rules, preferably one that `rule` decides, and lynx-agent's decision on it."""
    requests = list(probe_calls(about))
    shown = [request for request, call in requests if rule is None or rule in lynx.evaluate(call).matched_rules]
    # The first request targets no particular rule, the second one matches the rule as far as possible.
    shown += [request for request, _ in (*requests[1:2], *requests[:1])]
    return (shown[0], _again(lynx, shown[0])) if shown else (None, None)


def _again(bundle: Policy, request: Request) -> Decision:
    return bundle.evaluate(request_from_json(json.dumps(request)))


# --- different decisions ---


def _compare(lynx: Policy, strict: Policy, spans: list[Span | None]) -> tuple[tuple[Difference, ...], int]:
    """Return the differences in rule order: the worst one for each way in which a rule's result differs."""
    pairs = list(probe_calls(lynx.ir))
    calls = [call for _, call in pairs]
    simplest: dict[object, Request] = {}  # the plain requests come first
    for (request, _), old, new in zip(pairs, evaluate_many(lynx, calls), evaluate_many(strict, calls), strict=True):
        if _effect(old) != _effect(new):
            simplest.setdefault((old.verdict, old.matched_rules, new.verdict, new.matched_rules), request)
    found: dict[tuple[int, str], Difference] = {}
    for request in simplest.values():
        index, difference = _difference(lynx, strict, spans, request)
        kept = found.setdefault((index, difference.cause), difference)
        if difference.lost > kept.lost:
            found[index, difference.cause] = difference
    ordered = sorted(found.items(), key=lambda item: item[0][0])
    return tuple(difference for _, difference in ordered), len(pairs)


def _effect(decision: Decision) -> object:
    """Return the effect of a decision. Its reason and the rules it names do not affect execution."""
    if decision.verdict is Verdict.DENY:
        return decision.verdict
    asked = decision.verdict is Verdict.APPROVE_REQUIRED
    asking = (tuple(decision.approvers), decision.approvals_needed, decision.timeout_seconds) if asked else None
    return (decision.verdict, asking, _plain(decision.transform_args))


def _plain(args: object) -> str:
    return json.dumps(args, sort_keys=True, default=dict)


def _difference(lynx: Policy, strict: Policy, spans: list[Span | None], request: Request) -> tuple[int, Difference]:
    """Return the index of the rule with different results on a request, and the difference."""
    call = request_from_json(json.dumps(request))
    old, new = lynx.explain(call), strict.explain(call)
    index = len(spans)
    rule, cause = "<defaults>", "the defaults decide differently"
    for here, (left, right) in enumerate(zip(old.rules, new.rules, strict=True)):
        if left.outcome == "not_reached" or right.outcome == "not_reached":
            break
        if _acts(left, "lynx") != _acts(right, "strict"):
            index, rule, cause = here, left.id, _cause(left, right)
            break
        if left.outcome == "true":
            index, rule, cause = here, left.id, "strict evaluates the transformed arguments again"
            break
    span = spans[index] if index < len(spans) else None
    return index, Difference(rule, span, cause, request, old.decision, new.decision)


def _acts(rule: RuleExplanation, profile: str) -> str:
    """Return the action of a rule: `fires`, `denies` because of an error, or `passed` over."""
    if rule.outcome == "true":
        return "fires"
    return "denies" if profile == "strict" and rule.outcome == "error" and rule.verdict in RESTRICTING else "passed"


def _cause(left: RuleExplanation, right: RuleExplanation) -> str:
    lynx = {"true": "it matches for lynx-agent", "error": f"lynx-agent skips it ({left.error})"}.get(
        left.outcome, "it does not match for lynx-agent"
    )
    match right.outcome:
        case "true":
            return f"the rule matches in strict; {lynx}"
        case "error" if right.verdict in RESTRICTING:
            return f"strict cannot evaluate the rule ({right.error}) and denies; {lynx}"
        case "error":
            return f"strict cannot evaluate the rule ({right.error}), and it permits nothing; {lynx}"
        case "absent":
            return f"in strict, an absent value permits nothing; {lynx}"
        case _:
            return f"the rule does not match in strict; {lynx}"
