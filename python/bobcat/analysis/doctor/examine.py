"""Both profiles on one policy: what strict refuses, and the requests on which the two decide differently.

INVARIANT: a request is shown only after the profiles have decided on it once more, read back from its JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from bobcat._core import evaluate_many
from bobcat.analysis.doctor.probes import Request, probes
from bobcat.analysis.doctor.rest import rest_of
from bobcat.bundle import PolicyBundle
from bobcat.bundle.explanation import RuleExplanation
from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics import Diagnostic, Severity, Span
from bobcat.errors import PolicyCompileError, RequestError
from bobcat.frontend.lynx import compile_lynx
from bobcat.frontend.strict import compile_strict
from bobcat.ir.schema import Policy, Rule
from bobcat.model import ActionRequest, Decision, Verdict
from bobcat.render import render_text
from bobcat.requests import request_from_json

RESTRICTING = ("deny", "approve_required", "dry_run")
PERMISSIVE = ("allow", "transform", "dry_run", "approve_required", "deny")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that strict refuses, and what lynx-agent decides on a request that concerns it.

    `rule` is None outside of the rules. `request` and `lynx` are None when no request was found.
    """

    diagnostic: Diagnostic
    rule: str | None
    request: Request | None
    lynx: Decision | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where the profiles part, and a request that shows it. `rule` is the rule that comes out differently."""

    rule: str
    span: Span | None
    cause: str
    request: Request
    lynx: Decision
    strict: Decision

    @property
    def lost(self) -> int:
        """How much less strict permits than lynx-agent does; negative where it permits more."""
        return PERMISSIVE.index(self.strict.verdict) - PERMISSIVE.index(self.lynx.verdict)


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything found. `requests` were decided on by both profiles, without the rules in `left_out`.

    `compared` is false when strict refuses the policy in a way that leaves nothing to compare.
    """

    refusals: tuple[Refusal, ...]
    differences: tuple[Difference, ...]
    requests: int
    compared: bool
    left_out: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """True when nothing was found."""
        return not self.refusals and not self.differences


def examine(text: str, name: str = "<inline>") -> Examination:
    """Look for places where strict means something else. PolicyCompileError when lynx-agent refuses the policy, too."""
    lynx, strict = compile_lynx(text, name), compile_strict(text, name)
    if lynx.policy is None or lynx.source_map is None:
        raise PolicyCompileError(render_text(lynx.diagnostics, {name: text}), lynx.diagnostics)
    lynx_bundle = PolicyBundle.from_policy(lynx.policy, source_map=lynx.source_map)
    if strict.policy is not None:
        found, count = _compare(lynx_bundle, PolicyBundle.from_policy(strict.policy), _spans(lynx.source_map))
        return Examination((), found, count, True, ())
    refusals = tuple(
        _refusal(item, lynx_bundle, lynx.policy, lynx.source_map)
        for item in strict.diagnostics
        if item.severity is Severity.ERROR
    )
    rest = rest_of(text, name)
    if rest is None:
        return Examination(refusals, (), 0, False, ())
    spans = _spans(lynx.source_map)
    ids = [str(rule.id) for rule in lynx.policy.rules if isinstance(rule, Rule)]
    kept = [spans[ids.index(str(rule.id))] for rule in rest.lynx.rules if isinstance(rule, Rule)]
    found, count = _compare(PolicyBundle.from_policy(rest.lynx), PolicyBundle.from_policy(rest.strict), kept)
    return Examination(refusals, found, count, True, rest.left_out)


def _spans(places: SourceMap) -> list[Span | None]:
    return [places.rule_span(index) for index in range(len(places.rules))]


def _requests(policy: Policy) -> Iterable[tuple[Request, ActionRequest]]:
    for request in probes(policy):
        try:
            yield request, request_from_json(request)
        except RequestError:  # a value that its field can never have
            continue


# --- what strict refuses ---


