"""`durable_approvals`: questions kept in a store, so that neither the run nor its process need wait for the answer.

    await run_agent(..., store=store, run_id="r", on_approval=durable_approvals(store))    # status "suspended"
    await Approvals(store).grant("4f0c...", approver="alice")                              # any time, any process
    await run_agent(..., store=store, run_id="r", on_approval=durable_approvals(store))    # executes, once

An approval is for one attempt at one step of one run, under one policy, with these arguments. When the run asks
anything else at that step, the question before is withdrawn, and an answer to it counts for nothing.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

from bobcat.approvals.asking import approval_timeout
from bobcat.approvals.handlers import Pending
from bobcat.approvals.record import KIND, STEP_KIND, Approval, approval_at, question, step_key
from bobcat.ir.canonical import EncodingError
from bobcat.logs import logger
from bobcat.model import ApprovalDecision, ApprovalRequest
from bobcat.plain_json import describe
from bobcat.stores.durable import DurableStore, VersionConflict

ANSWER_SECONDS = 7 * 24 * 3600.0
"""How long an answer is waited for when the rule does not say: a week."""

NOTIFY_WAITS = (0.1, 0.5)
"""Seconds before each further try of a notification that failed."""
MAX_PROBLEM_CHARS = 500
"""How much of the text of a failure is logged and kept."""
NOTIFY_SECONDS = 30.0
"""How long all tries may take together; half the time of the question where that is shorter."""

_log = logger("approvals")

Notify = Callable[[Approval], Awaitable[object]]


class DurableApprovals:
    """The approval handler over a store. Values of `durable_approvals`."""

    def __init__(self, store: DurableStore, *, notify: Notify | None, seconds: float) -> None:
        self._store = store
        self._notify = notify
        self._seconds = seconds

    async def __call__(self, req: ApprovalRequest, /) -> ApprovalDecision | Pending:
        """The answer on record, or `Pending`; a new question is put on record first."""
        if not req.run_id:
            return _refuse("a run without a store cannot wait for an approval")
        now = await self._store.now()
        try:
            asked = question(req, now, self._end(req, now))
        except EncodingError as error:
            return _refuse(f"the question cannot be put on record: {error}")
        approval = await self._ask(asked, now, req.granted_by)
        if self._notify is not None and approval.status == "pending" and not approval.told:
            await self._tell(approval, self._notify)
        return _answer(approval, req)

    def _end(self, req: ApprovalRequest, now: datetime) -> datetime | None:
        given = None if req.decision.timeout_seconds is None else approval_timeout(req.decision)
        seconds = self._seconds if given is None else given
        return None if math.isinf(seconds) else now + timedelta(seconds=seconds)

    async def _ask(self, asked: Approval, now: datetime, granted_by: tuple[str, ...]) -> Approval:
        """The approval as it stands, put on record if it is new, and taken up if this completes it."""
        while True:
            entry = await self._store.get(KIND, asked.id)
            known = None if entry is None else approval_at(entry).as_of(now)
            if known is None or known.status == "withdrawn":
                current = asked
            elif known.status == "granted" and known.used is None and len(granted_by) + 1 >= known.needed:
                current = replace(known, used=now)
            else:
                current = known
            try:
                body = current.to_json()
                if entry is None or body != entry.body:
                    await self._store.put(KIND, asked.id, body, expected=0 if entry is None else entry.version)
                await self._point(current)
            except VersionConflict:
                continue  # somebody answered, or asked the same, in between
            return current

    async def _tell(self, approval: Approval, notify: Notify) -> None:
        """Tell the approvers of a question that nobody is known to have told them of. A failure leaves it open."""
        problem = await _notified(approval, notify)
        while True:
            entry = await self._store.get(KIND, approval.id)
            if entry is None:
                return
            told = replace(approval_at(entry), told=not problem, notify_error=problem)
            try:
                await self._store.put(KIND, approval.id, told.to_json(), expected=entry.version)
            except VersionConflict:
                continue
            return

    async def _point(self, current: Approval) -> None:
        """Let the step wait for this approval, and withdraw what it waited for before."""
        key = step_key(current.run_id, current.step)
        entry = await self._store.get(STEP_KIND, key)
        if entry is not None and entry.body["approval"] == current.id:
            return
        if entry is not None:
            await self._withdraw(entry.body["approval"])
        body = {"approval": current.id, "run_id": current.run_id, "step": current.step}
        await self._store.put(STEP_KIND, key, body, expected=0 if entry is None else entry.version)

    async def _withdraw(self, id: str) -> None:
        entry = await self._store.get(KIND, id)
        if entry is None:
            return
        before = approval_at(entry)
        if before.status in ("pending", "granted") and before.used is None:
            withdrawn = replace(before, status="withdrawn")
            await self._store.put(KIND, before.id, withdrawn.to_json(), expected=entry.version)


async def _notified(approval: Approval, notify: Notify) -> str:
    """Notify, in several tries if need be. How the last one failed, or nothing."""
    problem = ""
    seconds = NOTIFY_SECONDS
    if approval.expires is not None:  # the handler's own time must not be used up by it
        seconds = min(seconds, (approval.expires - approval.created).total_seconds() / 2)
    try:
        async with asyncio.timeout(seconds):
            for wait in (0.0, *NOTIFY_WAITS):
                await asyncio.sleep(wait)
                problem = await _try(approval, notify)
                if not problem:
                    return ""
    except TimeoutError:
        problem = problem or f"no end after {seconds:g} s"
    problem = problem[:MAX_PROBLEM_CHARS]
    about = {"run_id": approval.run_id, "step": approval.step, "tool": approval.tool}
    message = "the approvers of %s (run %s) were not notified, and it stays open: %s"
    _log.warning(message, approval.id, approval.run_id, problem, extra=about)
    return problem


async def _try(approval: Approval, notify: Notify) -> str:
    try:
        await notify(approval)
    except Exception as error:
        return describe(error)
    return ""


def durable_approvals(
    store: DurableStore, *, notify: Notify | None = None, seconds: float = ANSWER_SECONDS
) -> DurableApprovals:
    """An approval handler that keeps its questions in `store` and suspends the run until they are answered.

    `notify` is awaited for a new question, with the `Approval`: to post it where the approvers are. It is awaited again
    when nobody knows whether the first time succeeded. When it raises, it is tried again, now and whenever the run is
    resumed; the question stays open, and `Approval.notify_error` and the log say what happened. `seconds` is how long
    an answer is waited for under a rule without `timeout_seconds`; `math.inf` waits for ever. Times are the store's.
    """
    if not isinstance(store, DurableStore):
        raise TypeError(f"durable approvals need a DurableStore, such as SQLiteStore, got {type(store).__name__}")
    if not seconds > 0:
        raise ValueError(f"an answer needs some seconds, or for ever (math.inf), got {seconds!r}")
    return DurableApprovals(store, notify=notify, seconds=seconds)


def _answer(approval: Approval, req: ApprovalRequest) -> ApprovalDecision | Pending:
    match approval.status:
        case "granted":
            fresh = [name for name in approval.granted_by if name not in req.granted_by]
            return ApprovalDecision(True, fresh[0], args=approval.edited) if fresh else _refuse("too few approvals")
        case "denied":
            last = approval.answers[-1]
            return ApprovalDecision(False, last.approver, last.reason)
        case "expired":
            return _refuse(f"nobody answered before {approval.expires}")
        case "pending" | "withdrawn":  # somebody asked another question meanwhile: ask again later
            return Pending(approval.id)


def _refuse(reason: str) -> ApprovalDecision:
    return ApprovalDecision(False, "system", reason)
