"""The rule that decided a call, by the names in its decision: the same one that the core names for a region."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bobcat.analysis.engine import DEFAULT
from bobcat.bundle.model import Policy
from bobcat.ir.schema import IrRule
from bobcat.model.decision import Decision

_LAYER_DEFAULT = re.compile(r"[a-z][a-z0-9_-]*:<default:")


class DecidingRules:
    """The deciding rules of the decisions of one policy."""

    def __init__(self, policy: Policy) -> None:
        rules = policy.ir.rules if policy.layers else ()
        self._verdicts = {str(rule.id): rule.verdict for rule in rules if isinstance(rule, IrRule)}
        self._policy = policy

    def of(self, decision: Decision) -> str:
        """Return the id of the rule that decided, also by its error; `DEFAULT` for a default of the policy."""
        return self.named(decision.matched_rules, decision.verdict.value)

    def index(self, decision: Decision) -> int | None:
        """Return the index of the rule that decided; None for a default."""
        name = self.of(decision)
        names = (rule.id if isinstance(rule, IrRule) else rule.name for rule in self._policy.ir.rules)
        return next((index for index, own in enumerate(names) if own == name), None)

    def named(self, matched: Sequence[object], verdict: str) -> str:
        """Return the id of the deciding one of the rules that a decision names.

        The last name decides. Several layers can require an approval: their names are in the order of the layers, and
        the first of them decides, be it a rule or a default.
        """
        names = list(map(str, matched))
        if self._verdicts and verdict == "approve_required":
            for name in names:
                if self._verdicts.get(name) == verdict or _LAYER_DEFAULT.match(name):
                    return _rule_of(name)
        return _rule_of(names[-1] if names else "")


def _rule_of(name: str) -> str:
    if name.startswith("<rule_error:"):
        return name.removeprefix("<rule_error:").rpartition(":")[0]
    # A default, that of a layer too, or a conflict of layers.
    return DEFAULT if not name or name.startswith("<") or _LAYER_DEFAULT.match(name) else name
