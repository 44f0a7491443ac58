"""Decisions of cases, as a run makes them: one call, or a sequence with the state of its run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from bobcat._core import RunState
from bobcat.bundle import Policy
from bobcat.model.decision import ActionRequest, Decision, Verdict
from bobcat.runtime.evaluate import complete_transform, evaluate_or_deny
from bobcat.testing.suites.compare import Difference, deciding_rule, differences, effective_args
from bobcat.testing.suites.model import Case, Json, Step
from bobcat.testing.suites.subjects import Subject, Tools
from bobcat.tools.signature import bind_arguments

if TYPE_CHECKING:
    from bobcat.bundle.explanation import Explanation
    from bobcat.testing.suites.shared_counts import SharedCounts

Observer: TypeAlias = Callable[[Policy, ActionRequest, RunState | None], None]
"""Receives every request that is decided, with the state before it."""
RUNS = (Verdict.ALLOW, Verdict.TRANSFORM)


@dataclass(frozen=True, slots=True)
class StepResult:
    """The decision on one step. `differences` is empty if it is as expected; then there is no `explanation`."""

    step: Step
    request: ActionRequest
    decision: Decision
    differences: tuple[Difference, ...] = ()
    explanation: Explanation | None = None

    @property
    def args(self) -> Mapping[str, Json]:
        """The effective arguments."""
        return effective_args(self.request, self.decision)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The outcome of a case. `steps` are those that were decided: a sequence ends at the first failure."""

    case: Case
    file: str
    steps: tuple[StepResult, ...]
    seconds: float
    problem: str | None = None
    """The reason of a failure that is not a difference."""

    @property
    def passed(self) -> bool:
        """Return true if every decision is as expected."""
        return self.problem is None and not any(step.differences for step in self.steps)


def run_case(
    case: Case, file: str, subject: Subject, observe: Observer | None = None, *, explains: bool = True
) -> CaseResult:
    """Decide the steps of a case in order; with `explains`, explain a decision that is not as expected."""
    started = time.perf_counter()
    run = _Run(case, subject, observe, explains)
    steps: list[StepResult] = []
    problem = None if case.has_expectation else "the case has no `expect`; `bobcat test --update` writes one"
    for number, step in enumerate(case.steps):
        result, failed = run.decide(number, step)
        steps.append(result)
        problem = problem or failed
        if result.differences or failed:
            break
    return CaseResult(case, file, tuple(steps), time.perf_counter() - started, problem)


class _Run:
    def __init__(self, case: Case, subject: Subject, observe: Observer | None, explains: bool) -> None:
        self._explains = explains
        self._policy = subject.policy
        self._tools = subject.tools
        self._observe = observe
        self._state, self._shared = _memory(subject.policy, case.task)
        self._checked = case.has_expectation
        self._time = case.steps[0].request.context.timestamp

    def decide(self, number: int, step: Step) -> tuple[StepResult, str | None]:
        """Decide a step; return its result, and the problem of a call that should run and is not permitted."""
        request = self._request(number, step)
        if self._state is not None and not step.same_reply:
            self._state.next_reply()
        bound = self._tools.bind(request)
        if self._state is not None and self._shared is not None and not isinstance(bound, Decision):
            self._shared.share(self._state, bound)
        decision = bound if isinstance(bound, Decision) else self._decision(bound)
        request = request if isinstance(bound, Decision) else bound
        found = () if step.expect is None else tuple(differences(step.expect, request, decision, self._policy))
        runs = decision.verdict in RUNS or (decision.verdict is Verdict.APPROVE_REQUIRED and step.approved)
        problem = None if runs or not self._checked else _should_run(number, step, decision)
        explained = self._explains and bool(found or problem) and not isinstance(bound, Decision)
        explanation = self._policy.explain(request, state=self._state) if explained else None
        if runs and self._state is not None:
            self._take(number, step, request, decision)
        return StepResult(step, request, decision, found, explanation), problem

    def _request(self, number: int, step: Step) -> ActionRequest:
        """Return the request with the time of the run, and the number of the step."""
        given = step.request
        self._time = given.context.timestamp if step.timed or number == 0 else self._time + step.after
        context = replace(
            given.context,
            timestamp=self._time,
            step_seq=given.context.step_seq if step.numbered or number == 0 else number,
        )
        return ActionRequest(given.tool, given.args, given.declared, context)

    def _decision(self, request: ActionRequest) -> Decision:
        if self._observe is not None:
            self._observe(self._policy, request, self._state)
        return _decided(self._policy, self._tools, request, self._state)

    def _take(self, number: int, step: Step, request: ActionRequest, decision: Decision) -> None:
        """Record the intent of a call that runs, and its outcome."""
        assert self._state is not None
        assert self._shared is not None
        key = str(number)
        intent = ActionRequest(request.tool, effective_args(request, decision), request.declared, request.context)
        self._state.call(intent, key)
        self._shared.take(key, intent)
        match step.outcome:
            case "result":
                self._state.result(key, step.value, request.context.timestamp)
            case "failed":
                self._state.failed(key, request.context.timestamp)


def decision_on(
    policy: Policy, tools: Tools, request: ActionRequest, state: RunState | None
) -> tuple[ActionRequest, Decision, Explanation]:
    """Decide one call; without a state, as the first one of a run. Returns the request with what its tool declares."""
    from bobcat.bundle.explanation import Explanation

    bound = tools.bind(request)
    if isinstance(bound, Decision):
        return request, bound, Explanation(bound, (), policy.id)
    if state is None:
        state, shared = _memory(policy, bound.context.task)
        if state is not None and shared is not None:
            shared.share(state, bound)
    return bound, _decided(policy, tools, bound, state), policy.explain(bound, state=state)


def _memory(policy: Policy, task: str | None) -> tuple[RunState | None, SharedCounts | None]:
    """Return the state at the beginning of a run, and the counts that runs share, for a policy that remembers."""
    if not policy.remembers:
        return None, None
    # PERF: other policies do not load the runtime of runs (0.15 s of 0.5).
    from bobcat.testing.suites.shared_counts import SharedCounts

    return RunState(policy, task=task), SharedCounts(policy)


def _decided(policy: Policy, tools: Tools, request: ActionRequest, state: RunState | None) -> Decision:
    decision = evaluate_or_deny(policy, request, state)
    tool = None if tools.tools is None else tools.tools.tools.get(request.tool)
    if tool is None or decision.transform_args is None:
        return decision
    return complete_transform(policy, request, decision, lambda args: bind_arguments(tool, dict(args)), state=state)


def _should_run(number: int, step: Step, decision: Decision) -> str | None:
    """Return the problem of a step that does not run, if the case needs it to."""
    by = f"{decision.verdict} by {deciding_rule(decision)}"
    hint = "; `approved: true` approves it" if decision.verdict is Verdict.APPROVE_REQUIRED else ""
    if step.outcome is not None or step.approved:
        given = step.outcome if step.outcome is not None else "approved"
        return f"step {number + 1} has `{given}`, but did not run: {by}{hint if given != 'approved' else ''}"
    if step.expect is None and step.in_sequence:
        return f"step {number + 1} has no `expect`, so it must run: {by}{hint}"
    return None
