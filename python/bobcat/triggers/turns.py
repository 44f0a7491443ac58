"""Firings that are turns of a thread: the task of the run is sent to the thread once, and the turn executed here.

A worker sends the message only while it holds an idle thread, so that the turn runs in the process that checked the
consent. The message is bound to its tools and policy: another process that finds it runs it with the same ones only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from bobcat.errors import JobError, ThreadBusy, ThreadError
from bobcat.model.run import Message, RunResult
from bobcat.runtime.resume_check import agent_identity
from bobcat.stores.protocol import RunStatus
from bobcat.threads import Asked, Ended, Thread, ThreadEvent
from bobcat.threads.journal import ThreadJournal
from bobcat.workers.registry import Attempt
from bobcat.workers.suspended import answered


async def run_turn(attempt: Attempt) -> RunResult:
    """Send the task of a job to its thread, once for each job, and execute the turn.

    Raises `JobError` for a turn that failed, and the errors of the thread.
    """
    try:
        async with _thread(attempt) as thread:
            events = await _executed(attempt, thread)
        result = _result(attempt, events)
        if result.code != "busy":
            await _record(attempt, result, events)
        return result
    except ThreadBusy as error:
        return _waits(attempt, str(error))


async def end_turn(attempt: Attempt, reason: str) -> None:
    """End the turn that a job has begun. A turn that has not begun never runs."""
    journal = ThreadJournal(attempt.store, attempt.job.thread)
    message = await journal.message_with(attempt.job.run_id)
    if message is None:
        return
    refused = {**attempt.arguments, "agent": _Refused(attempt.arguments.get("agent"), reason)}
    with suppress(ThreadError):  # another process executes it, under the consent that it has checked
        async with _thread(attempt, refused) as thread:
            begun = await journal.turn_of(message)
            if begun is None:
                await thread.queue(refused["task"], key=attempt.job.run_id)
            elif begun.number == await thread.turns():
                await thread.cancel(reason)


async def _executed(attempt: Attempt, thread: Thread) -> list[ThreadEvent]:
    """The events of the turn, up to its end or to the approval that it waits for."""
    task, key = attempt.arguments.get("task"), attempt.job.run_id
    if not isinstance(task, str) or not task.strip():
        raise JobError("not_a_run", f"the run `{attempt.job.name}` has no task to send to a thread")
    with _cancelling(thread, attempt):
        events = [event async for event in thread.send(task, key=key, bound=True)]
        if events and isinstance(last := events[-1], Asked) and await answered(attempt.store, last.approvals):
            async for event in thread.resume():
                if event.turn == last.turn and isinstance(event, Asked | Ended):
                    break
            events = [event async for event in thread.send(task, key=key, bound=True)]
    return events


def _result(attempt: Attempt, events: list[ThreadEvent]) -> RunResult:
    last = events[-1] if events else None
    policy = attempt.arguments["policy"].id
    if isinstance(last, Ended):
        if last.outcome == "failed":
            raise JobError("failed", f"turn {last.turn} of the thread `{attempt.job.thread}` failed: {last.error}")
        outcome: Any = last.outcome  # Any: one of the outcomes of a run
        return RunResult(attempt.job.run_id, policy, last.answer, last.error, outcome=outcome)
    if isinstance(last, Asked):
        text = f"suspended: waiting for approval {', '.join(last.approvals)}"
        return RunResult(attempt.job.run_id, policy, error=text, approvals=last.approvals, outcome="suspended")
    return _waits(attempt, "an earlier turn of the thread waits")


def _waits(attempt: Attempt, reason: str) -> RunResult:
    policy = attempt.arguments["policy"].id
    return RunResult(attempt.job.run_id, policy, error=reason, outcome="superseded", code="busy")


async def _record(attempt: Attempt, result: RunResult, events: list[ThreadEvent]) -> None:
    """Record the outcome of the turn as the status of the job's run, and release it."""
    detail: dict[str, Any] = {"thread": attempt.job.thread, "turn": events[-1].turn}
    if result.error is not None:
        detail["error"] = result.error
    if result.approvals:
        detail["approvals"] = list(result.approvals)
    statuses: Mapping[str, RunStatus] = {"succeeded": "succeeded", "suspended": "suspended", "cancelled": "cancelled"}
    status = statuses[result.outcome]
    await attempt.store.set_status(attempt.job.run_id, status, detail=detail, lease=attempt.lease.lease)
    await attempt.lease.release()


@asynccontextmanager
async def _thread(attempt: Attempt, arguments: Mapping[str, Any] | None = None) -> AsyncIterator[Thread]:
    """The thread of a job. A worker that stops leaves the turn to the next one at once."""
    options = dict(attempt.arguments if arguments is None else arguments)
    options.pop("task", None)
    try:
        thread = Thread(
            attempt.store, attempt.job.thread, busy="refuse", owner=attempt.lease.lease.owner,
            lease_seconds=attempt.lease.seconds, **options,
        )  # fmt: skip
    except TypeError as error:
        raise JobError("not_a_run", f"the run `{attempt.job.name}` cannot be a turn of a thread: {error}") from error
    try:
        yield thread
    except BaseException:
        await thread.aclose(wait=False)
        raise
    await thread.aclose()


@contextmanager
def _cancelling(thread: Thread, attempt: Attempt) -> Iterator[None]:
    """Cancel the turn when the job is cancelled."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def begin() -> None:
        tasks.add(loop.create_task(thread.cancel(attempt.cancel.reason)))

    unsubscribe = attempt.cancel.subscribe(lambda: loop.call_soon_threadsafe(begin))
    try:
        yield
    finally:
        unsubscribe()


class _Refused:
    """The agent of a turn that must not run: its step raises the reason, so the turn fails."""

    def __init__(self, agent: object, reason: str) -> None:
        self.identity = agent_identity(agent)
        self._reason = reason

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: it never returns
        """Raise the reason."""
        raise JobError("no_consent", self._reason)