def _refusal(item: Diagnostic, lynx: PolicyBundle, policy: Policy, places: SourceMap) -> Refusal:
    index = None if item.span is None else _rule_at(item.span, places)
    if index is None:
        about = msgspec.structs.replace(policy, rules=())
        return Refusal(item, None, *_decided(lynx, about, None))
    rule = policy.rules[index]
    name = str(rule.id) if isinstance(rule, Rule) else rule.name
    return Refusal(item, name, *_decided(lynx, msgspec.structs.replace(policy, rules=(rule,)), name))


def _rule_at(span: Span, places: SourceMap) -> int | None:
    """The rule in which a place is, or the first one that uses the predicate in which it is."""
    at = (span.line, span.column)
    for index, rule in enumerate(places.rules):
        if (rule.line, rule.column) <= at < (rule.end_line, rule.end_column):
            return index
    for index, rule in enumerate(places.rules):
        if any((line, column) <= at < (end, end_column) for line, column, end, end_column in rule.leaves):
            return index
    return None


def _decided(lynx: PolicyBundle, about: Policy, rule: str | None) -> tuple[Request | None, Decision | None]:
    """A request about some rules, at best one that `rule` decides, and what lynx-agent decides on it."""
    requests = list(_requests(about))
    shown = [request for request, call in requests if rule is None or rule in lynx.evaluate(call).matched_rules]
    # The first request meets no rule in particular, the second one the rule as far as it can be met.
    shown += [request for request, _ in (*requests[1:2], *requests[:1])]
    return (shown[0], _again(lynx, shown[0])) if shown else (None, None)


def _again(bundle: PolicyBundle, request: Request) -> Decision:
    return bundle.evaluate(request_from_json(json.dumps(request)))


# --- where the decisions differ ---


def _compare(lynx: PolicyBundle, strict: PolicyBundle, spans: list[Span | None]) -> tuple[tuple[Difference, ...], int]:
    """The differences in the order of the rules: for each way in which a rule comes out differently the worst one."""
    pairs = list(_requests(lynx.ir))
    calls = [call for _, call in pairs]
    plainest: dict[object, Request] = {}  # the plain requests come first
    for (request, _), old, new in zip(pairs, evaluate_many(lynx, calls), evaluate_many(strict, calls), strict=True):
        if _effect(old) != _effect(new):
            plainest.setdefault((old.verdict, old.matched_rules, new.verdict, new.matched_rules), request)
    found: dict[tuple[int, str], Difference] = {}
    for request in plainest.values():
        index, difference = _difference(lynx, strict, spans, request)
        kept = found.setdefault((index, difference.cause), difference)
        if difference.lost > kept.lost:
            found[index, difference.cause] = difference
    ordered = sorted(found.items(), key=lambda item: item[0][0])
    return tuple(difference for _, difference in ordered), len(pairs)


def _effect(decision: Decision) -> object:
    """What a decision lets happen. Its reason and the rules it names may differ without consequence."""
    if decision.verdict is Verdict.DENY:
        return decision.verdict
    asked = decision.verdict is Verdict.APPROVE_REQUIRED
    asking = (tuple(decision.approvers), decision.approvals_needed, decision.timeout_seconds) if asked else None
    return (decision.verdict, asking, _plain(decision.transform_args))


def _plain(args: object) -> str:
    return json.dumps(args, sort_keys=True, default=dict)


def _difference(
    lynx: PolicyBundle, strict: PolicyBundle, spans: list[Span | None], request: Request
) -> tuple[int, Difference]:
    """The index of the rule at which the profiles part on a request, and the difference."""
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
            index, rule, cause = here, left.id, "strict judges the transformed arguments again"
            break
    span = spans[index] if index < len(spans) else None
    return index, Difference(rule, span, cause, request, old.decision, new.decision)


def _acts(rule: RuleExplanation, profile: str) -> str:
    """What a rule does to the decision: `fires`, `denies` because it is in error, or is `passed` over."""
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
            return f"strict cannot judge the rule ({right.error}) and denies; {lynx}"
        case "error":
            return f"strict cannot judge the rule ({right.error}) and permits nothing by it; {lynx}"
        case "absent":
            return f"in strict, a value that is not there permits nothing; {lynx}"
        case _:
            return f"the rule does not match in strict; {lynx}"
