"""One submission: a run of one call, driven by the machine of `run_agent`, and the status of its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from bobcat.guard.outcome import Outcome, Status, outcome_from_json
from bobcat.guard.recorder import Recorder
from bobcat.model.decision import Verdict
from bobcat.model.frozen import FrozenDict
from bobcat.model.masking import masked_body
from bobcat.model.run import ActionResult, FinalAnswer, Message, RunResult, ToolCall, UncertainResult
from bobcat.runtime.audit import UNKNOWN_TOOL
from bobcat.runtime.commands import AskApproval, Event, Execute, Interrupted, Perform, Performed
from bobcat.runtime.compat import DEFAULTS
from bobcat.runtime.driver import RunDriver
from bobcat.runtime.loop import run_with
from bobcat.runtime.machine import Machine
from bobcat.runtime.obligations import CODES as OBLIGATION_CODES
from bobcat.runtime.options import Options
from bobcat.runtime.state import RunState, StepOutcome
from bobcat.text.json_text import json_text

LOG_FAILED = "log_failed"
_NOT_EXECUTED = frozenset(("cancelled", "budget_exhausted", "repeated_call"))
"""Causes for which a run ends before its call is decided or executed."""


async def submit(call: ToolCall, record_id: str, options: Options, recorder: Recorder) -> Outcome:
    """Drive the run of one call, begun or resumed, and record its outcome. Returns it.

    Cancellation of the calling task records the outcome as far as it is known, and propagates. Raises `TypeError` and
    `ValueError` for invalid `extra`.
    """
    submission = _Submission(call, record_id, recorder)
    try:
        result = await run_with(
            DEFAULTS,
            submission,
            json_text([call.tool, call.args]),
            options,
            use_fast_path=False,
            driver_type=partial(_SubmissionDriver, submission),
        )
    except Exception:  # invalid arguments: nothing was decided
        raise
    except BaseException:
        recorder.outcome_at_once(submission.interrupted())
        raise
    if result.code == "busy":  # another process makes this submission, and records it
        return submission.outcome("failed", error=result.error, code="busy")
    outcome = submission.outcome_of(result)
    final = result.outcome == "succeeded"
    problem = await (recorder.replayed(outcome) if outcome.replayed else recorder.outcome(outcome, final=final))
    return outcome if problem is None else submission.with_log_error(outcome, problem)


async def decide(call: ToolCall, options: Options) -> Outcome:
    """Drive the run of one call up to its effect, without a journal. Returns the outcome that the decision permits."""
    submission = _Submission(call, "", Recorder(None, "", {}, None))
    driver_type = partial(_DecidingDriver, submission)
    options = msgspec.structs.replace(options, sinks=(), candidate=None)
    result = await run_with(DEFAULTS, submission, "", options, use_fast_path=False, driver_type=driver_type)
    if submission.run is None or submission.run.last is not None or submission.run.decided is None:
        return submission.outcome_of(result)
    verdict = submission.run.decided[1].verdict
    return submission.outcome(_PERMITS[verdict])


_PERMITS: dict[Verdict, Status] = {
    Verdict.ALLOW: "ok",
    Verdict.TRANSFORM: "ok",
    Verdict.DENY: "denied",
    Verdict.DRY_RUN: "previewed",
    Verdict.APPROVE_REQUIRED: "waiting",
}


class _Submission:
    """The agent of the run: it proposes the call, and answers with the outcome."""

    identity = "bobcat.Guard"
    """In place of the class's name, in the run's binding."""

    def __init__(self, call: ToolCall, record_id: str, recorder: Recorder) -> None:
        self.call = call
        self.record_id = record_id
        self.recorder = recorder
        self.run: RunState | None = None
        self.started = False
        """True once the tool was started."""
        self.log_problem: str | None = None

    async def step(self, conversation: Sequence[Message], /) -> ToolCall | FinalAnswer:
        """Propose the call, or answer with its outcome as JSON, which a later submission of the same key returns."""
        if conversation[-1].role != "tool":
            return self.call
        return FinalAnswer(json_text(self._of_step(self._last()).to_json()))

    def _last(self) -> StepOutcome:
        last = None if self.run is None else self.run.last
        return StepOutcome(ActionResult(False, error="the step has no outcome")) if last is None else last

    def outcome_of(self, result: RunResult) -> Outcome:
        """The outcome of a run that ended."""
        if result.outcome == "succeeded" and result.final_answer is not None:
            if self.run is not None and self.run.last is not None:
                return self._of_step(self.run.last)
            try:
                return outcome_from_json(_parsed(result.final_answer))
            except (KeyError, TypeError, ValueError):
                return self.outcome("failed", error=f"`{self.record_id}` is not a submission", code="not_a_submission")
        if result.outcome == "suspended":
            return self.outcome("waiting", error=result.error, code="suspended", approvals=result.approvals)
        code = result.code or ""
        if self.log_problem is not None and not self.started:
            return self.outcome("failed", error=self.log_problem, code=LOG_FAILED)
        if self.started:
            return self.outcome("uncertain", error=self._error(result), code=code)
        if code == "invalid_reply":
            return self.outcome("invalid", error=result.error, code=code)
        return self.outcome("denied" if code in _NOT_EXECUTED else "failed", error=result.error, code=code)

    def interrupted(self) -> Outcome:
        """The outcome of a submission whose caller was cancelled."""
        text = "the submission was cancelled"
        if self.started:
            return self.outcome("uncertain", error=f"{text}; it may have taken effect", code="cancelled")
        return self.outcome("denied", error=text, code="cancelled")

    def _error(self, result: RunResult) -> str:
        last = None if self.run is None else self.run.last
        if last is not None and last.uncertain:
            return last.result.error or ""
        return f"{result.error}; the action was executed, and its outcome is not on record"

    def _of_step(self, last: StepOutcome) -> Outcome:
        result = last.result
        status = _status(last)
        value = result.value
        if status == "previewed" and isinstance(value, dict):
            value = value.get("preview")
        error = None if status == "ok" else result.error
        return self.outcome(status, value=value, error=error, code=last.code, duration_ms=result.duration_ms)

    def outcome(self, status: Status, **fields: Any) -> Outcome:  # Any: the fields of an outcome
        """An outcome of this call, with the decision where there was one."""
        known = None if self.run is None else self.run.decided
        if known is None:
            args = self.call.args if isinstance(self.call.args, dict) else {}
            return Outcome(status, self.record_id, self.call.tool, args, **fields)
        request, decision = known
        last = None if self.run is None else self.run.last
        if last is not None and last.decision is not None:
            decision = last.decision
        opened = last.opened if last is not None else FrozenDict()
        return Outcome(
            status,
            self.record_id,
            self.call.tool,
            request.args,
            verdict=str(decision.verdict),
            reason=decision.reason or "",
            matched_rules=tuple(decision.matched_rules),
            opened=opened,
            **fields,
        )

    def with_log_error(self, outcome: Outcome, problem: str) -> Outcome:
        """The outcome after a log that could not be written: `failed` when nothing ran either."""
        if outcome.status in ("ok", "failed", "uncertain"):
            return replace(outcome, log_error=problem)
        return replace(outcome, status="failed", error=problem, code=LOG_FAILED, log_error=problem)


def _status(last: StepOutcome) -> Status:
    if last.uncertain or isinstance(last.result, UncertainResult):
        return "uncertain"
    if last.code in OBLIGATION_CODES:
        return "denied"
    if last.code:
        return "unknown" if last.code == UNKNOWN_TOOL else "invalid"
    if last.denied:
        return "denied"
    if last.decision is not None and last.decision.verdict is Verdict.DRY_RUN:
        return "previewed"
    return "ok" if last.result.ok is True else "failed"


def _parsed(text: str) -> dict[str, Any]:
    data = json.loads(text)
    if not isinstance(data, dict):
        raise TypeError("an outcome is a JSON object")
    return data


class _OneCallDriver(RunDriver):
    """Executes the commands of a run of one call, whose state the submission reads."""

    def __init__(self, submission: _Submission, *arguments: Any) -> None:  # Any: those of `RunDriver`
        super().__init__(*arguments)
        self._submission = submission

    async def _drive(self, machine: Machine) -> RunResult:
        self._submission.run = machine.run
        self._submission.recorder.run = machine.run
        return await super()._drive(machine)

    async def _deliver(self, kind: str, body: Mapping[str, object]) -> None:
        """Send an event to the sinks. The task and the answer of a submission hold the arguments of its call."""
        run = self._submission.run
        paths = () if run is None else run.masked
        if paths and "task" in body:
            call = self._submission.call
            body = {**body, "task": json_text([call.tool, masked_body({"args": call.args}, paths)["args"]])}
        if paths and isinstance(answer := body.get("final_answer"), str):
            body = {**body, "final_answer": json_text(masked_body(_parsed(answer), paths))}
        await super()._deliver(kind, body)


class _DecidingDriver(_OneCallDriver):
    """Stops before an approver is asked and before the tool or its shadow runs."""

    reserves = False

    def log_end(self, result: RunResult) -> None:
        """Log nothing: a decision alone is no run."""

    async def _ask_approval(self, command: AskApproval) -> Event:
        return Interrupted(cancelled="decided", started=False)

    async def _execute(self, command: Execute) -> Event:
        return Interrupted(cancelled="decided", started=False)

    async def _perform(self, command: Perform) -> Event:
        return Interrupted(cancelled="decided", started=False) if command.gates else Performed(())


_GROUPED = frozenset(("run.started", "model.output", "step.shared"))
"""Records on which nothing depends before the next one: the proposal, and the answer with the outcome."""


class _SubmissionDriver(_OneCallDriver):
    """Executes the commands of a submission; the decision is on record before an approver is asked or the tool runs.

    INVARIANT: the intent is durable before the tool runs, the result before the submission returns. Sinks see the
    result when it is durable; without sinks it is written together with the end of the run.
    """

    def __init__(self, submission: _Submission, *arguments: Any) -> None:  # Any: those of `RunDriver`
        super().__init__(submission, *arguments)
        if self._journal is not None:
            observed = self._setup.observed
            self._journal.group(_GROUPED if observed else _GROUPED | {"action.result"}, concludes=not observed)

    async def _ask_approval(self, command: AskApproval) -> Event:
        problem = await self._record()
        if problem is not None:
            return Interrupted(cancelled=problem, started=False)
        return await super()._ask_approval(command)

    async def _execute(self, command: Execute) -> Event:
        if command.shadow:
            return await super()._execute(command)
        problem = await self._record()
        if problem is not None:
            return Interrupted(cancelled=problem, started=False)
        return await super()._execute(command)

    async def _run_tool(self, command: Execute, supplied: dict[str, Any]) -> Any:
        self._submission.started = True
        return await super()._run_tool(command, supplied)

    async def _record(self) -> str | None:
        """Record the decision. Returns the problem of a log that cannot be written."""
        known = None if self._run is None else self._run.decided
        if known is None:
            return "the call was not decided"
        self._submission.log_problem = await self._submission.recorder.decision(*known)
        return self._submission.log_problem
