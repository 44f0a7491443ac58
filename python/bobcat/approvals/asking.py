"""Asking an approval handler, and the checks an answer must pass before it grants anything.

A handler is asked while the action waits: it returns an `ApprovalDecision`, and whatever else it does is a refusal.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Mapping
from inspect import isawaitable
from typing import NamedTuple

from bobcat.approvals.handlers import ApprovalHandler, Pending
from bobcat.logs import logger
from bobcat.model import ApprovalDecision, ApprovalRequest, Decision
from bobcat.plain_json import describe, show
from bobcat.tasks import being_cancelled

log = logger("approvals")
DEFAULT_TIMEOUT_SECONDS = 1800
"""How long an approval is waited for when the rule does not say."""


class Answer(NamedTuple):
    """A checked answer: granted with the approver's name, or `refusal`, the text for the model."""

    approver: str
    refusal: str | None = None
    args: Mapping[str, object] | None = None
    by: tuple[str, ...] = ()
    """Who granted, where several had to."""


def approval_timeout(decision: Decision) -> float | None:
    """Seconds an approval may take: the rule's, or the default. None when the rule's value is no number of seconds."""
    timeout: object = decision.timeout_seconds
    if timeout is None:
        return DEFAULT_TIMEOUT_SECONDS
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or math.isnan(timeout) or timeout < 0:
        return None
    return timeout


async def ask(handler: ApprovalHandler, request: ApprovalRequest) -> Answer | Pending:
    """Ask for an approval within its time, and check the answer. Every failure is a refusal.

    Where several are needed, the handler is asked for each in turn; one refusal is one too many.
    """
    needed = request.decision.approvals_needed
    if needed == 1:
        return await _ask_once(handler, request)
    granted: tuple[str, ...] = ()
    while True:
        answer = await _ask_once(handler, dataclasses.replace(request, granted_by=granted))
        if isinstance(answer, Pending) or answer.refusal is not None:
            return answer
        if answer.args is not None:
            return _refused("denied: arguments cannot be edited where several approvals are needed")
        if answer.approver in granted:
            return _refused(f"denied: {answer.approver!r} has granted already, and {needed} approvers are needed")
        granted += (answer.approver,)
        if len(granted) >= needed:
            return Answer(", ".join(granted), by=granted)


async def _ask_once(handler: ApprovalHandler, request: ApprovalRequest) -> Answer | Pending:
    timeout = approval_timeout(request.decision)
    if timeout is None:
        return _refused(f"denied: the approval timeout {request.decision.timeout_seconds!r} is no number of seconds")
    late = _refused(f"denied: approval handler timed out after {timeout}s")
    if timeout == 0:
        return late
    try:
        async with asyncio.timeout(None if math.isinf(timeout) else timeout) as clock:
            answer: object = handler(request)
            if isawaitable(answer):
                answer = await answer
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return _raised(error)
    except (Exception, SystemExit) as error:
        return late if isinstance(error, TimeoutError) and clock.expired() else _raised(error)
    if clock.expired():  # the handler swallowed its cancellation: its answer came too late all the same
        return late
    if isinstance(answer, Pending) and answer.approval:
        return answer
    try:
        return check(answer, request.decision)
    except Exception as error:  # a subclass can make reading itself fail
        return _refused(f"denied: the approval handler's answer cannot be read: {describe(error)}")


async def ask_loosely(handler: ApprovalHandler, request: ApprovalRequest) -> Answer:
    """Ask for one approval as lynx-agent 2.5 asks: no timeout, or 0, is the default one, and what is true grants.

    What is no answer at all is a refusal here too; there it ends the program. It knows of one approval only: where more
    are needed, all of them are, and asked for strictly.
    """
    if request.decision.approvals_needed != 1:
        answered = await ask(handler, request)
        return _refused("denied: the approval was left open") if isinstance(answered, Pending) else answered
    timeout = request.decision.timeout_seconds or DEFAULT_TIMEOUT_SECONDS
    try:
        answer: object = await asyncio.wait_for(handler(request), timeout)
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return _raised(error)
    except TimeoutError:
        return _refused(f"denied: approval handler timed out after {timeout}s")
    except (Exception, SystemExit) as error:
        return _raised(error)
    try:
        granted, approver = bool(answer.granted), show(answer.approver)  # type: ignore[attr-defined]
        if granted:
            return Answer(approver)
        reason = f" — {show(answer.reason)}" if answer.reason else ""  # type: ignore[attr-defined]
        return Answer(approver, f"denied: approval refused by {approver}{reason}")
    except Exception:
        return _refused(f"denied: approval handler returned {type(answer).__name__}, not ApprovalDecision")


def check(answer: object, decision: Decision) -> Answer:
    """What an approval handler's answer amounts to. Only a well-formed grant by somebody entitled is a grant."""
    if not isinstance(answer, ApprovalDecision):
        return _refused(f"denied: approval handler returned {type(answer).__name__}, not ApprovalDecision")
    granted: object = answer.granted
    approver = show(answer.approver)
    if granted is False:
        reason = f" — {show(answer.reason)}" if answer.reason else ""
        return Answer(approver, f"denied: approval refused by {approver}{reason}")
    if granted is not True:
        return Answer(approver, f"denied: approval handler returned granted={granted!r}, not a bool")
    by: object = answer.approver
    if isinstance(by, str):
        by = str.__str__(by)  # whatever a subclass takes for equal
    entitled: object = decision.approvers
    named = (entitled,) if isinstance(entitled, str) else tuple(decision.approvers)  # no name is part of another
    if named and (not isinstance(by, str) or by not in named):
        return Answer(approver, f"denied: {approver!r} is not among the approvers ({', '.join(map(str, named))})")
    edited: object = answer.args
    if edited is not None and not isinstance(edited, Mapping):
        return Answer(approver, f"denied: the approver's args must be a mapping, got {type(edited).__name__}")
    return Answer(approver, None, answer.args)


def _refused(text: str) -> Answer:
    return Answer("system", text)


def _raised(error: BaseException) -> Answer:
    log.warning("an approval handler raised", exc_info=error)
    return _refused(f"denied: approval handler raised {describe(error)}")
