"""What an approval handler is, and the plain ones: grant all, refuse all, ask on the terminal, several at once.

The kernel bounds the wait for a handler, and the kill switch ends it; a handler must therefore be cancellable at its
awaits.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bobcat.model import ApprovalDecision, ApprovalRequest
from bobcat.prompt import InputClosed, read_line

if TYPE_CHECKING:
    from bobcat.approvals.prompting import Question


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


def auto_approve(approver: str = "auto", *, uncertain: bool = False) -> ApprovalHandler:
    """Grants everything, as `approver`. For tests and sandboxes.

    An action that may have happened already is granted again with `uncertain` only.
    """

    async def handler(req: ApprovalRequest) -> ApprovalDecision | Pending:
        if req.uncertain and not uncertain:
            return await not_answered(req, approver, None)
        return ApprovalDecision(True, approver)

    handler.automatic = True  # type: ignore[attr-defined]  # read by `all_approve`
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

    The question is shown so that nothing in it can act on the terminal. Of a long one it shows the beginning, says how
    many characters are hidden, and `v` shows all of it, page by page. A wait that ends early, by a timeout or the kill
    switch, leaves nothing behind: no thread and no half-read answer.
    """

    async def handler(req: ApprovalRequest) -> ApprovalDecision:
        from bobcat.approvals.prompting import Question  # only where somebody is asked

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
    """Show all of a question; anything but an empty line ends it early."""
    pages = question.pages()
    for number, page in enumerate(pages, 1):
        more = "Enter: next page, q: back" if number < len(pages) else "Enter: back"
        if (await read_line(f"{page}\n[page {number} of {len(pages)}; {more}] ")).strip():
            return


def all_approve(*handlers: ApprovalHandler) -> ApprovalHandler:
    """A handler that grants when every one of `handlers` grants the same call with the same arguments.

        on_approval=all_approve(Allowlist(["ops@example.com"], target=recipient), durable_approvals(store))

    `Allowlist(..., otherwise=gate)` needs one of the two; this needs both. Automatic ones (`Allowlist`, `auto_approve`)
    are asked first, and gates, which spend a grant, last, so that none is spent on a call that another one refuses or
    leaves open. The first answer that is no grant is the answer, `Pending` too. Arguments that one of them edits
    refuse: the others have granted something else. The grant is by the first of them whom the rule names, else by the
    first that is not automatic. Where several approvals are needed, all are asked for each.
    """
    if not handlers:
        raise ValueError("all_approve needs at least one handler: without one, nothing would be asked")
    for one in handlers:
        if not callable(one):
            raise TypeError(f"all_approve takes approval handlers, got {type(one).__name__}")
    ordered = sorted(handlers, key=lambda one: (not _is(one, "automatic")) + _is(one, "spends"))

    async def handler(req: ApprovalRequest) -> ApprovalDecision | Pending:
        answers: dict[int, ApprovalDecision] = {}
        for one in ordered:
            answer: object = await one(req)
            if not isinstance(answer, ApprovalDecision) or answer.granted is not True:
                return answer  # type: ignore[return-value]  # whatever it is, it is checked as every answer
            if answer.args is not None:
                return ApprovalDecision(
                    False, answer.approver, "arguments cannot be edited where several handlers must grant"
                )
            answers[id(one)] = answer
        return _speaker(req, [(one, answers[id(one)]) for one in handlers])

    handler.automatic = all(_is(one, "automatic") for one in handlers)  # type: ignore[attr-defined]
    handler.spends = any(_is(one, "spends") for one in handlers)  # type: ignore[attr-defined]
    return handler


def _speaker(req: ApprovalRequest, granted: list[tuple[ApprovalHandler, ApprovalDecision]]) -> ApprovalDecision:
    """The grant that stands for all: an automatic one only where no other is, or where the rule names it."""
    named = [answer for _, answer in granted if answer.approver in req.decision.approvers]
    people = [answer for one, answer in granted if not _is(one, "automatic")]
    candidates = named or people or [answer for _, answer in granted]
    return next((answer for answer in candidates if answer.approver not in req.granted_by), candidates[0])


def _is(handler: ApprovalHandler, trait: str) -> bool:
    return getattr(handler, trait, False) is True


async def not_answered(
    req: ApprovalRequest, approver: str, otherwise: ApprovalHandler | None
) -> ApprovalDecision | Pending:
    """The answer of a handler without a person to a question about an action that may have happened already."""
    if otherwise is not None:
        return await otherwise(req)
    reason = "an earlier attempt may have taken effect, and only a person who is asked now can grant another"
    return ApprovalDecision(False, approver, reason)
