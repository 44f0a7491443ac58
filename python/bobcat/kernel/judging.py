"""Asking the policy, whatever it does: a decision comes out, and an ill-formed or failed one denies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bobcat import pdp
from bobcat.bundle import PolicyBundle
from bobcat.frozen import deep_freeze
from bobcat.ir.schema import Rule
from bobcat.model import ActionRequest, Decision, Verdict
from bobcat.plain_json import describe, show

_MARKERS = ("<default:evaluation_error>",)
_ERROR = "<rule_error:"
MAX_LOOKS = 100
"""How often new arguments may be completed and judged again. Ranks only decrease: nothing gets anywhere near it."""

Args = Mapping[str, Any]  # Any: arguments are what a tool takes


def judge(policy: PolicyBundle, request: ActionRequest) -> Decision:
    """The decision of `policy` on `request`."""
    try:
        decision: object = pdp.evaluate(policy, request, request.context)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an exit in a Python rule, too
        return Decision(Verdict.DENY, f"the policy could not be evaluated ({describe(error)}); denied", _MARKERS)
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
    """The decision, or a denial when its verdict is none of ours."""
    verdict: object = decision.verdict
    if isinstance(verdict, Verdict):
        return decision
    return Decision(Verdict.DENY, f"unknown verdict {show(verdict)!r}", tuple(decision.matched_rules))


def complete(
    policy: PolicyBundle,
    request: ActionRequest,
    decision: Decision,
    bind: Callable[[Args], Args],
    completed: list[Args] | None = None,
) -> Decision:
    """The decision with new arguments as the tool will see them, judged as such.

    A transform can leave out an argument that has a default: the rules that outrank it have not seen what will run.
    They are asked again, with the default; the first that fires decides, as in any second look. What `bind` made of the
    arguments is added to `completed`, each time that it added something.
    """
    if policy.manifest.profile != "strict":
        return decision
    for _ in range(MAX_LOOKS):
        given: object = decision.transform_args
        if decision.verdict is Verdict.DENY or not isinstance(given, Mapping):
            return decision
        try:
            args = deep_freeze(dict(given))
            bound = bind(args)
        except Exception:  # arguments that the tool does not take: the tool says so
            return decision
        if bound is args:
            return decision
        bound = deep_freeze(dict(bound))
        if completed is not None:
            completed.append(bound)
        again = judge(policy, ActionRequest(request.tool, bound, request.declared, request.context))
        if not _outranks(policy, again, decision):
            return replace(decision, transform_args=bound)
        names = (*decision.matched_rules, *again.matched_rules)
        verdict = Verdict.TRANSFORM if again.verdict is Verdict.ALLOW else again.verdict
        new = bound if again.transform_args is None else again.transform_args
        decision = replace(
            again,
            verdict=verdict,
            matched_rules=tuple(dict.fromkeys(names)),
            transform_args=None if verdict is Verdict.DENY else new,
        )
    return Decision(Verdict.DENY, "the transformed arguments could not be judged; denied", _MARKERS)


def _outranks(policy: PolicyBundle, again: Decision, before: Decision) -> bool:
    """Whether the rule that `again` begins with outranks those that made the decision `before`."""
    ranks = {rule.id if isinstance(rule, Rule) else rule.name: index for index, rule in enumerate(policy.ir.rules)}
    floor = min((ranks[name] for name in before.matched_rules if name in ranks), default=len(ranks))
    first = max((ranks[name] for name in again.matched_rules if name in ranks), default=None)
    if first is None:
        last = again.matched_rules[-1] if again.matched_rules else ""
        if not last.startswith(_ERROR):
            return again.matched_rules == _MARKERS
        first = ranks.get(last.removeprefix(_ERROR).rpartition(":")[0], -1)  # -1: an error nobody is known to have made
    return first < floor
