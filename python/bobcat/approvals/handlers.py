"""What an approval handler is, and the plain ones: grant all, refuse all, ask on the terminal.

The kernel bounds the wait for a handler, and the kill switch ends it; a handler must therefore be cancellable at its
awaits.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bobcat.model import ApprovalDecision, ApprovalRequest
from bobcat.prompt import InputClosed, read_line


@dataclass(frozen=True, slots=True)
class Pending:
    """A handler's answer that there is none yet: the question is kept as `approval`, and the run need not wait.

    A journaled run is suspended. When it is resumed, the handler is asked again.
    """

    approval: str


@runtime_checkable
class ApprovalHandler(Protocol):
    """Decides one approval."""

    def __call__(self, req: ApprovalRequest, /) -> Awaitable[ApprovalDecision | Pending]:
        """Grant or refuse, or leave it open."""


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
