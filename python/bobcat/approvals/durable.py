"""`durable_approvals`: questions kept in a store, so that neither the run nor its process has to wait for the answer.

    await run_agent(..., store=store, run_id="r", on_approval=durable_approvals(store))    # status "suspended"
    await Approvals(store).grant("4f0c...", approver="alice")                              # any time, any process
    await run_agent(..., store=store, run_id="r", on_approval=durable_approvals(store))    # executes, once

An approval is for one attempt at one step of one run, under one policy, with these arguments. When the run asks another
question at that step, the earlier one is withdrawn, and an answer to it has no effect.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

from bobcat.approvals.asking import approval_timeout
from bobcat.approvals.handlers import Pending
from bobcat.approvals.record import (
    KIND,
    STEP_KIND,
    Approval,
    approval_at,
    first_form,
    question,
    same_question,
    step_key,
)
from bobcat.ir.canonical import EncodingError
from bobcat.logs import logger
from bobcat.model.run import ApprovalDecision, ApprovalRequest
from bobcat.stores.protocol import DurableStore, VersionConflict
from bobcat.text.json_text import format_exception
from bobcat.text.shortening import shortened

ANSWER_SECONDS = 7 * 24 * 3600.0
"""Time limit of an answer when the rule sets none: a week."""

NOTIFY_WAITS = (0.1, 0.5)
"""Seconds before each retry of a failed notification."""
MAX_PROBLEM_CHARS = 500
"""Maximum length of a failure's text that is logged and kept."""
NOTIFY_SECONDS = 30.0
"""Time limit of all attempts together; half the time of the question where that is shorter."""

_log = logger("approvals")

Notify = Callable[[Approval], Awaitable[object]]


