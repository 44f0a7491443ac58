"""Approval handlers, and the checks an answer must pass before it grants anything.

A handler is asked while the action waits: it returns an `ApprovalDecision`, and whatever else it does is a refusal.
The kernel bounds the wait, and the kill switch ends it; a handler must therefore be cancellable at its awaits.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import NamedTuple, Protocol, runtime_checkable

from bobcat.model import ApprovalDecision, ApprovalRequest, Decision
from bobcat.plain_json import describe, show
from bobcat.prompt import InputClosed, read_line

DEFAULT_TIMEOUT_SECONDS = 1800
"""How long an approval is waited for when the rule does not say."""


@runtime_checkable
class ApprovalHandler(Protocol):
    """Decides one approval."""

    def __call__(self, req: ApprovalRequest, /) -> Awaitable[ApprovalDecision]:
        """Grant or refuse."""


class Answer(NamedTuple):
    """A checked answer: granted with the approver's name, or `refusal`, the text for the model."""

    approver: str
    refusal: str | None = None
    args: Mapping[str, object] | None = None


def auto_approve(approver: str = "auto") -> ApprovalHandler:
    """Grants everything, as `approver`. For tests and sandboxes."""

    async def handler(req: ApprovalRequest) -> ApprovalDecision:
        return ApprovalDecision(True, approver)

    return handler


def auto_deny(reason: str) -> ApprovalHandler:
    """Refuses everything for the same reason."""

    async def handler(req: ApprovalRequest) -> ApprovalDecision:
        return ApprovalDecision(False, "system", reason)

    return handler


def callback_approval(fn: ApprovalHandler) -> ApprovalHandler:
    """Any async callable that takes the request is a handler; this says so."""
    return fn


def cli_prompt_approval(approver: str = "local") -> ApprovalHandler:
    """Asks on the terminal; `y` or `yes` grants, anything else and the end of the input refuse.

    A wait that ends early, by a timeout or the kill switch, leaves nothing behind: no thread and no half-read answer.
    """

    async def handler(req: ApprovalRequest) -> ApprovalDecision:
        prompt = (
            "\n→ APPROVAL REQUIRED\n"
            f"  tool:   {req.request.tool}\n"
            f"  args:   {dict(req.request.args)}\n"
            f"  reason: {req.decision.reason}\n"
            "Approve? [y/N] "
        )
        try:
            answer = (await read_line(prompt)).strip().lower()
        except InputClosed as closed:
            return ApprovalDecision(False, approver, str(closed))
        granted = answer in ("y", "yes")
        return ApprovalDecision(granted, approver, "" if granted else "denied by local user")

    return handler


def approval_timeout(decision: Decision) -> float | None:
    """Seconds an approval may take: the rule's, or the default. None when the rule's value is no number of seconds."""
    timeout: object = decision.timeout_seconds
    if timeout is None:
        return DEFAULT_TIMEOUT_SECONDS
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or math.isnan(timeout) or timeout < 0:
        return None
    return timeout


async def ask(handler: ApprovalHandler, request: ApprovalRequest) -> Answer:
    """Ask for one approval within its time, and check the answer. Every failure is a refusal."""
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
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return _raised(error)
    except (Exception, SystemExit) as error:
        return late if isinstance(error, TimeoutError) and clock.expired() else _raised(error)
    if clock.expired():  # the handler swallowed its cancellation: its answer came too late all the same
        return late
    return check(answer, request.decision)


async def ask_loosely(handler: ApprovalHandler, request: ApprovalRequest) -> Answer:
    """Ask for one approval as lynx-agent 2.5 asks: no timeout, or 0, is the default one, and what is true grants.

    What is no answer at all is a refusal here too; there it ends the program.
    """
    timeout = request.decision.timeout_seconds or DEFAULT_TIMEOUT_SECONDS
    try:
        answer: object = await asyncio.wait_for(handler(request), timeout)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
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
    return _refused(f"denied: approval handler raised {describe(error)}")
