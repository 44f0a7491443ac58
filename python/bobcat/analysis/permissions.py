"""The surface of a policy: for each tool that it names, and for all others, the verdicts that calls can get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from bobcat.analysis.calls import call_data
from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.engine import Constraint, Data, Effort, Progress, Questions, rule_ref
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.model import (
    ORDER,
    PERMITTED,
    Answer,
    JsonData,
    Proof,
    Reason,
    RuleRef,
    Unknown,
    Witness,
    reasons_json,
)
from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.model import Policy
from bobcat.ir.conjuncts import named_tools
from bobcat.ir.schema import IrRule
from bobcat.model.decision import ActionRequest

MAX_ASKED = 100
"""Rules of one row that are asked for one by one where the answer for the tool is not exact; others stay unknown."""
_ENDED = frozenset(("budget_seconds", "stopped", "lynx_profile"))


@dataclass(frozen=True, slots=True)
class Permission:
    """One verdict that calls of a tool can get, or may get; `tool` is None for tools that the policy does not name.

    `rules` are those that give it, and `unknown_rules` those of which it is unknown. `recorded` is the number of
    recorded calls with it, None without traffic.
    """

    tool: str | None
    verdict: str
    rules: tuple[RuleRef, ...]
    answer: Witness | Unknown
    recorded: int | None = None
    unknown_rules: tuple[RuleRef, ...] = ()

    @property
    def permits(self) -> bool:
        """Return true for a verdict other than `deny`."""
        return self.verdict != "deny"

    def to_json(self) -> JsonData:
        """Return the row as JSON data."""
        found: JsonData = {
            "tool": self.tool,
            "verdict": self.verdict,
            "rules": [rule.to_json() for rule in self.rules],
            "call": call_data(self.answer.request) if isinstance(self.answer, Witness) else None,
        }
        if isinstance(self.answer, Unknown):
            found["reasons"] = reasons_json(self.answer.reasons)
        if self.unknown_rules:
            found["unknown_rules"] = [rule.to_json() for rule in self.unknown_rules]
        return found if self.recorded is None else {**found, "recorded": self.recorded}


@dataclass(frozen=True, slots=True)
class Surface:
    """The rows of a policy by tool, other tools last; of one tool, the loosest verdict first.

    `reasons` are those for which tools have no rows: without any, what has no row is proved impossible.
    """

    rows: tuple[Permission, ...]
    reasons: tuple[Reason, ...] = ()

    @property
    def permitted(self) -> tuple[Permission, ...]:
        """The rows of calls that are not denied."""
        return tuple(row for row in self.rows if row.permits)

    @property
    def unused(self) -> tuple[Permission, ...]:
        """The permitted rows without a recorded call."""
        return tuple(row for row in self.permitted if row.recorded == 0)

    def to_json(self) -> JsonData:
        """Return the surface as JSON data."""
        return {"rows": [row.to_json() for row in self.rows], "reasons": reasons_json(self.reasons)}


def surface(
    policy: PolicyInput,
    *,
    traffic: Iterable[ActionRequest] | None = None,
    budget: float | None = None,
    progress: Progress | None = None,
) -> Surface:
    """Return the verdicts that calls of each tool can get, with a call and the rules for each.

    With `traffic`, recorded calls, there is a row for each rule, and the number of calls that it decided.
    """
    subject = policy_of(policy)
    questions = Questions([subject], Effort.within(budget, progress))
    found = questions.ask("tools")
    rows = [row for item in found["tools"] for row in _rows(questions, item)]
    if traffic is not None:
        counts = _counts(subject, traffic)
        named = {row.tool for row in rows if row.tool is not None}
        rows = [each for row in rows for each in _by_rule(questions, row, counts, named)]
    return Surface(tuple(rows), questions.reasons(found["unknown"]))


def _rows(questions: Questions, data: Data) -> Iterable[Permission]:
    (own,) = data["policies"]
    for verdict in reversed(ORDER):
        state = own["verdicts"].get(verdict, "none")
        if state == "none":
            continue
        given = list(own["rules"].get(verdict) or ())
        unknown: list[int | None] = []
        if own["reasons"]:  # a rule for which no call was found may give the verdict, too
            others = list(_others(questions.policies[0], data["tool"], verdict, given))
            out_of_time = any(reason["code"] in _ENDED for reason in own["reasons"])
            for index in others[: 0 if out_of_time else MAX_ASKED]:
                where: list[Constraint] = [{"policy": 0, "rules": [index]}, {"policy": 0, "verdicts": [verdict]}]
                match questions.find(*where, tools=[data["tool"]]):
                    case Witness():
                        given.append(index)
                    case Unknown():
                        unknown.append(index)
            unknown += others[0 if out_of_time else MAX_ASKED :]
        rules, unknown_rules = (
            tuple(rule_ref(questions.policies[0], index) for index in sorted(side, key=_in_order))
            for side in (given, unknown)
        )
        answer: Answer = (
            questions.witness(own["witnesses"][verdict], {0: verdict})
            if state == "witness"
            else _asked(questions, data["tool"], verdict)
        )
        if not isinstance(answer, Proof):
            yield Permission(data["tool"], verdict, rules, answer, None, unknown_rules)


def _others(policy: Policy, tool: str | None, verdict: str, known: Collection[int | None]) -> Iterator[int | None]:
    """Yield what else may give a verdict: rules about the tool with it or, for `deny`, by their error; a default."""
    for index, rule in enumerate(policy.ir.rules):
        if index in known or is_monitored(rule):
            continue
        if isinstance(rule, IrRule):
            tools = named_tools(rule)
            gives = rule.verdict == verdict or (verdict == "deny" and rule.verdict not in PERMITTED)
            if not gives or (tools and (tool is None or tool not in tools)):
                continue
        yield index
    defaults = [layer.policy.ir.defaults for layer in policy.layers] or [policy.ir.defaults]
    if None not in known and any(verdict in (each.on_no_match, each.on_missing_shadow) for each in defaults):
        yield None


def _in_order(index: int | None) -> tuple[bool, int]:
    return (index is None, index or 0)


def _asked(questions: Questions, tool: str | None, verdict: str) -> Answer:
    """Ask for a call again, for the reasons that it is unknown."""
    return questions.find({"policy": 0, "verdicts": [verdict]}, tools=[tool])


def _counts(policy: Policy, traffic: Iterable[ActionRequest]) -> Counter[tuple[str, str, str]]:
    counts: Counter[tuple[str, str, str]] = Counter()
    deciding = DecidingRules(policy)
    for request in traffic:
        decision = policy.evaluate(request)
        counts[request.tool, decision.verdict.value, deciding.of(decision)] += 1
    return counts


def _by_rule(
    questions: Questions, row: Permission, counts: Counter[tuple[str, str, str]], named: set[str]
) -> Iterable[Permission]:
    """Yield a row for each rule of a row, with the calls that it decided."""
    for rule in row.rules or (None,):
        recorded = sum(
            count
            for (tool, verdict, name), count in counts.items()
            if verdict == row.verdict
            and (rule is None or name == rule.id)
            and (tool == row.tool if row.tool is not None else tool not in named)
        )
        if len(row.rules) < 2:
            yield replace(row, recorded=recorded)
            continue
        assert rule is not None  # a row has rules
        answer = _call_of(questions, row, rule)
        if not isinstance(answer, Proof):
            yield Permission(row.tool, row.verdict, (rule,), answer, recorded)


def _call_of(questions: Questions, row: Permission, rule: RuleRef) -> Answer:
    """Return a call that one rule gives the verdict of a row; a rule that restricts can also deny, by its error."""
    where: list[Constraint] = [{"policy": 0, "rules": [rule.index]}, {"policy": 0, "verdicts": [row.verdict]}]
    return questions.find(*where, tools=[row.tool])
