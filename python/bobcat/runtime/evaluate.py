"""Policy evaluation that always yields a decision: an invalid decision or an exception denies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bobcat import pdp
from bobcat._core import RunState
from bobcat.bundle import Policy
from bobcat.ir.schema import IrRule
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.model.frozen import deep_freeze
from bobcat.text.json_text import format_exception, safe_str

_MARKERS = ("<default:evaluation_error>",)
_ERROR = "<rule_error:"
MAX_REEVALUATIONS = 100
"""Maximum number of evaluations with completed arguments. Ranks only decrease, so real policies stay far below."""

Args = Mapping[str, Any]  # Any: arguments of a tool have any type


def evaluate_or_deny(
    policy: Policy,
    request: ActionRequest,
    state: RunState | None = None,
    *,
    evaluate: Callable[..., Decision] | None = None,
) -> Decision:
    """The decision of `policy` on `request`, after what `state` remembers. `evaluate` replaces that of the core."""
    ask = evaluate or pdp.evaluate
    try:
        decision: object = (
            ask(policy, request, request.context) if state is None else ask(policy, request, request.context, state)
        )
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also `SystemExit` from a Python rule
        return Decision(
            Verdict.DENY, f"the policy could not be evaluated ({format_exception(error)}); denied", _MARKERS
        )
    if isinstance(decision, Decision):
        if type(decision.matched_rules) is tuple is type(decision.approvers):
            return decision
        rules: object = decision.matched_rules
        approvers: object = decision.approvers
        if isinstance(rules, (tuple, list)) and isinstance(approvers, (tuple, list)):
            return decision
    return Decision(
        Verdict.DENY, f"the policy gave {type(decision).__name__}, not a well-formed Decision; denied", _MARKERS
    )


def with_known_verdict(decision: Decision) -> Decision:
    """The decision, or a denial when its verdict is unknown."""
    verdict: object = decision.verdict
    if isinstance(verdict, Verdict):
        return decision
    return Decision(Verdict.DENY, f"unknown verdict {safe_str(verdict)!r}", tuple(decision.matched_rules))


def complete_transform(
    policy: Policy,
    request: ActionRequest,
    decision: Decision,
    bind: Callable[[Args], Args],
    completed: list[Args] | None = None,
    state: RunState | None = None,
) -> Decision:
    """The decision with the effective arguments, defaults included, evaluated once more.

    A transform can omit an argument that has a default, so the rules that outrank it have not seen the effective
    arguments. They are evaluated again with the default; the first that fires decides, as in any second evaluation. The
    arguments that `bind` returned are appended to `completed`, each time it added something.
    """
    if policy.manifest.profile != "strict":
        return decision
    for _ in range(MAX_REEVALUATIONS):
        proposed: object = decision.transform_args
        if decision.verdict is Verdict.DENY or not isinstance(proposed, Mapping):
            return decision
        try:
            args = deep_freeze(dict(proposed))
            bound = bind(args)
        except Exception:  # arguments that the tool does not take: the tool reports them
            return decision
        if bound is args:
            return decision
        bound = deep_freeze(dict(bound))
        if completed is not None:
            completed.append(bound)
        rebound = ActionRequest(request.tool, bound, request.declared, request.context)
        second = evaluate_or_deny(policy, rebound, state)
        if not _outranks(policy, second, decision):
            return replace(decision, transform_args=bound)
        names = (*decision.matched_rules, *second.matched_rules)
        duties = () if second.verdict is Verdict.DENY else decision.obligations
        verdict = Verdict.TRANSFORM if second.verdict is Verdict.ALLOW else second.verdict
        new = bound if second.transform_args is None else second.transform_args
        decision = replace(
            second,
            verdict=verdict,
            matched_rules=tuple(dict.fromkeys(names)),
            transform_args=None if verdict is Verdict.DENY else new,
            obligations=(*duties, *second.obligations),
        )
    return Decision(Verdict.DENY, "the transformed arguments could not be evaluated; denied", _MARKERS)


def _outranks(policy: Policy, second: Decision, before: Decision) -> bool:
    """Return true if the first rule of `second` outranks the rules that made the decision `before`."""
    ranks = {rule.id if isinstance(rule, IrRule) else rule.name: index for index, rule in enumerate(policy.ir.rules)}
    floor = min((ranks[name] for name in before.matched_rules if name in ranks), default=len(ranks))
    first = max((ranks[name] for name in second.matched_rules if name in ranks), default=None)
    if first is None:
        last = second.matched_rules[-1] if second.matched_rules else ""
        if not last.startswith(_ERROR):
            return second.matched_rules == _MARKERS
        first = ranks.get(last.removeprefix(_ERROR).rpartition(":")[0], -1)  # -1: an error without a known rule
    return first < floor
