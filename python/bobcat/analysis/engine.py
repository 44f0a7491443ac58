"""The questions that the core answers, asked about policies, and the check of each witness by the policies themselves.

INVARIANT: no witness leaves this module before `Policy.evaluate` has decided it, and every policy in question gave the
verdict that the core claims. Anything else is an `AnalysisError`: an answer that is wrong is worse than none.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bobcat import _core
from bobcat.analysis.model import Answer, Proof, Reason, RuleRef, Unknown, Witness
from bobcat.analysis.plain_calls import plainer
from bobcat.analysis.tool_names import other_tools
from bobcat.bundle.model import Policy
from bobcat.errors import AnalysisError, BundleError, RequestError
from bobcat.ir.conjuncts import named_tools
from bobcat.ir.pretty import path_text
from bobcat.ir.schema import IrRule
from bobcat.ir.visit import leaves
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import request_from_data

Progress: TypeAlias = Callable[[int, int, str], bool | None]
"""Called with the number of tools done, their total, and the next tool; False stops the analysis."""
Data: TypeAlias = dict[str, Any]  # Any: JSON
Constraint: TypeAlias = Mapping[str, Any]  # Any: JSON
OUT_OF_TIME = Reason("budget_seconds", "the time is over")
"""The reason of a question that was not asked in time."""
_TIME = [{"code": OUT_OF_TIME.code, "message": OUT_OF_TIME.message}]
_NOT_ASKED: Mapping[str, Data] = {
    "find": {"answer": "unknown", "reasons": _TIME},
    "compare": {"regions": [], "unknown": _TIME, "complete": False, "same": False},
}
"""The answers to questions that were not asked in time."""
DEFAULT = "<default>"
"""The id in place of a rule where a default of the policy decides."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The time for all questions of one answer, and the report of progress.

    `end` is a time of `time.monotonic`, None without a limit. What is left after a question is that of the next one.
    """

    end: float | None = None
    progress: Progress | None = None

    @classmethod
    def within(cls, seconds: float | None, progress: Progress | None = None) -> Effort:
        """Return the effort that ends so many seconds from now."""
        return cls(None if seconds is None else time.monotonic() + seconds, progress)

    @property
    def left(self) -> float | None:
        """The seconds that are left, at least 0."""
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Return true when no time is left."""
        return self.left == 0