class DurableApprovals:
    """The approval handler over a store. Created by `durable_approvals`."""

    def __init__(self, store: DurableStore, *, notify: Notify | None, seconds: float) -> None:
        self._store = store
        self._notify = notify
        self._seconds = seconds

    async def __call__(self, req: ApprovalRequest, /) -> ApprovalDecision | Pending:
        """Return the recorded answer, or `Pending`; a new question is recorded first."""
        if not req.run_id:
            return _refuse("a run without a store cannot wait for an approval")
        now = await self._store.now()
        try:
            asked = question(req, now, self._end(req, now))
        except EncodingError as error:
            return _refuse(f"the question cannot be recorded: {error}")
        approval = await self._ask(await self._asked_before(asked, req), now, req)
        if self._notify is not None and approval.status == "pending" and not approval.notified:
            await self._notify_once(approval, self._notify)
        return _answer(approval, req)

    def _end(self, req: ApprovalRequest, now: datetime) -> datetime | None:
        limit = None if req.decision.timeout_seconds is None else approval_timeout(req.decision)
        seconds = self._seconds if limit is None else limit
        return None if math.isinf(seconds) else now + timedelta(seconds=seconds)

    async def _asked_before(self, asked: Approval, req: ApprovalRequest) -> Approval:
        """The question in the form of an older release, when that asked the same and its answer still counts.

        INVARIANT: the form without a fingerprint never for a question that the run's journal has with one.
        """
        if asked.id in req.asked or await self._store.get(KIND, asked.id) is not None:
            return asked
        fewer = await self._with_fewer_defaults(asked, req)
        if fewer is not None:
            return fewer
        first = first_form(asked)
        entry = await self._store.get(KIND, first.id)
        if entry is None:
            return asked
        known = approval_at(entry)
        return first if same_question(known, asked) and known.status != "withdrawn" else asked

    async def _with_fewer_defaults(self, asked: Approval, req: ApprovalRequest) -> Approval | None:
        """The question as asked before an app's deploy gave the tool more optional parameters; None without one.

        A grant of it stays valid: the call is the same, and has only further defaults.

        INVARIANT: only a question that the run's journal has with its fingerprint, and that differs in nothing else.
        """
        entry = await self._store.get(STEP_KIND, step_key(asked.run_id, asked.step)) if req.filled else None
        if entry is None or entry.body["approval"] not in req.asked:
            return None
        known_entry = await self._store.get(KIND, entry.body["approval"])
        if known_entry is None:
            return None
        known = approval_at(known_entry)
        added = asked.args.keys() - known.args.keys()
        if known.status == "withdrawn" or not added or not added <= req.filled:
            return None
        args = {name: value for name, value in asked.args.items() if name not in added}
        fewer = question(replace(req, request=replace(req.request, args=args)), asked.created, asked.expires)
        return fewer if fewer.id == known.id else None

    async def _ask(self, asked: Approval, now: datetime, req: ApprovalRequest) -> Approval:
        """Return the present approval: recorded if it is new, and consumed if this completes it."""
        while True:
            entry = await self._store.get(KIND, asked.id)
            known = None if entry is None else approval_at(entry).as_of(now)
            if known is None or known.status == "withdrawn":
                current = asked
            elif known.fingerprint != req.asked.get(known.id, known.fingerprint):
                _log.warning(
                    "the approval %s does not match the journal of run %s: it is asked again", known.id, known.run_id
                )
                current = asked
            elif known.status == "granted" and known.used is None and len(req.granted_by) + 1 >= known.needed:
                current = replace(known, used=now)
            else:
                current = known
            try:
                body = current.to_json()
                if entry is None or body != entry.body:
                    await self._store.put(KIND, asked.id, body, expected=0 if entry is None else entry.version)
                await self._set_current(current)
            except VersionConflict:
                continue  # another process answered, or asked the same, in between
            return current

    async def _notify_once(self, approval: Approval, notify: Notify) -> None:
        """Notify the approvers of a question without a recorded notification. A failure leaves it open."""
        problem = await _notified(approval, notify)
        while True:
            entry = await self._store.get(KIND, approval.id)
            if entry is None:
                return
            updated = replace(approval_at(entry), notified=not problem, notify_error=problem)
            try:
                await self._store.put(KIND, approval.id, updated.to_json(), expected=entry.version)
            except VersionConflict:
                continue
            return

    async def _set_current(self, current: Approval) -> None:
        """Make the step wait for this approval, and withdraw the one it waited for before."""
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
    """Notify, with retries. Returns the problem of the last attempt, or ""."""
    problem = ""
    seconds = NOTIFY_SECONDS
    if approval.expires is not None:  # it must not use up the handler's own time
        seconds = min(seconds, (approval.expires - approval.created).total_seconds() / 2)
    try:
        async with asyncio.timeout(seconds):
            for wait in (0.0, *NOTIFY_WAITS):
                await asyncio.sleep(wait)
                problem = await _try(approval, notify)
                if not problem:
                    return ""
    except TimeoutError:
        problem = problem or f"not finished after {seconds:g} s"
    problem = shortened(problem, MAX_PROBLEM_CHARS)
    about = {"run_id": approval.run_id, "step": approval.step, "tool": approval.tool}
    message = "the approvers of %s (run %s) were not notified, and it stays open: %s"
    _log.warning(message, approval.id, approval.run_id, problem, extra=about)
    return problem


async def _try(approval: Approval, notify: Notify) -> str:
    try:
        await notify(approval)
    except Exception as error:
        return format_exception(error)
    return ""


def durable_approvals(
    store: DurableStore, *, notify: Notify | None = None, seconds: float = ANSWER_SECONDS
) -> DurableApprovals:
    """Create an approval handler that keeps its questions in `store` and suspends the run until they are answered.

    `notify` is awaited for a new question, with the `Approval`: to post it where the approvers are. It is awaited again
    when its earlier success is unknown. When it raises, it is retried, now and whenever the run is resumed; the
    question stays open, and `Approval.notify_error` and the log have the problem. `seconds` is the time limit of an
    answer under a rule without `timeout_seconds`; `math.inf` is no limit. Times are the store's.
    """
    if not isinstance(store, DurableStore):
        raise TypeError(f"durable approvals need a DurableStore, such as SQLiteStore, got {type(store).__name__}")
    if not seconds > 0:
        raise ValueError(f"seconds must be a positive number, or math.inf for no limit, got {seconds!r}")
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
            return _refuse(f"no answer before {approval.expires}")
        case "pending" | "withdrawn":  # another question was asked meanwhile: ask again later
            return Pending(approval.id, approval.fingerprint)


def _refuse(reason: str) -> ApprovalDecision:
    return ApprovalDecision(False, "system", reason)
