"""The smallest change of a call that changes its verdict: the fewest paths of the request with other values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from bobcat.analysis.calls import call_data, plain
from bobcat.analysis.code_paths import functions_read
from bobcat.analysis.engine import Constraint, Effort, Progress, Questions
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.matches import RESTRICTS, policy_of_match
from bobcat.analysis.model import ORDER, PERMITTED, JsonData, Proof, Reason, Unknown, Witness
from bobcat.analysis.paths import ABSENT, Data, Path, path_name, paths_read, rules_about, value_at, with_value
from bobcat.bundle.model import Policy
from bobcat.errors import RequestError
from bobcat.ir import construct
from bobcat.ir.canonical import EncodingError
from bobcat.ir.constants import to_const
from bobcat.ir.schema import Expr
from bobcat.model.decision import ActionRequest
from bobcat.model.request_json import context_data, declared_data, request_from_data

MAX_CHANGED = 3
"""Paths that are changed at once."""
MAX_QUESTIONS = 300
"""Sets of paths that are tried."""
_NOT_ALONE = Reason("path", "a call with these values was found, but not with all others of the call in question")
_TIMESTAMP = ("context", "timestamp")


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """One path of a call with its value before and after; `ABSENT` for a path that is not there."""

    path: str
    old: Any  # Any: JSON, or ABSENT
    new: Any  # Any: as above

    def to_json(self) -> JsonData:
        """Return the change as JSON data; a missing value has no key."""
        values = {name: value for name, value in (("old", self.old), ("new", self.new)) if value is not ABSENT}
        return {"path": self.path, **values}


@dataclass(frozen=True, slots=True)
class Flip:
    """A call with another verdict, and the paths in which it differs from the call in question.

    `smallest`: it is proved that no change of fewer paths does.
    """

    changes: tuple[ChangedPath, ...]
    witness: Witness
    smallest: bool

    def to_json(self) -> JsonData:
        """Return the change as JSON data."""
        found = {"changes": [item.to_json() for item in self.changes], "call": call_data(self.witness.request)}
        return {**found, "verdict": self.witness.decision.verdict.value, "smallest": self.smallest}


def flip(
    policy: PolicyInput,
    request: ActionRequest,
    *,
    verdict: str | Iterable[str] = (),
    budget: float | None = None,
    progress: Progress | None = None,
) -> Flip | Proof | Unknown:
    """Return the smallest change of a call of the same tool that changes its verdict, or gives it one of `verdict`.

    A `Proof`: no call of this tool gets another verdict.
    """
    subject = policy_of(policy)
    given = subject.evaluate(request).verdict.value
    wanted = ([verdict] if isinstance(verdict, str) else list(verdict)) or [name for name in ORDER if name != given]
    return _Search(subject, request, wanted, Effort.within(budget, progress)).run()


class _Search:
    def __init__(self, policy: Policy, request: ActionRequest, wanted: Sequence[str], effort: Effort) -> None:
        self._policy = policy
        self._wanted = list(wanted)
        is_permitted = policy.evaluate(request).verdict.value in PERMITTED
        permits = [] if is_permitted else [name for name in wanted if name in PERMITTED]
        # Of changes of the same size, one that permits comes first: who is denied looks for it.
        self._stages = [permits, self._wanted] if 0 < len(permits) < len(self._wanted) else [self._wanted]
        self._effort = effort
        self._data: Data = {
            "tool": request.tool,
            "args": dict(request.args),
            "declared": declared_data(request.declared),
            "context": context_data(request.context),
        }
        markers = [("declared", "reversible"), ("declared", "has_shadow")]
        about = paths_read(rules_about(policy.ir, request.tool))
        read = [*about, *functions_read(policy.ir, request.tool), *markers]
        self._read = [path for path in dict.fromkeys(read) if path != ("tool",)]
        self._paths = [path for path in self._read if not _has_longer(path, read)]

    def run(self) -> Flip | Proof | Unknown:
        tool = self._data["tool"]
        every = Questions([self._policy], self._effort).find(
            {"policy": 0, "verdicts": self._wanted}, {"tool": tool}
        )  # fmt: skip
        if isinstance(every, Proof):
            return every
        reasons: dict[Reason, None] = dict.fromkeys(every.reasons) if isinstance(every, Unknown) else {}
        tried, sure = 0, True
        for size in range(1, min(MAX_CHANGED, len(self._paths)) + 1):
            sets = [(wanted, paths) for wanted in self._stages for paths in combinations(self._by_likelihood(), size)]
            smaller_are_sure = sure
            for wanted, paths in sets:
                tried += 1
                if tried > MAX_QUESTIONS:
                    return self._last(every, reasons)
                found = self._with_other_values(paths, wanted)
                if isinstance(found, Flip):
                    return Flip(found.changes, found.witness, smaller_are_sure)
                if isinstance(found, Unknown):
                    reasons.update(dict.fromkeys(found.reasons))
                    sure = False
        return self._last(every, reasons)

    def _last(self, every: Witness | Unknown, reasons: dict[Reason, None]) -> Flip | Unknown:
        """Return the call with a verdict that has least to do with this one."""
        if isinstance(every, Unknown):
            return Unknown(tuple(reasons))
        data = call_data(every.request)
        # The paths that lead into a mapping do not show a value that takes its place.
        changes = tuple(self._changes(self._paths, data)) or tuple(self._changes(self._read, data))
        return Flip(changes, every, smallest=False)

    def _by_likelihood(self) -> list[Path]:
        """Return the paths, arguments before the context and the declaration: the caller chooses them."""
        return sorted(self._paths, key=lambda path: ("args", "context", "declared").index(path[0]))

    def _with_other_values(self, changed: Sequence[Path], wanted: Sequence[str]) -> Flip | Proof | Unknown:
        """Return a call that differs at some paths only."""
        fixed = [item for path in self._paths if path not in changed for item in self._same(path)]
        policies = [self._policy, policy_of_match(construct.all_(fixed), RESTRICTS, {})]
        where: list[Constraint] = [{"policy": 0, "verdicts": wanted}, {"match": 1, "is": ["true"]}]
        answer = Questions(policies, self._effort).find(*where, {"tool": self._data["tool"]})
        if not isinstance(answer, Witness):
            return answer
        return self._spliced(changed, call_data(answer.request)) or Unknown((_NOT_ALONE,))

    def _spliced(self, changed: Sequence[Path], other: Data) -> Flip | None:
        """Set the values of another call in the call in question; None unless the policy then decides as wanted."""
        whole: Data = {**self._data}
        for path in changed:
            value = _value(other, path)
            if value is ABSENT and value_at(whole, path) is ABSENT:
                continue  # what contains it stays as it is
            set_there = with_value(whole, path, value)
            if set_there is None:
                return None
            whole = set_there
        try:
            request = request_from_data(whole)
        except RequestError:
            return None
        decision = self._policy.evaluate(request)
        if decision.verdict.value not in self._wanted:
            return None
        return Flip(tuple(self._changes(changed, whole)), Witness(request, (decision,)), smallest=True)

    def _changes(self, paths: Iterable[Path], other: Data) -> Iterator[ChangedPath]:
        for path in paths:
            old, new = value_at(self._data, path), _value(other, path)
            if old is not new and (old != new or type(old) is not type(new)):
                yield ChangedPath(path_name(path), old, new)

    def _same(self, path: Path) -> Iterator[Expr]:
        """Yield the clause that a path has the value of the call in question."""
        head, *steps = path
        value = value_at(self._data, path)
        if value is ABSENT:
            yield construct.leaf(head, tuple(steps), "exists", False)  # type: ignore[arg-type]  # a head of a policy
            return
        if path == _TIMESTAMP:
            return  # no rule sees another time where the caller changes arguments
        try:
            yield construct.leaf(head, tuple(steps), "eq", to_const(plain(value)))  # type: ignore[arg-type]  # as above
        except EncodingError:
            return


def _value(data: Data, path: Path) -> Any:  # Any: JSON, or ABSENT
    """Return the value at a path, also where the request leaves it to its default."""
    found = value_at(data, path)
    if found is not ABSENT or path[0] == "args":
        return found
    defaults = request_from_data({"tool": "x"})
    return value_at({"declared": declared_data(defaults.declared), "context": context_data(defaults.context)}, path)


def _has_longer(path: Path, paths: Iterable[Path]) -> bool:
    """Return true if another path leads further into this one."""
    return any(len(other) > len(path) and other[: len(path)] == path for other in paths)
