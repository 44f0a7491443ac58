"""Decisions that do not depend on the call, made once, for the engines that are written by hand."""

from __future__ import annotations

import bobcat
from bobcat.model.decision import Decision
from wide.generate import JsonObject


class Answers:
    """By the number of a rule, and those of the defaults."""

    def __init__(self, policy: JsonObject) -> None:
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
            bobcat.Verdict(policy["defaults"]["on_no_match"]),
            "no rule matched; default policy",
            ("<default:on_no_match>",),
        )
        self.no_shadow = Decision(
            bobcat.Verdict.APPROVE_REQUIRED,
            "irreversible action with no shadow; default policy",
            ("<default:on_missing_shadow>",),
        )
