"""Holes: calls that a restricting rule just misses, and that the policy permits more.

The calls are variations of calls that the rule takes; each is decided by the policy. What is found is a fact; that
nothing was found is no proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bobcat.analysis.calls import call_data
from bobcat.analysis.engine import Effort, Progress, Questions, rule_ref
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.model import ORDER, JsonData, Reason, RuleRef, Unknown, Witness, reasons_json
from bobcat.analysis.paths import Data, Path, leaf_paths, path_name, value_at, with_value
from bobcat.analysis.variations import Kind, variations
from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.model import Policy
from bobcat.errors import RequestError
from bobcat.frontend.suggest import closest
from bobcat.ir.conjuncts import named_tools
from bobcat.ir.schema import IrRule
from bobcat.ir.visit import leaves
from bobcat.lint.implication import PERMITS
from bobcat.model.request_json import request_from_data

MAX_BASES = 8
"""Calls of one rule that are varied: one for each tool that it names."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A call that a restricting rule misses by one value, and that the policy permits more than a call it takes."""

    rule: RuleRef
    kind: Kind
    path: str
    taken: Witness
    missed: Witness

    def to_json(self) -> JsonData:
        """Return the hole as JSON data."""
        return {
            **self.rule.to_json(),
            "kind": self.kind,
            "path": self.path,
            "taken": {"call": call_data(self.taken.request), "verdict": self.taken.decision.verdict.value},
            "missed": {"call": call_data(self.missed.request), "verdict": self.missed.decision.verdict.value},
        }


@dataclass(frozen=True, slots=True)
class Holes:
    """The holes of a policy, one for each rule, path and kind; `unknown` are rules without a call to vary."""

    holes: tuple[Hole, ...]
    unknown: tuple[tuple[RuleRef, tuple[Reason, ...]], ...]

    def to_json(self) -> JsonData:
        """Return the holes as JSON data."""
        unknown = [{**rule.to_json(), "reasons": reasons_json(reasons)} for rule, reasons in self.unknown]
        return {"holes": [hole.to_json() for hole in self.holes], "unknown": unknown}


def holes(
    policy: PolicyInput, rule: str | None = None, *, budget: float | None = None, progress: Progress | None = None
) -> Holes:
    """Return calls that the restricting rules of a policy, or the one with an id, just miss.

    Raises `ValueError` for a rule that the policy does not have, or that does not restrict.
    """
    subject = policy_of(policy)
    indexes = _restricting(subject, rule)
    questions = Questions([subject], Effort(budget, progress))
    found: dict[tuple[int, str, Kind], Hole] = {}
    unknown: list[tuple[RuleRef, tuple[Reason, ...]]] = []
    for index in indexes:
        bases, reasons = _bases(questions, index)
        if reasons and not bases:
            unknown.append((rule_ref(subject, index), reasons))
        for base in bases:
            for hole in _missed(questions, index, base):
                found.setdefault((index, hole.path, hole.kind), hole)
    return Holes(tuple(found.values()), tuple(unknown))


def _restricting(policy: Policy, wanted: str | None) -> list[int]:
    rules = {
        index: str(rule.id)
        for index, rule in enumerate(policy.ir.rules)
        if isinstance(rule, IrRule) and not is_monitored(rule)
    }
    found = [index for index in rules if policy.ir.rules[index].verdict not in PERMITS]  # type: ignore[union-attr]  # declarative
    if wanted is None:
        return found
    if wanted not in rules.values():
        near = closest(wanted, rules.values())
        raise ValueError(f"the policy has no rule `{wanted}`{f'; did you mean `{near}`?' if near else ''}")
    chosen = [index for index in found if rules[index] == wanted]
    if not chosen:
        raise ValueError(f"the rule `{wanted}` permits; holes are those of a rule that restricts")
    return chosen


def _bases(questions: Questions, index: int) -> tuple[list[Witness], tuple[Reason, ...]]:
    """Return calls that a rule decides, and the reasons where it is unknown whether it decides one."""
    rule = questions.policies[0].ir.rules[index]
    assert isinstance(rule, IrRule)
    bases: list[Witness] = []
    reasons: dict[Reason, None] = {}
    for tool in named_tools(rule)[:MAX_BASES] or (None,):
        where: list[Data] = [{"policy": 0, "rules": [index]}, {"policy": 0, "verdicts": [rule.verdict]}]
        answer = questions.find(*where, *([{"tool": tool}] if tool is not None else []))
        if isinstance(answer, Witness):
            bases.append(answer)
        elif isinstance(answer, Unknown):
            reasons.update(dict.fromkeys(answer.reasons))
    return bases, tuple(reasons)


def _missed(questions: Questions, index: int, base: Witness) -> Iterator[Hole]:
    policy = questions.policies[0]
    rule = policy.ir.rules[index]
    assert isinstance(rule, IrRule)
    paths = dict.fromkeys(path for leaf in leaves(rule.match) for path in leaf_paths(leaf) if _is_of_the_call(path))
    data = call_data(base.request)
    least = ORDER.index(base.decision.verdict.value)
    for path in paths:
        for kind, value in variations(value_at(data, path)):
            missed = _decided(policy, with_value(data, path, value))
            if missed is not None and ORDER.index(missed.decision.verdict.value) > least:
                yield Hole(rule_ref(policy, index), kind, path_name(path), base, missed)


def _is_of_the_call(path: Path) -> bool:
    """Return true for an argument: the caller chooses it. Another tool is another call."""
    return path[0] == "args" and len(path) > 1


def _decided(policy: Policy, data: Any) -> Witness | None:  # Any: JSON, or None
    """Decide a call; None for data that is not a request."""
    if data is None:
        return None
    try:
        request = request_from_data(data)
    except RequestError:
        return None
    return Witness(request, (policy.evaluate(request),))
