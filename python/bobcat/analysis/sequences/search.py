"""The search for a sequence: breadth first over the states that permitted calls lead to, each call decided for real.

INVARIANT: no sequence leaves this module before `Policy.evaluate` has decided each of its calls, in the state that the
calls before it have left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bobcat.analysis.engine import OUT_OF_TIME, Constraint, Effort, Questions
from bobcat.analysis.matches import RESTRICTS, policy_of_match
from bobcat.analysis.model import Reason, Unknown, Witness
from bobcat.analysis.sequences.drawn import result_of, sources_of
from bobcat.analysis.sequences.fixed import fixed_policy, measures_with_call
from bobcat.analysis.sequences.kinds import Atoms, Kind, split_result
from bobcat.analysis.sequences.memory import BASE, Event, Memory, definitions_of, is_open, state_after
from bobcat.analysis.sequences.model import NoSequence, Sequence, SequenceAnswer, SequenceStep
from bobcat.analysis.sequences.state import History, Reader, sum_bounds
from bobcat.analysis.sequences.surroundings import at, shared_part
from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.schema import Expr, IrRule, Measure, Source
from bobcat.ir.visit import leaves
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext
from bobcat.model.defaults import CONTEXT, DECLARED

RUNS = ("allow", "transform", "approve_required")
"""Verdicts after which a call runs: at once, or when a person approves it."""
MAX_STATES = 1_000
"""States that one question looks at."""
MAX_AMOUNTS = 6
"""Amounts that are tried for one call."""
_POLICY, _WHEN, _SAME, _ATOMS = range(4)
"""The numbers of the policies of a question; the atoms follow."""


@dataclass(frozen=True)
class Goal:
    """What the last call of a sequence must be."""

    verdicts: tuple[str, ...]
    when: Policy
    tools: tuple[str | None, ...]


@dataclass
class Subject:
    """The policy in question with what is the same in every state."""

    policy: Policy
    goal: Goal
    memory: Memory
    atoms: Atoms
    kinds: list[Kind]
    exprs: list[Expr]
    effort: Effort
    transforms: bool
    reads_time: bool
    pool: list[str] = field(default_factory=list)

    def is_exact(self) -> bool:
        """Return true if every value of the memory is a function of the kinds of the calls."""
        return not any(isinstance(item, Source) or is_open(item) for item in self.memory.definitions.values())


class Search:
    """One search in runs of one context. With `free`, over more states than there are: only its proofs count."""

    def __init__(
        self, subject: Subject, same: Policy, context: ExecutionContext, *, free: bool, unattended: bool
    ) -> None:
        self._subject = subject
        self._same = same
        self._context = context
        self._free = free
        self._runs = list(RUNS[:2] if unattended else RUNS)
        self._reader = Reader(
            subject.memory, subject.atoms, subject.exprs, free=free, transforms=subject.transforms
        )  # fmt: skip
        self._include_call = measures_with_call(subject.memory.definitions)
        self.reasons: dict[Reason, None] = {}
        """What was not decided; without any, the search is complete."""
        self._cache: dict[object, Questions] = {}
        if not free and not subject.is_exact():
            self._miss("memory", "sums, windows and sources have more values than are tried")

    def run(self, steps: int) -> SequenceAnswer:
        """Return the shortest sequence, or a proof; `Unknown` where the search is not complete."""
        first = History()
        level, seen = [first], {self._key(first)}
        for depth in range(steps + 1):
            for history in level:
                if self._subject.effort.is_over:
                    return Unknown((OUT_OF_TIME,))
                found = self._last(history)
                if found is not None:
                    return found
            if depth == steps or not level:
                break
            level = list(self._next(level, seen))
        if self.reasons:
            return Unknown(tuple(self.reasons))
        return NoSequence(steps if level else None)

    def _next(self, level: Iterable[History], seen: set[str]) -> Iterator[History]:
        """Yield the states after one call more that were not seen before."""
        for history in level:
            if self._subject.effort.is_over:
                self.reasons[OUT_OF_TIME] = None
                return
            for kind in self._subject.kinds:
                for time in self._times(history):
                    for after in self._after(history, kind, time, seen):
                        if len(seen) > MAX_STATES:
                            self._miss("states", f"there are more than {MAX_STATES:,} states")
                            return
                        yield after

    def _times(self, history: History) -> list[datetime]:
        now = history.events[-1].request.context.timestamp if history.events else CONTEXT.timestamp
        return [now] if self._free else [now + gap for gap in self._subject.memory.gaps]

    def _after(self, history: History, kind: Kind, time: datetime, seen: set[str]) -> Iterator[History]:
        """Yield the new states after a call of a kind, with a result and with a failure."""
        sample = self._stepped(history, kind, kind.request, kind.request, time)
        if (self._free or self._subject.is_exact()) and all(self._key(each) in seen for each in sample):
            return
        for request in self._permitted(history, kind, time):
            for after in self._stepped(history, kind, request, request, time) if self._free else self._decided(
                history, kind, request, time
            ):  # fmt: skip
                key = self._key(after)
                if key not in seen:
                    seen.add(key)
                    yield after

    def _permitted(self, history: History, kind: Kind, time: datetime) -> Iterator[ActionRequest]:
        """Yield calls of a kind that may run, each with its result as an argument."""
        atoms = range(len(self._subject.atoms.items))
        questions = self._questions(history, kind, time)
        where = [*self._base(self._runs), *kind.where(atoms, _ATOMS)]
        answer = questions.find(*where, tools=[kind.tool])
        if isinstance(answer, Unknown):
            self._unknown(answer)
            if self._free:
                yield kind.request
        elif isinstance(answer, Witness):
            yield answer.request
            if not self._free:
                yield from self._amounts(history, kind, time, where)
        if self._free and self._subject.transforms and not isinstance(answer, Witness):
            changed = questions.find(*self._base(["transform"]), tools=[kind.tool])
            if isinstance(changed, Unknown | Witness):
                yield kind.request

    def _amounts(
        self, history: History, kind: Kind, time: datetime, where: list[Constraint]
    ) -> Iterator[ActionRequest]:
        """Yield calls that bring sums near to the numbers that rules compare them with."""
        definitions = self._subject.memory.definitions
        known = self._reader.values(history, self._at(kind.request, time), kind)
        for name, bounds in sum_bounds(self._subject.exprs, definitions).items():
            definition = definitions[name]
            assert isinstance(definition, Measure)
            assert isinstance(definition.field, tuple)
            if self._subject.atoms.taken(name, definition, kind) != "true" or isinstance(known[name].value, dict):
                continue
            near = {bound - known[name].value + more for bound in bounds for more in (0, 1, -1)}
            near |= set(_constants(self._subject.exprs, definition.field))
            for amount in sorted(near, reverse=True)[:MAX_AMOUNTS]:
                leaf = construct.leaf("args", definition.field, "eq", amount)
                questions = self._questions(history, kind, time, (leaf,))
                answer = questions.find(*where, tools=[kind.tool])
                if isinstance(answer, Witness):
                    yield answer.request

    def _decided(self, history: History, kind: Kind, request: ActionRequest, time: datetime) -> Iterator[History]:
        """Yield the states after a call, decided by the policy in the state of the run."""
        call, _ = split_result(self._own(request, time))
        if history.events and call.context.timestamp < history.events[-1].request.context.timestamp:
            self._miss("memory", "the times of calls that rules want go back")
            return
        decision = self._decide(history, call)
        if decision.verdict.value not in self._runs:
            self._miss("memory", "a call that was found for a state is decided otherwise there")
            return
        yield from self._stepped(history, kind, call, self._own(request, time), time, decision)

    def _stepped(
        self,
        history: History,
        kind: Kind,
        call: ActionRequest,
        with_result: ActionRequest,
        time: datetime,
        decision: Decision | None = None,
    ) -> list[History]:
        """Return the states after a call: with its result, and where it failed."""
        _, wanted = split_result(with_result)
        call, _ = split_result(call if decision is not None else self._at(call, time))
        args = call.args
        if decision is not None and decision.transform_args is not None:
            args = decision.transform_args
            self._miss("transform", "a call runs with other arguments")
        ran = ActionRequest(call.tool, args, call.declared, call.context)
        sources = sources_of(self._subject.memory.definitions)
        fed = [sources[name] for name in self._reader.fed_sources(kind)]
        result = result_of(fed, self._subject.pool, wanted) if fed and not self._free else wanted
        found = []
        for ended in (True, False):
            event = Event(ran, (result,) if ended else None)
            step = SequenceStep(call, decision, args, ended, result) if decision is not None else _UNDECIDED
            found.append(history.then(step, kind, event))
        return found

    def _last(self, history: History) -> Sequence | None:
        """Return the sequence if some call does what was asked for after these calls."""
        goal = self._subject.goal
        for time in self._times(history):
            for kind in self._last_kinds():
                tools = list(goal.tools) if kind is None else [kind.tool]
                questions = self._questions(history, kind, time)
                where = [*self._base(list(goal.verdicts)), {"match": _WHEN, "is": ["true"]}]
                if kind is not None:
                    numbers = {number for name in self._include_call for number in self._subject.atoms.of[name]}
                    where += kind.where(sorted(numbers), _ATOMS)
                answer = questions.find(*where, tools=tools)
                if isinstance(answer, Unknown):
                    self._unknown(answer)
                elif isinstance(answer, Witness):
                    if self._free:
                        self._miss("memory", "a sequence was found for some values of the state, and not for others")
                        continue
                    found = self._confirmed(history, self._own(answer.request, time))
                    if found is not None:
                        return found
                    self._miss("memory", "a call that was found for a state is decided otherwise there")
        return None

    def _last_kinds(self) -> Iterable[Kind | None]:
        """Return one kind for each outcome of the measures that include the call; None where there are no such."""
        if not self._include_call:
            return [None]
        numbers = [number for name in self._include_call for number in self._subject.atoms.of[name]]
        found: dict[object, Kind] = {}
        for kind in self._subject.kinds:
            if kind.tool in self._subject.goal.tools:
                found.setdefault((kind.tool, *(kind.outcomes[number] for number in numbers)), kind)
        return list(found.values())

    def _confirmed(self, history: History, request: ActionRequest) -> Sequence | None:
        call, _ = split_result(request)
        if history.events and call.context.timestamp < history.events[-1].request.context.timestamp:
            return None
        decision = self._decide(history, call)
        if decision.verdict.value not in self._subject.goal.verdicts or not self._matches(history, call):
            return None
        return Sequence((*history.steps, SequenceStep(call, decision, call.args)))

    def _decide(self, history: History, call: ActionRequest) -> Decision:
        policy = self._subject.policy
        if not policy.remembers:
            return policy.evaluate(call)
        return policy.evaluate(call, state=self._state(policy, history, call))

    def _matches(self, history: History, call: ActionRequest) -> bool:
        when = self._subject.goal.when
        state = {"state": self._state(when, history, call)} if when.remembers else {}
        clause = when.explain(call, **state).rules[0].clause
        return clause is not None and clause.outcome == "true"

    def _state(self, policy: Policy, history: History, call: ActionRequest) -> Any:  # Any: a state of the core
        state = state_after(policy, history.events, self._context.task)
        values = self._subject.memory.values(history.events, call)
        shared: dict[str, Any] = {
            name: values.get(name + BASE, values.get(name, {"error": "no_state"}))
            for name, definition in definitions_of([policy]).items()
            if isinstance(definition, Measure) and isinstance(definition.by, str)
        }
        state.share({name: value["error"] if isinstance(value, dict) else value for name, value in shared.items()})
        return state

    def _base(self, verdicts: list[str]) -> list[Constraint]:
        return [{"policy": _POLICY, "verdicts": verdicts}, {"match": _SAME, "is": ["true"]}]

    def _questions(self, history: History, kind: Kind | None, time: datetime, more: tuple[Expr, ...] = ()) -> Questions:
        """Return the questions about the calls in a state."""
        subject = self._subject
        sample = self._at(subject.kinds[0].request if kind is None else kind.request, time)
        values = self._reader.values(history, sample, kind)
        shown = {name: (repr(value.value), value.field) for name, value in values.items()}
        drawn = self._reader.drawn(subject.policy, history, self._context.task, subject.pool)
        key = (repr(sorted(shown.items())), repr(sorted(drawn.items())), repr(more))
        if key not in self._cache:
            if len(self._cache) > 64:
                self._cache.clear()
            rule = self._same.ir.rules[0]
            assert isinstance(rule, IrRule)
            same = policy_of_match(construct.all_([rule.match, *more]), RESTRICTS, {}) if more else self._same
            policies = [fixed_policy(item, values, drawn) for item in (subject.policy, subject.goal.when)]
            self._cache[key] = Questions(
                [*policies, same, *(atom.policy for atom in subject.atoms.items)], subject.effort
            )
        return self._cache[key]

    def _own(self, request: ActionRequest, time: datetime) -> ActionRequest:
        """Return a call in the context of the run; its time is that of the step, unless rules read it."""
        context = shared_part(self._context, request.context)
        if not self._subject.reads_time:
            context = at(context, time)
        return ActionRequest(request.tool, request.args, request.declared, context)

    def _at(self, request: ActionRequest, time: datetime) -> ActionRequest:
        return ActionRequest(request.tool, request.args, request.declared, at(request.context, time))

    def _key(self, history: History) -> str:
        probe = ActionRequest("", {}, DECLARED, CONTEXT)
        keys = [self._reader.key(history, self._at(probe, time)) for time in self._times(history)]
        return "\n".join(keys)

    def _unknown(self, answer: Unknown) -> None:
        self.reasons |= dict.fromkeys(answer.reasons)

    def _miss(self, code: str, message: str) -> None:
        self.reasons[Reason(code, message)] = None


def _constants(exprs: Iterable[Expr], field: tuple[str, ...]) -> Iterator[int | float]:
    """Yield the numbers with which rules compare an argument."""
    for expr in exprs:
        for leaf in leaves(expr):
            if leaf.head == "args" and leaf.path == field:
                numbers = leaf.operand if isinstance(leaf.operand, list) else [leaf.operand]
                yield from (item for item in numbers if type(item) in (int, float))


_UNDECIDED: Any = None  # Any: a step of a search whose sequences are not shown
