"""The values, under lynx-agent's path and with its defaults: `Budget()` caps nothing.

Everything else is `bobcat.model`'s and `bobcat.tools`' own type. Some have more fields than there, behind theirs and
with defaults: `ToolCall` (`text`, `problem`), `ApprovalDecision` (`args`), `ApprovalRequest` (`run_id`, `bundle_id`,
`round`, `granted_by`), `Decision` (`approvals_needed`), `RunResult` (`approvals`), `ToolDef` (`reconcile_fn`) and
`ToolMetadata` (`effect`). Here requests, decisions and results never have theirs set, and no policy of the `lynx`
profile finds an effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from bobcat import model
from bobcat.model import (
    ActionRequest,
    ActionResult,
    ApprovalDecision,
    ApprovalRequest,
    AuditEvent,
    Decision,
    ExecutionContext,
    FinalAnswer,
    Message,
    Principal,
    RunResult,
    ToolCall,
    ToolDef,
    ToolMetadata,
    Usage,
    Verdict,
)
from bobcat.plain_json import loose_json_text
from bobcat.tools import ToolSet

__all__ = [
    "ActionRequest",
    "ActionResult",
    "ApprovalDecision",
    "ApprovalRequest",
    "AuditEvent",
    "Budget",
    "Decision",
    "ExecutionContext",
    "FinalAnswer",
    "Message",
    "Principal",
    "RunResult",
    "ToolCall",
    "ToolDef",
    "ToolMetadata",
    "ToolSet",
    "Usage",
    "Verdict",
    "canonical_json",
    "new_correlation_id",
    "now_utc",
]


@dataclass(frozen=True, slots=True)
class Budget(model.Budget):
    """What a run may use up; only the caps that are given count."""

    duration_seconds: int | float | None = None
    steps: int | None = None


def canonical_json(obj: Any) -> str:  # Any: every value has a text
    """Sorted keys, no white space, ASCII; what JSON has no form for as its `repr`."""
    return loose_json_text(obj)


def now_utc() -> datetime:
    """The time, aware of its zone."""
    return datetime.now(UTC)


def new_correlation_id() -> str:
    """A name for one run that no other run has."""
    return str(uuid4())
