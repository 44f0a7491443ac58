"""Parts of Python by hand, for all workloads: decisions made once, and a comparison as an expert writes it."""

from __future__ import annotations

import re
from typing import Any

import bobcat
from bobcat.model.decision import ActionRequest, Decision
from corpora.mixed import JsonObject

_RELATIONS = {"eq": "==", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}


class Answers:
    """The decisions of a policy, made once: by the number of a rule, and those of the defaults."""

    def __init__(self, policy: JsonObject) -> None:
        defaults = policy["defaults"]
        self.of_rule = [
            Decision(
                bobcat.Verdict(rule["decision"]),
                rule["reason"],
                (rule["id"],),
                tuple(rule.get("approvers", ())),
                timeout_seconds=rule.get("timeout_seconds"),
            )
            for rule in policy["rules"]
        ]
        self.no_match = Decision(
            bobcat.Verdict(defaults["on_no_match"]), "no rule matched; default policy", ("<default:on_no_match>",)
        )
        self.no_shadow = Decision(
            bobcat.Verdict(defaults.get("on_missing_shadow", "approve_required")),
            "irreversible action with no shadow; default policy",
            ("<default:on_missing_shadow>",),
        )

    def default(self, request: ActionRequest) -> Decision:
        """Return the decision when no rule holds."""
        declared = request.declared
        return self.no_match if declared.reversible or declared.has_shadow else self.no_shadow


def comparison(value: str, operator: str, operand: Any, constants: dict[str, object]) -> str:  # Any: JSON
    """Write a comparison in Python; patterns and sets are added to the constants, which the text names."""

    def name(constant: object) -> str:
        named = f"C{len(constants)}"
        constants[named] = constant
        return named

    match operator:
        case "eq" if isinstance(operand, bool):
            return value if operand else f"not {value}"
        case "eq" | "gt" | "ge" | "lt" | "le":
            return f"{value} {_RELATIONS[operator]} {operand!r}"
        case "in":
            return f"{value} in {name(frozenset(operand))}"
        case "matches":
            return f"{name(re.compile(operand, re.ASCII).search)}({value})"
        case "contains":
            return f"{operand!r} in {value}"
        case "contains_any":
            return f"not {name(frozenset(operand).isdisjoint)}({value})"
        case "contains_all":
            return "(" + " and ".join(f"{item!r} in {value}" for item in operand) + ")"
        case "between":
            return f"{operand[0]!r} <= {value} <= {operand[1]!r}"
        case "not_between":
            return f"not {operand[0]!r} <= {value} <= {operand[1]!r}"
    raise ValueError(operator)
