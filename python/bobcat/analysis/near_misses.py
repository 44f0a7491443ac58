"""Holes: calls that a restricting rule just misses, and that the policy permits more.

The calls are variations of calls that the rule takes; each is decided by the policy. What is found is a fact; that
nothing was found is no proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from bobcat.analysis.calls import call_data
from bobcat.analysis.code_paths import function_paths, function_tools
from bobcat.analysis.engine import Effort, Progress, Questions, rule_ref
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.matches import RESTRICTS, policy_of_match
from bobcat.analysis.model import ORDER, JsonData, Reason, RuleRef, Unknown, Witness, reasons_json
from bobcat.analysis.paths import Data, Path, leaf_paths, path_name, value_at, with_value
from bobcat.analysis.variations import Kind, variations
from bobcat.bounds.decisions import is_monitored
from bobcat.bundle.model import Policy
from bobcat.errors import RequestError
from bobcat.frontend.suggest import closest
from bobcat.ir import construct
from bobcat.ir.conjuncts import named_tools
from bobcat.ir.schema import AnyRule, FunctionRule, HostRule, IrRule
from bobcat.ir.visit import leaves
from bobcat.lint.implication import PERMITS
from bobcat.model.request_json import request_from_data

MAX_BASES = 8
"""Calls of one rule that are varied: one for each tool that it names and, of a Python rule, each verdict."""
RESTRICTIONS = ORDER[:3]
"""The verdicts of Python rules that restrict."""
_CALLABLE = Reason("host_rule", "calls of a Python rule that stays a callable are not varied")


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
    """The holes of a policy, one for each rule, path and kind; `unknown` are rules without all calls to vary."""

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

    A compiled Python rule is varied where it restricts; one that stays a callable is unknown. Raises `ValueError` for
    a rule that the policy does not have, or that does not restrict.
    """
    subject = policy_of(policy)
    indexes = _restricting(subject, rule)
    questions = Questions([subject], Effort.within(budget, progress))
    found: dict[tuple[int, str, Kind], Hole] = {}
    unknown: list[tuple[RuleRef, tuple[Reason, ...]]] = []
    for index in indexes:
        bases, reasons = _bases(questions, index)
        if reasons:
            unknown.append((rule_ref(subject, index), reasons))
        for base in bases:
            for hole in _missed(questions, index, base):
                found.setdefault((index, hole.path, hole.kind), hole)
    return Holes(tuple(found.values()), tuple(unknown))


def _restricting(policy: Policy, wanted: str | None) -> list[int]:
    """Return the rules that restrict, or may: those in Python."""
    names = [rule_ref(policy, index).id for index in range(len(policy.ir.rules))]
    found = [index for index, rule in enumerate(policy.ir.rules) if not is_monitored(rule) and _may_restrict(rule)]
    if wanted is None:
        return found
    if wanted not in names:
        near = closest(wanted, names)
        raise ValueError(f"the policy has no rule `{wanted}`{f'; did you mean `{near}`?' if near else ''}")
    chosen = [index for index in found if names[index] == wanted]
    if not chosen:
        does = "decides nothing" if is_monitored(policy.ir.rules[names.index(wanted)]) else "permits"
        raise ValueError(f"the rule `{wanted}` {does}; holes are those of a rule that restricts")
    return chosen


def _may_restrict(rule: AnyRule) -> bool:
    return not isinstance(rule, IrRule) or rule.verdict not in PERMITS


def _bases(questions: Questions, index: int) -> tuple[list[Witness], tuple[Reason, ...]]:
    """Return calls that a rule decides, and the reasons where it is unknown whether it decides one."""
    rule = questions.policies[0].ir.rules[index]
    if isinstance(rule, HostRule):
        return [], (_CALLABLE,)
    tools = function_tools(rule) if isinstance(rule, FunctionRule) else named_tools(rule)
    verdicts = RESTRICTIONS if isinstance(rule, FunctionRule) else (rule.verdict,)
    bases: list[Witness] = []
    reasons: dict[Reason, None] = {}
    for tool, verdict in product(tools[:MAX_BASES] or (None,), verdicts):
        where: list[Data] = [{"policy": 0, "rules": [index]}, {"policy": 0, "verdicts": [verdict]}]
        if tool is not None:
            where.append({"tool": tool})
        better = _with_arguments(questions, rule, where) if isinstance(rule, FunctionRule) else None
        answer = better or questions.find(*where)
        if isinstance(answer, Witness):
            bases.append(answer)
        elif isinstance(answer, Unknown):
            reasons.update(dict.fromkeys(answer.reasons))
    return bases, tuple(reasons)


def _with_arguments(questions: Questions, rule: FunctionRule, where: Sequence[Data]) -> Witness | None:
    """Return a call that has the arguments which a function reads: without one, most functions are in error."""
    paths = filter(_is_of_the_call, function_paths(rule))
    match = policy_of_match(
        construct.all_(construct.leaf("args", path[1:], "exists", True) for path in paths), RESTRICTS, {}
    )
    asked = Questions([*questions.policies, match], questions.effort)
    answer = asked.find(*where, {"match": len(questions.policies), "is": ["true"]})
    return Witness(answer.request, answer.decisions[:-1]) if isinstance(answer, Witness) else None


def _missed(questions: Questions, index: int, base: Witness) -> Iterator[Hole]:
    policy = questions.policies[0]
    paths = filter(_is_of_the_call, dict.fromkeys(_paths(policy.ir.rules[index])))
    data = call_data(base.request)
    least = ORDER.index(base.decision.verdict.value)
    for path in paths:
        for kind, value in variations(value_at(data, path)):
            missed = _decided(policy, with_value(data, path, value))
            if missed is not None and ORDER.index(missed.decision.verdict.value) > least:
                yield Hole(rule_ref(policy, index), kind, path_name(path), base, missed)


def _paths(rule: AnyRule) -> Iterator[Path]:
    if isinstance(rule, FunctionRule):
        yield from function_paths(rule)
    elif isinstance(rule, IrRule):
        yield from (path for leaf in leaves(rule.match) for path in leaf_paths(leaf))


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
