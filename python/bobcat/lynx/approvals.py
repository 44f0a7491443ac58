"""Approval handlers, under lynx-agent's path."""

from bobcat import approvals
from bobcat.approvals import ApprovalHandler, auto_deny, callback_approval, cli_prompt_approval
from bobcat.model.run import (
    ApprovalDecision as ApprovalDecision,  # importable from here, but not in `__all__`, as in lynx
)
from bobcat.model.run import ApprovalRequest as ApprovalRequest

__all__ = [
    "ApprovalHandler",
    "auto_approve",
    "auto_deny",
    "callback_approval",
    "cli_prompt_approval",
]


def auto_approve(approver: str = "auto") -> ApprovalHandler:
    """Return a handler that grants every request as `approver`."""
    return approvals.auto_approve(approver)
