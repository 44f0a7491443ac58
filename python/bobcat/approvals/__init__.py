"""Approvals: the handlers that a run asks, grants given ahead of time, and the checks an answer must pass.

`ask` is for the kernel; everything else is for whoever writes a program.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bobcat.approvals.asking import DEFAULT_TIMEOUT_SECONDS, Answer, approval_timeout, ask, ask_loosely, check
from bobcat.approvals.handlers import (
    ApprovalHandler,
    Pending,
    all_approve,
    auto_approve,
    auto_deny,
    callback_approval,
    cli_prompt_approval,
)
from bobcat.approvals.scope import current_scope, scope

if TYPE_CHECKING:
    from bobcat.approvals.allowlist import Allowlist
    from bobcat.approvals.desk import Answered, Approvals, Damaged, Listing
    from bobcat.approvals.durable import DurableApprovals, durable_approvals
    from bobcat.approvals.gate import ConfirmationGate
    from bobcat.approvals.grants import Grant
    from bobcat.approvals.record import Approval, GivenAnswer
    from bobcat.approvals.stored_gate import StoredConfirmationGate

__all__ = [
    "DEFAULT_TIMEOUT_SECONDS",
    "Allowlist",
    "Answer",
    "Answered",
    "Approval",
    "ApprovalHandler",
    "Approvals",
    "ConfirmationGate",
    "Damaged",
    "DurableApprovals",
    "GivenAnswer",
    "Grant",
    "Listing",
    "Pending",
    "StoredConfirmationGate",
    "all_approve",
    "approval_timeout",
    "ask",
    "ask_loosely",
    "auto_approve",
    "auto_deny",
    "callback_approval",
    "check",
    "cli_prompt_approval",
    "current_scope",
    "durable_approvals",
    "scope",
]

_LATER = {
    "Allowlist": "bobcat.approvals.allowlist",
    "Answered": "bobcat.approvals.desk",
    "Approval": "bobcat.approvals.record",
    "Approvals": "bobcat.approvals.desk",
    "ConfirmationGate": "bobcat.approvals.gate",
    "Damaged": "bobcat.approvals.desk",
    "DurableApprovals": "bobcat.approvals.durable",
    "GivenAnswer": "bobcat.approvals.record",
    "Grant": "bobcat.approvals.grants",
    "Listing": "bobcat.approvals.desk",
    "StoredConfirmationGate": "bobcat.approvals.stored_gate",
    "durable_approvals": "bobcat.approvals.durable",
}
"""Names that most runs never ask for, and where they live."""


def __getattr__(name: str) -> Any:  # Any: type checkers see the imports above
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
