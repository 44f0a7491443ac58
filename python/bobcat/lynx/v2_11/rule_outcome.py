"""RuleOutcomes: the decision of one policy's rules, without its defaults, and with the obligations of the rule.

The core decides. Its decisions have no obligations, so a Python rule's own decision travels through it behind the
approvers, and the obligations of a declarative rule are found by the rule's id.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bobcat import pdp
from bobcat.bundle import model
from bobcat.bundle.host_code import HostFunction
from bobcat.lynx.v2_11.core.types import Decision, Obligation, without_obligations
from bobcat.lynx.v2_11.obligations import Table, rule_key
from bobcat.model.decision import ActionRequest, ExecutionContext, Verdict
from bobcat.model.decision import Decision as CoreDecision

NO_MATCH, MISSING_SHADOW = "<default:on_no_match>", "<default:on_missing_shadow>"
UNAWARE = "the decision of rule {name!r} has obligations, which only `bobcat.lynx` as lynx-agent 2.11 meets; denied"
MALFORMED = "the obligations of the decision of rule {name!r} are not a tuple of Obligation; denied"


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """The decision of a policy's rules, None if no rule decides. `errors` are the markers of rules that raised.

    `found` is the core's decision, which is the default one if no rule decides.
    """

    decision: Decision | None
    errors: tuple[str, ...]
    found: CoreDecision

    @property
    def final(self) -> Decision:
        """The decision, by default the default one, with the markers of rules that raised before it."""
        found = self.found
        obligations = () if self.decision is None else self.decision.obligations
        return Decision.of(self.decision or found, found.matched_rules, obligations)


class _Approvers(tuple[str, ...]):  # noqa: SLOT001 - a tuple has no room for a slot
    """The approvers of a Python rule's decision, with the decision."""

    given: Decision


class MarkedRule:
    """A Python rule whose decision keeps its obligations on its way through the core.

    An evaluator that does not know about obligations gets a denial in place of a decision that has some.
    """

    def __init__(self, rule: HostFunction, name: str) -> None:
        self.rule = rule
        self.name = name

    def __call__(self, request: ActionRequest, context: ExecutionContext) -> CoreDecision | None:
        """Call the rule. Raises what it raises. A decision with malformed obligations is a denial."""
        answer = self.rule(request, context)
        if answer is None:
            return None
        names = answer.matched_rules
        names = tuple(names) if self.name in names else (*names, self.name)
        given = _checked(answer, names, self.name)
        if given.obligations or not isinstance(given.approvers, tuple | list):
            shown = CoreDecision(Verdict.DENY, UNAWARE.format(name=self.name), names, _Approvers())
        else:
            shown = replace(without_obligations(given), approvers=_Approvers(given.approvers))
        shown.approvers.given = given  # type: ignore[attr-defined]
        return shown


def _checked(answer: CoreDecision, names: tuple[str, ...], rule: str) -> Decision:
    """Return the decision of a rule; a denial if its obligations are malformed."""
    obligations: object = getattr(answer, "obligations", ())
    if isinstance(obligations, tuple | list) and all(isinstance(each, Obligation) for each in obligations):
        return Decision.of(answer, names, tuple(obligations))
    return Decision(Verdict.DENY, MALFORMED.format(name=rule), names)


def rule_outcome(
    policy: model.Policy, table: Table, request: ActionRequest, context: ExecutionContext | None
) -> RuleOutcome:
    """Return the outcome of a policy of the `lynx` profile, whose declarative rules have the obligations of `table`."""
    found = pdp.evaluate(policy, request, context)
    names, approvers = found.matched_rules, found.approvers
    if isinstance(approvers, _Approvers):
        given = approvers.given
        return RuleOutcome(given, names[: len(names) - len(given.matched_rules)], found)
    errors, name = names[:-1], names[-1]
    if name in (NO_MATCH, MISSING_SHADOW):
        return RuleOutcome(None, errors, found)
    return RuleOutcome(Decision.of(found, (name,), table.get(rule_key(name), ())), errors, found)
