"""Scenarios of a `Guard`: one submission, made by every worker under the same key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.decision_log import verify
from bobcat.guard.guard import ANONYMOUS, Guard, keyed_record_id
from bobcat.guard.outcome import Outcome
from bobcat.journal.records import RunStore
from bobcat.model.run import RunOutcome, RunResult
from bobcat.runtime.lease import DEFAULT_LEASE_SECONDS
from bobcat.testing.crashsim.logs import SimLog
from bobcat.testing.crashsim.scenario import Scenario, Stage, Worker
from bobcat.tools.toolset import ToolSet

_LOG = "decisions.jsonl"
_OUTCOMES: Mapping[str, RunOutcome] = {"waiting": "suspended", "uncertain": "failed"}


def submission(
    stage: Stage,
    tool: str,
    args: Mapping[str, Any],
    *,
    tools: ToolSet,
    policy: Policy,
    store: RunStore,
    key: str = "simulated",
    on_approval: ApprovalHandler | None = None,
    answer: Callable[[RunResult], Awaitable[object]] | None = None,
    lease_seconds: float = DEFAULT_LEASE_SECONDS,
    resumes: bool = False,
) -> Scenario:
    """Make a scenario in which every worker calls `Guard.submit(tool, args, key=key)`.

    With `resumes`, a worker first continues the submissions that the decision log shows as uncertain or waiting, with
    `Guard.resume`. The effects of the scenario include `record STATUS` for each record of the decision log, so that a
    record is counted as double or lost, and `log intact` while the log is. Any: arguments of any call.
    """
    log = stage.log(stage.directory / _LOG)

    async def drive(worker: Worker) -> RunResult:
        async with Guard(
            policy, worker.tools, log=log, store=worker.store, on_approval=on_approval, clock=stage.clock,
            lease_seconds=lease_seconds,
        ) as guard:  # fmt: skip
            if resumes:
                for record in log.records(("uncertain", "waiting")):
                    with suppress(LookupError):  # it died before its journal had the call
                        await guard.resume(record.record_id)
            return _result(await guard.submit(tool, args, key=key), policy)

    return Scenario(
        tools=tools, policy=policy, store=store, answer=answer, lease_seconds=lease_seconds, drive=drive,
        run_id=keyed_record_id(key, ANONYMOUS), effects=lambda: _recorded(log, stage),
    )  # fmt: skip


def _result(outcome: Outcome, policy: Policy) -> RunResult:
    """The outcome as the end of a run. A refusal or a failure of the tool is an end that was reported."""
    ended: RunOutcome = _OUTCOMES.get(outcome.status, "succeeded")
    if outcome.status == "failed" and outcome.code:  # the submission was not made
        ended = "superseded" if outcome.code == "busy" else "failed"
    error = None if ended == "succeeded" else outcome.error
    return RunResult(outcome.record_id, policy.id, outcome.status, error, approvals=outcome.approvals, outcome=ended)


def _recorded(log: SimLog, stage: Stage) -> Iterable[str]:
    intact = ["log intact"] if verify(stage.directory / _LOG).ok else []
    return [*(f"record {record.status}" for record in log.records()), *intact]