class Questions:
    """The questions about some policies, numbered in the order given."""

    def __init__(self, policies: Sequence[Policy], effort: Effort = Effort()) -> None:
        self.policies = tuple(policies)
        self.effort = effort
        self._prepared: _core.Analysis | None = None

    def ask(self, kind: str, **fields: Any) -> Data:  # Any: JSON
        """Return the core's answer to one question; without asking it, that the time is over."""
        left = self.effort.left
        if left == 0 and kind in _NOT_ASKED:
            return {**_NOT_ASKED[kind]}
        question = {"ask": kind, **fields}
        if left is not None:
            question["seconds"] = left
        answer = self._core().ask(json.dumps(question).encode(), self._progress())
        found: Data = json.loads(answer)
        return found

    def _core(self) -> _core.Analysis:
        """Return the policies, prepared at the first question."""
        if self._prepared is None:
            try:
                self._prepared = _core.Analysis([policy.ir_bytes for policy in self.policies])
            except _core.CoreError as error:
                raise BundleError(error.code, str(error)) from error
        return self._prepared

    def _progress(self) -> Callable[[int, int, str], bool] | None:
        report = self.effort.progress
        return None if report is None else lambda done, total, tool: report(done, total, tool) is not False

    def find(self, *where: Constraint, tools: Sequence[str | None] = ()) -> Answer:
        """Return a call that satisfies all constraints, or the proof that no such call exists.

        `tools` are those of the call, None for any that no policy names; without them, every tool.
        """
        tools = tools or self._named(where)
        found = self.ask("find", where=list(where), **({"tools": list(tools)} if tools else {}))
        match found["answer"]:
            case "none":
                return Proof()
            case "unknown":
                return Unknown(self.reasons(found["reasons"]))
            case _:
                verdicts = [decision["verdict"] for decision in found["decisions"]]
                is_unnamed = "" not in {*tools, *(each.get("tool") for each in where)}
                witness = self.witness(found["witness"], dict(enumerate(verdicts)), is_unnamed=is_unnamed)
                for constraint in where:
                    self._check(constraint, witness)
                return witness

    def _named(self, where: Iterable[Constraint]) -> list[str]:
        """Return the only tools for which matches can be true or in error; none where they name no tool."""
        found: set[str] | None = None
        for constraint in where:
            if "match" in constraint and set(constraint["is"]) <= {"true", "error"}:
                rule = self.policies[constraint["match"]].ir.rules[0]
                names = set(named_tools(rule)) if isinstance(rule, IrRule) else set()
                if names and all(isinstance(name, str) for name in names):
                    found = names if found is None else found & names
        return sorted(found or ())

    def witness(self, data: Data, verdicts: Mapping[int, str], *, is_unnamed: bool = True) -> Witness:
        """Decide a call by all policies; `verdicts` are those that some must give, by number.

        `is_unnamed`: a tool with the empty name stands for any that no policy names.
        """
        request = _request(data)
        decisions = tuple(policy.evaluate(request) for policy in self.policies)
        for number, verdict in verdicts.items():
            if decisions[number].verdict.value != verdict:
                raise _wrong(f"policy {number} decides `{decisions[number].verdict.value}`, not `{verdict}`", data)
        return Witness(plainer(self.policies, data, request, decisions, is_unnamed=is_unnamed), decisions)

    def _check(self, constraint: Constraint, witness: Witness) -> None:
        """Check a witness against one constraint, by the evaluator."""
        data = {"tool": witness.request.tool}
        if "verdicts" in constraint:
            given = witness.decisions[constraint["policy"]].verdict.value
            if given not in constraint["verdicts"]:
                raise _wrong(f"its verdict is `{given}`", data)
        if "match" in constraint:
            outcome = match_outcome(self.policies[constraint["match"]], witness.request)
            if outcome not in constraint["is"]:
                raise _wrong(f"its match is {outcome}", data)
        if "tool" in constraint and witness.request.tool != constraint["tool"]:
            raise _wrong("it is about another tool", data)

    def reasons(self, given: Iterable[Data]) -> tuple[Reason, ...]:
        """Return reasons of the core, each once, with the ids of their rules."""
        found: dict[Reason, None] = {}
        for item in given:
            number, index = item.get("policy"), item.get("rule")
            rule = None if number is None or index is None else rule_ref(self.policies[number], index).id
            if rule is None and item["code"] == "memory":
                rule = self._reader(str(item.get("path")))
            found[Reason(item["code"], item["message"], rule, item.get("path"))] = None
        named = {(item.code, item.message) for item in found if item.rule is not None}
        return tuple(item for item in found if item.rule is not None or (item.code, item.message) not in named)

    def _reader(self, path: str) -> str | None:
        """Return the id of the first rule that reads a definition of memory, by its path: `run.` and the name."""
        for policy in self.policies:
            for index, rule in enumerate(policy.ir.rules):
                if isinstance(rule, IrRule) and any(
                    path_text(leaf.head, leaf.path) == path for leaf in leaves(rule.match)
                ):
                    return rule_ref(policy, index).id
        return None


def match_outcome(policy: Policy, request: ActionRequest) -> str:
    """Return the outcome of the match of a policy with one rule."""
    clause = policy.explain(request).rules[0].clause
    assert clause is not None  # the only rule is always reached
    return clause.outcome


def rule_ref(policy: Policy, index: int | None) -> RuleRef:
    """Return a rule of a policy by its index; a default for None."""
    if index is None:
        return RuleRef(DEFAULT)
    rule = policy.ir.rules[index]
    places = policy.source_map
    return RuleRef(
        str(rule.id) if isinstance(rule, IrRule) else rule.name,
        index,
        None if places is None else places.rule_span(index),
        str(rule.verdict) if isinstance(rule, IrRule) else None,
        other_tools(rule),
    )


def _request(data: Data) -> ActionRequest:
    try:
        return request_from_data(data)
    except RequestError as error:
        raise _wrong(f"it is not a request: {error}", data) from error


def _wrong(problem: str, data: Data) -> AnalysisError:
    return AnalysisError(f"the witness {json.dumps(data)} is wrong: {problem}")
