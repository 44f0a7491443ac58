"""Requests to an approval handler, and the validation of its answers.

A handler is asked while the action waits. It must return an `ApprovalDecision`; every other outcome is a refusal.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Mapping
from inspect import isawaitable
from typing import NamedTuple

from bobcat.aio.tasks import FAULTS, raise_if_cancelled
from bobcat.approvals.handlers import ApprovalHandler, Pending
from bobcat.logs import logger
from bobcat.model.decision import Decision
from bobcat.model.run import ApprovalDecision, ApprovalRequest
from bobcat.text.json_text import format_exception, safe_str

log = logger("approvals")
DEFAULT_TIMEOUT_SECONDS = 1800
"""Time limit of an approval when the rule sets none."""


class Answer(NamedTuple):
    """A checked answer: granted with the approver's name, or `refusal`, the text for the model."""

    approver: str
    refusal: str | None = None
    args: Mapping[str, object] | None = None
    by: tuple[str, ...] = ()
    """The approvers who granted, where several had to."""


def approval_timeout(decision: Decision) -> float | None:
    """Time limit of an approval in seconds: the rule's, or the default. None when the rule's value is invalid."""
    timeout: object = decision.timeout_seconds
    if timeout is None:
        return DEFAULT_TIMEOUT_SECONDS
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or math.isnan(timeout) or timeout < 0:
        return None
    return timeout


async def ask(handler: ApprovalHandler, request: ApprovalRequest) -> Answer | Pending:
    """Ask for an approval within its time limit, and validate the answer. Every failure is a refusal.

    Where several approvals are needed, the handler is asked for each in turn; a single refusal refuses.
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
        return _refused(f"denied: the approval timeout {request.decision.timeout_seconds!r} is not a number of seconds")
    late = _refused(f"denied: approval handler timed out after {timeout}s")
    if timeout == 0:
        return late
    try:
        async with asyncio.timeout(None if math.isinf(timeout) else timeout) as clock:
            answer: object = handler(request)
            if isawaitable(answer):
                answer = await answer
    except FAULTS as error:
        raise_if_cancelled(error)
        return late if isinstance(error, TimeoutError) and clock.expired() else _raised(error)
    if clock.expired():  # the handler swallowed its cancellation: its answer is still too late
        return late
    if isinstance(answer, Pending) and answer.approval:
        return answer
    try:
        return check(answer, request.decision)
    except Exception as error:  # a subclass can make the read itself fail
        return _refused(f"denied: the approval handler's answer cannot be read: {format_exception(error)}")


async def ask_lynx_compat(handler: ApprovalHandler, request: ApprovalRequest) -> Answer:
    """Ask for one approval as lynx-agent 2.5 does: no timeout, or 0, means the default one, and any true value grants.

    An invalid answer is a refusal here; in lynx-agent it ends the program. lynx-agent has single approvals only: where
    several are needed, all of them are requested, with strict checks.
    """
    if request.decision.approvals_needed != 1:
        answered = await ask(handler, request)
        return _refused("denied: the approval is still pending") if isinstance(answered, Pending) else answered
    timeout = request.decision.timeout_seconds or DEFAULT_TIMEOUT_SECONDS
    try:
        answer: object = await asyncio.wait_for(handler(request), timeout)
    except TimeoutError:
        return _refused(f"denied: approval handler timed out after {timeout}s")
    except FAULTS as error:
        raise_if_cancelled(error)
        return _raised(error)
    try:
        granted, approver = bool(answer.granted), safe_str(answer.approver)  # type: ignore[attr-defined]
        if granted:
            return Answer(approver)
        reason = f" — {safe_str(answer.reason)}" if answer.reason else ""  # type: ignore[attr-defined]
        return Answer(approver, f"denied: approval refused by {approver}{reason}")
    except Exception:
        return _refused(f"denied: approval handler returned {type(answer).__name__}, not ApprovalDecision")


def check(answer: object, decision: Decision) -> Answer:
    """Validate an approval handler's answer. Only a well-formed grant by a permitted approver is a grant."""
    if not isinstance(answer, ApprovalDecision):
        return _refused(f"denied: approval handler returned {type(answer).__name__}, not ApprovalDecision")
    granted: object = answer.granted
    approver = safe_str(answer.approver)
    if granted is False:
        reason = f" — {safe_str(answer.reason)}" if answer.reason else ""
        return Answer(approver, f"denied: approval refused by {approver}{reason}")
    if granted is not True:
        return Answer(approver, f"denied: approval handler returned granted={granted!r}, not a bool")
    by: object = answer.approver
    if isinstance(by, str):
        by = str.__str__(by)  # regardless of a subclass's comparison
    entitled: object = decision.approvers
    named = (entitled,) if isinstance(entitled, str) else tuple(decision.approvers)  # names are compared whole
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
    return _refused(f"denied: approval handler raised {format_exception(error)}")
