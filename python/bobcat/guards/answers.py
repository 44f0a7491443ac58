"""What doors share: the answer to the model, the question to an approver, and the reading of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from bobcat.guard.outcome import Outcome
from bobcat.model.run import ApprovalDecision, ApprovalRequest
from bobcat.text.json_text import safe_str


class ToolError(Exception):
    """A tool's failure that its framework has turned into a message already."""


def answer_text(outcome: Outcome) -> str:
    """The text that the model gets for an outcome: the value, or the status with its reason."""
    if outcome.status == "ok":
        return safe_str(outcome.value)
    if outcome.status == "previewed" and outcome.error is None:
        return f"[previewed] {safe_str(outcome.value)}"
    reason = (outcome.error or outcome.reason or "").partition("\n")[0]
    return f"[{outcome.status}] {reason.removeprefix('denied: ')}"


def question(outcome: Outcome) -> dict[str, Any]:
    """The question to an approver, as a framework's interruption carries it: JSON values."""
    data = outcome.to_json()
    return {name: data[name] for name in ("tool", "args", "reason", "matched_rules")}


async def undecided(**_: Any) -> None:
    """Stands for the tool where a call is only decided. Raises `AssertionError`."""
    raise AssertionError("a decision runs nothing")


def in_callers_loop(run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return `run` as a function that runs in the event loop of this caller, whichever loop the guard has."""
    home = asyncio.get_running_loop()

    async def call(**args: Any) -> Any:
        if asyncio.get_running_loop() is home:
            return await run(**args)

        async def work() -> Any:
            return await run(**args)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), home))

    return call


def grants(answer: object) -> bool:
    """True for an answer that `GivenAnswers` can read as a grant; the rule may still refuse the approver."""
    answers = answer if isinstance(answer, Sequence) and not isinstance(answer, (str, bytes)) else [answer]
    return bool(answers) and all(isinstance(each, Mapping) and each.get("granted") is True for each in answers)


class GivenAnswers:
    """An approval handler that answers with what an interruption brought, in order; without more answers it refuses.

    An answer is a mapping: `granted` (exactly true grants), `approver`, and `reason` or `args`. Several approvals are a
    list of them.
    """

    def __init__(self, answer: object) -> None:
        several = isinstance(answer, Sequence) and not isinstance(answer, (str, bytes))
        self._answers = list(answer) if several else [answer]  # type: ignore[call-overload]

    async def __call__(self, _: ApprovalRequest, /) -> ApprovalDecision:
        """Answer one approval."""
        answer = self._answers.pop(0) if self._answers else None
        if not isinstance(answer, Mapping):
            return ApprovalDecision(False, "system", "the answer is not a mapping with `granted` and `approver`")
        granted, approver = answer.get("granted"), answer.get("approver", "")
        if granted is not True or not isinstance(approver, str) or not approver:
            return ApprovalDecision(False, safe_str(approver) or "system", safe_str(answer.get("reason", "")))
        return ApprovalDecision(True, approver, args=answer.get("args"))
