"""Approval handlers, under lynx-agent's path."""

from bobcat.approvals import ApprovalHandler, auto_approve, auto_deny, callback_approval, cli_prompt_approval
from bobcat.model import ApprovalDecision, ApprovalRequest

__all__ = [
    "ApprovalDecision",
    "ApprovalHandler",
    "ApprovalRequest",
    "auto_approve",
    "auto_deny",
    "callback_approval",
    "cli_prompt_approval",
]
