"""Asking the policy, whatever it does: a decision comes out, and an ill-formed or failed one denies."""

from __future__ import annotations

from bobcat import pdp
from bobcat.bundle import PolicyBundle
from bobcat.model import ActionRequest, Decision, Verdict
from bobcat.plain_json import describe

_MARKERS = ("<default:evaluation_error>",)


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
