"""A step of a recorded run: its request, and what the rules remembered when it was decided.

A step that was retried has several decisions. The last one on record is rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from bobcat._core import RunState as CoreState
from bobcat.bundle import Policy
from bobcat.bundle.explanation import Explanation
from bobcat.errors import AuditError
from bobcat.journal.index import index_journal
from bobcat.journal.records import StepRecord
from bobcat.model.decision import ActionRequest, ExecutionContext, Verdict
from bobcat.model.defaults import DECLARED
from bobcat.model.request_json import declared_from_json, principal_from_json
from bobcat.model.run import FinalAnswer
from bobcat.runtime.memory import RETRY, SESSION, RunMemory, reads_task, replay_attempts
from bobcat.runtime.reply import Proposal, reply_from_body
from bobcat.runtime.scopes import measures_by
from bobcat.runtime.session_memory import session_state
from bobcat.runtime.uncertainty import (
    depends_on_uncertainty,
    require_approval,
    with_uncertainty,
    without_uncertainty,
)
from bobcat.tools.signature import bind_arguments
from bobcat.tools.toolset import ToolSet

BEGINNINGS = ("run.started", "run.resumed")
DECISIONS = ("action.intent", "approval.requested")

Json = Any  # Any: JSON


class RecordedStep(NamedTuple):
    """The request of a step, and the state of the run before it; None for a policy without rules that remember.

    `retry` is the effect of an earlier attempt that may have happened, None without one. `verdict` is the one on
    record, under the policy `bundle_id`. `undecided` is the reason why the policy gave no decision, or empty.
    """

    request: ActionRequest
    state: CoreState | None
    retry: str | None
    verdict: str | None
    bundle_id: str | None
    undecided: str


def recorded_step(
    records: Sequence[StepRecord], policy: Policy, step: int, tools: ToolSet | None = None,
    earlier: Sequence[Sequence[StepRecord]] = (), session: Sequence[StepRecord] = (),
) -> RecordedStep:  # fmt: skip
    """Rebuild the request of a step and the state of the run from the records of its journal.

    With `tools`, the arguments of a call that did not run get the defaults of its tool. `earlier` are the journals of
    the earlier turns, for a turn of a thread; `session` is the one that `session_of` names. Raises `AuditError`:
    `incomplete` for a journal that lacks the surroundings of the run, or a session that lacks records, `no_step` for a
    step that it does not have, `undecided` for a call on which no decision of the policy is on record.
    """
    for found, recorded in recorded_steps(records, policy, tools, earlier, session):
        if found == step:
            if recorded.undecided:
                text = f"the policy did not decide the call at step {step}: {recorded.undecided}"
                raise AuditError("undecided", text)
            return recorded
    raise AuditError("no_step", f"the run has no call at step {step}")


def recorded_steps(
    records: Sequence[StepRecord], policy: Policy, tools: ToolSet | None = None,
    earlier: Sequence[Sequence[StepRecord]] = (), session: Sequence[StepRecord] = (),
) -> Iterator[tuple[int, RecordedStep]]:  # fmt: skip
    """Yield the number and the rebuilt request of every step, as `recorded_step` returns one.

    All steps have one state: it is that of a step until the next one is asked for.
    """
    records = sorted(records, key=lambda record: record.seq)
    run = _RecordedRun.of(records, policy)
    if run is None:
        raise AuditError(
            "incomplete",
            "the journal does not have the principal, the environment and the declarations of the run; only runs under "
            "policies with rules that remember record them",
        )
    memory = RunMemory.of(policy, None)
    if memory is not None:
        for turn in earlier:
            remember_turn(memory, turn)
        memory.next_turn(run.task)
    decisions, known = _Decisions(records), {name for each in measures_by(policy).values() for name in each}
    for step, call in run.replay(memory):
        found = decisions.last.get(step)
        retry = None if found is None else found.record.body.get(RETRY)
        before = b""
        if memory is not None and found is not None and retry == "unsafe":
            before = memory.state.dump()
            run.replay_before(memory, step, call.tool, records[: found.begun])
        task, state = run.task, None if memory is None else memory.state
        if memory is not None and found is not None and SESSION in found.record.body:
            task = run.user_task
            state = session_state(policy, _session_before(session, found.record), task)
        tool = None if tools is None else tools.tools.get(call.tool)
        args = call.args if tool is None else bind_arguments(tool, dict(call.args))
        context = run.context_of(step, found, task)
        request = ActionRequest(call.tool, args, run.declared.get(call.tool, DECLARED), context)
        if state is not None:
            values = {} if found is None else found.shared
            state.share({name: values[name] for name in known & values.keys()})
        verdict = None if found is None else found.record.body.get("verdict", Verdict.APPROVE_REQUIRED.value)
        yield (
            step,
            RecordedStep(
                request,
                state,
                retry,
                verdict,
                None if found is None else found.bundle_id,
                decisions.undecided(step),
            ),
        )
        if memory is not None and before:
            memory.restore(before)


def explain_step(policy: Policy, step: RecordedStep) -> Explanation:
    """Explain the decision on a recorded step.

    Raises `AuditError` (`other_decision`) if the policy is that of the run, and the decision not the one on record.
    """
    request, state = step.request, step.state
    explanation = policy.explain(request, state=state)
    decision = explanation.decision
    if step.retry == "unsafe" and decision.verdict in (Verdict.ALLOW, Verdict.TRANSFORM):
        without = policy.explain(without_uncertainty(request), state=state).decision
        if not depends_on_uncertainty(decision, without):
            decision = require_approval(decision)
            explanation = replace(explanation, decision=decision)
    if step.bundle_id == policy.id and decision.verdict.value != step.verdict:
        raise AuditError(
            "other_decision",
            f"the journal does not have what the decision depended on: it was {step.verdict}, and would be "
            f"{decision.verdict.value} after what the journal has",
        )
    return explanation


def remember_turn(memory: RunMemory, records: Sequence[StepRecord]) -> None:
    """Give an earlier turn of a thread to the memory: its results are sources for later turns.

    The journal of a turn whose policy had no rules that remember lacks what is needed; nothing of it is a source.
    """
    run = _RecordedRun.of(records, memory.policy)
    if run is not None:
        memory.next_turn(run.task)
        for _ in run.replay(memory):
            pass


def session_of(records: Sequence[StepRecord], step: int) -> str | None:
    """The journal of the session that the last decision on a step came after, if any."""
    found = _Decisions(sorted(records, key=lambda record: record.seq)).last.get(step)
    return None if found is None else found.record.body.get(SESSION, (None,))[0]


def _session_before(records: Sequence[StepRecord], decided: StepRecord) -> Sequence[StepRecord]:
    journal, count = decided.body[SESSION]
    before = [each for each in records if each.run_id == journal and each.seq < count]
    if len(before) != count:
        text = f"the decision came after {count} records of `{journal}`, and {len(before)} of them are there"
        raise AuditError("incomplete", text)
    return sorted(before, key=lambda record: record.seq)


class _Decision(NamedTuple):
    """A recorded decision on a step, with what it read beside the memory of the run.

    `begun` is the number of records before the attempt at the run that decided.
    """

    record: StepRecord
    begun: int
    bundle_id: str | None
    extra: Mapping[str, Json]
    shared: Mapping[str, Json]


class _Decisions:
    """The last decision on each step."""

    def __init__(self, records: Sequence[StepRecord]) -> None:
        self.last: dict[int, _Decision] = {}
        self._failed: set[int] = set()
        """The steps whose facts the last attempt at the run could not obtain."""
        self._refused = {int(each.body["step"]) for each in records if each.kind == "action.result"}
        extras: dict[int, Mapping[str, Json]] = {}
        shared: dict[int, Mapping[str, Json]] = {}
        begun, bundle_id, facts = 0, None, {}
        for number, record in enumerate(records):
            body = record.body
            if record.kind in BEGINNINGS:
                begun, bundle_id, facts = number, body.get("bundle_id"), body.get("extra", {})
                shared.clear()
                continue
            step = int(body.get("step", -1))
            if record.kind == "step.extra":
                if "extra" in body:
                    extras[step] = body["extra"]
                    self._failed.discard(step)
                else:
                    self._failed.add(step)
            elif record.kind == "step.shared":
                shared.setdefault(step, body["values"])  # later ones are of arguments that an approver edited
            elif record.kind in DECISIONS:
                self.last[step] = _Decision(record, begun, bundle_id, extras.get(step, facts), shared.get(step, {}))

    def undecided(self, step: int) -> str:
        """The reason why the policy decided no call at a step; empty if it did."""
        if step in self._failed:
            return "it was denied before the policy was asked, because its facts could not be obtained"
        if step in self.last:
            return ""
        if step in self._refused:
            return "it was refused before the policy was asked"
        return "the journal has no decision on it"


class _RecordedRun:
    """A run, as its journal has it."""

    def __init__(self, started: StepRecord, given: Mapping[str, Json], records: Sequence[StepRecord], policy: Policy):
        self.user_task = started.body.get("user_task")
        self.task = started.body.get("user_task", started.body.get("task")) if reads_task(policy) else None
        self.declared = {name: declared_from_json(each) for name, each in given["declared"].items()}
        self._journal = index_journal(records)
        self._outputs = {int(each.body["step"]): each.timestamp for each in records if each.kind == "model.output"}
        self._facts = [each for each in records if each.kind in BEGINNINGS][-1].body.get("extra", {})
        principal = principal_from_json(given["principal"])
        self._where = principal, str(given["environment"]), str(given["workspace"]), started.run_id

    @classmethod
    def of(cls, records: Sequence[StepRecord], policy: Policy) -> _RecordedRun | None:
        """The run; None for a journal that lacks the surroundings of the run."""
        started = next((record for record in records if record.kind == "run.started"), None)
        given = None if started is None else started.body.get("surroundings")
        return cls(started, given, records, policy) if started is not None and isinstance(given, Mapping) else None

    def replay(self, memory: RunMemory | None) -> Iterator[tuple[int, Proposal]]:
        """Yield every call with its step, and give it and its result to the memory after that."""
        for first in sorted(self._journal.replies):
            reply = reply_from_body(self._journal.replies[first])
            if isinstance(reply, FinalAnswer):
                return
            if memory is not None:
                memory.next_reply()
            for step, call in enumerate(reply, first):
                yield step, call
                if memory is not None:
                    result, context = self._journal.results.get(step), partial(self._context_at, step)
                    declared = self.declared.get(call.tool, DECLARED)
                    replay_attempts(memory, self._journal, step, declared, context, result)

    def replay_before(self, memory: RunMemory, step: int, tool: str, records: Sequence[StepRecord]) -> None:
        """Give the attempts at a step to the memory that earlier attempts at the run have on record."""
        declared = self.declared.get(tool, DECLARED)
        replay_attempts(memory, index_journal(records), step, declared, partial(self._context_at, step))

    def context_of(self, step: int, found: _Decision | None, task: str | None) -> ExecutionContext:
        """The context of a decision on a call; that of its proposal without one."""
        at = self._outputs[max(first for first in self._outputs if first <= step)]
        if found is None:
            return self._context_at(step, at)
        text = found.record.body.get("at")
        if text is not None:
            at = datetime.fromisoformat(text)
        elif found.record.kind == "action.intent":  # an older journal, here and above
            at = found.record.timestamp
        context = ExecutionContext(*self._where, step, at, found.extra, task=task)
        return with_uncertainty(context) if RETRY in found.record.body else context

    def _context_at(self, step: int, at: datetime, retry: bool = False) -> ExecutionContext:
        extra = self._journal.extras.get(step, self._facts)
        context = ExecutionContext(*self._where, step, at, extra, task=self.task)
        return with_uncertainty(context) if retry else context
