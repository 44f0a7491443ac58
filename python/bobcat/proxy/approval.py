"""Approvals by elicitation: the client shows the question to its user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bobcat.model.run import ApprovalDecision, ApprovalRequest
from bobcat.proxy.message import Message
from bobcat.text.display import safe_args, safe_name, safe_text

MAX_VALUE_CHARS = 2_000
SCHEMA = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Approve", "description": "Run the tool with these arguments"},
    },
    "required": ["approve"],
}

AskClient = Callable[[str, "dict[str, Any]"], Awaitable[Message]]  # Any: JSON


class Elicitation:
    """An approval handler that asks the client. Only an accepted form with `approve: true` grants."""

    def __init__(self, ask: AskClient, approver: str) -> None:
        self._ask = ask
        self._approver = approver

    async def __call__(self, req: ApprovalRequest, /) -> ApprovalDecision:
        """Ask one approval."""
        answer = await self._ask("elicitation/create", {"message": question(req), "requestedSchema": SCHEMA})
        if not answer.has("result"):
            return ApprovalDecision(False, self._approver, "the client could not ask")
        return decision(answer.mapping("result"), self._approver)


def decision(answer: dict[str, Any], approver: str) -> ApprovalDecision:  # Any: JSON
    """The decision in an answer to an elicitation."""
    content = answer.get("content")
    if answer.get("action") == "accept" and isinstance(content, dict) and content.get("approve") is True:
        return ApprovalDecision(True, approver)
    return ApprovalDecision(False, approver, "the user did not approve")


def question(req: ApprovalRequest) -> str:
    """The question, with every argument in full, or cut visibly."""
    return question_text(req.request.tool, req.request.args, req.decision.reason, uncertain=req.uncertain)


def question_text(tool: str, args: Mapping[str, Any], reason: str, *, uncertain: bool = False) -> str:
    """The question about a call."""
    lines = [f"The policy asks for an approval of `{safe_name(tool)}`."]
    if reason:
        lines.append(f"Reason: {safe_text(reason, limit=MAX_VALUE_CHARS)}")
    if uncertain:
        lines.append("An earlier attempt may have taken effect: an approval can make it happen twice.")
    lines += safe_args(args, limit=MAX_VALUE_CHARS)
    return "\n".join(lines)
