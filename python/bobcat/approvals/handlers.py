"""Approval handlers: the protocol, and the basic ones: grant all, refuse all, ask on the terminal, combine several.

The run loop bounds the wait for a handler, and the kill switch ends it; a handler must therefore be cancellable at its
awaits.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bobcat.approvals.prompt import InputClosed, read_line
from bobcat.model.run import ApprovalDecision, ApprovalRequest

if TYPE_CHECKING:
    from bobcat.approvals.prompting import Question


@dataclass(frozen=True, slots=True)
class Pending:
    """A handler's answer while there is no decision: the question is kept as `approval`, and the run need not wait.

    A journaled run is suspended. When it is resumed, the handler is asked again. `fingerprint` identifies the question:
    the journal keeps it, and `ApprovalRequest.asked` passes it back.
    """

    approval: str
    fingerprint: str = ""


@runtime_checkable
class ApprovalHandler(Protocol):
    """Decides one approval."""

    def __call__(self, req: ApprovalRequest, /) -> Awaitable[ApprovalDecision | Pending]:
        """Grant, refuse, or leave the approval pending."""


def auto_approve(approver: str = "auto", *, uncertain: bool = False) -> ApprovalHandler:
    """Create a handler that grants everything, as `approver`. For tests and sandboxes.

    An action that may already have happened is granted again with `uncertain` only.
    """

    async def handler(req: ApprovalRequest) -> ApprovalDecision | Pending:
        if req.uncertain and not uncertain:
            return await not_answered(req, approver, None)
        return ApprovalDecision(True, approver)

    handler.automatic = True  # type: ignore[attr-defined]  # read by `all_approve`
    return handler


def auto_deny(reason: str) -> ApprovalHandler:
    """Create a handler that refuses everything for the same reason."""

    async def handler(req: ApprovalRequest) -> ApprovalDecision:
        return ApprovalDecision(False, "system", reason)

    return handler


def callback_approval(fn: ApprovalHandler) -> ApprovalHandler:
    """Use any async callable that takes the request as a handler."""
    return fn


def cli_prompt_approval(approver: str = "local") -> ApprovalHandler:
    """Create a handler that asks on the terminal; `y` or `yes` grants, any other input and the end of input refuse.

    The question is shown so that no part of it can control the terminal. Of a long one it shows the beginning and the
    number of hidden characters, and `v` shows all of it, page by page. A wait that ends early, by a timeout or the kill
    switch, leaves neither a thread nor a half-read answer behind.
    """

    async def handler(req: ApprovalRequest) -> ApprovalDecision:
        from bobcat.approvals.prompting import Question  # imported only when a person is asked

        question = Question(req)
        try:
            answer = (await read_line(question.prompt())).strip().lower()
            while question.hidden and answer in ("v", "view"):
                await _page(question)
                answer = (await read_line(question.prompt())).strip().lower()
        except InputClosed as closed:
            return ApprovalDecision(False, approver, str(closed))
        granted = answer in ("y", "yes")
        return ApprovalDecision(granted, approver, "" if granted else "denied by local user")

    return handler


async def _page(question: Question) -> None:
    """Show a whole question page by page; any input but an empty line ends it early."""
    pages = question.pages()
    for number, page in enumerate(pages, 1):
        more = "Enter: next page, q: back" if number < len(pages) else "Enter: back"
        if (await read_line(f"{page}\n[page {number} of {len(pages)}; {more}] ")).strip():
            return


def all_approve(*handlers: ApprovalHandler) -> ApprovalHandler:
    """Create a handler that grants when all of `handlers` grant the same call with the same arguments.

        on_approval=all_approve(Allowlist(["ops@example.com"], target=recipient), durable_approvals(store))

    `Allowlist(..., otherwise=gate)` needs one of the two; this needs both. Automatic ones (`Allowlist`, `auto_approve`)
    are asked first, and gates, which consume a grant, last, so that no grant is consumed for a call that another one
    refuses or leaves pending. The first answer other than a grant is the answer, including `Pending`. Edited arguments
    are a refusal: the others have granted different ones. The approver is the first of them that the rule names, else
    the first that is not automatic. Where several approvals are needed, all are asked for each.
    """
    if not handlers:
        raise ValueError("all_approve needs at least one handler: without one, no approval would be requested")
    for one in handlers:
        if not callable(one):
            raise TypeError(f"all_approve takes approval handlers, got {type(one).__name__}")
    ordered = sorted(handlers, key=lambda one: (not _is(one, "automatic")) + _is(one, "spends"))

    async def handler(req: ApprovalRequest) -> ApprovalDecision | Pending:
        answers: dict[int, ApprovalDecision] = {}
        for one in ordered:
            answer: object = await one(req)
            if not isinstance(answer, ApprovalDecision) or answer.granted is not True:
                return answer  # type: ignore[return-value]  # any value, validated like every answer
            if answer.args is not None:
                return ApprovalDecision(
                    False, answer.approver, "arguments cannot be edited where several handlers must grant"
                )
            answers[id(one)] = answer
        return _representative(req, [(one, answers[id(one)]) for one in handlers])

    handler.automatic = all(_is(one, "automatic") for one in handlers)  # type: ignore[attr-defined]
    handler.spends = any(_is(one, "spends") for one in handlers)  # type: ignore[attr-defined]
    return handler


def _representative(req: ApprovalRequest, granted: list[tuple[ApprovalHandler, ApprovalDecision]]) -> ApprovalDecision:
    """The grant that represents all: an automatic one only when there is no other, or when the rule names it."""
    named = [answer for _, answer in granted if answer.approver in req.decision.approvers]
    people = [answer for one, answer in granted if not _is(one, "automatic")]
    candidates = named or people or [answer for _, answer in granted]
    return next((answer for answer in candidates if answer.approver not in req.granted_by), candidates[0])


def _is(handler: ApprovalHandler, trait: str) -> bool:
    return getattr(handler, trait, False) is True


async def not_answered(
    req: ApprovalRequest, approver: str, otherwise: ApprovalHandler | None
) -> ApprovalDecision | Pending:
    """The answer of an automatic handler to a question about an action that may already have happened."""
    if otherwise is not None:
        return await otherwise(req)
    reason = "an earlier attempt may have taken effect, and only a person who is asked now can grant another"
    return ApprovalDecision(False, approver, reason)
