"""The values, under lynx-agent's path and with its defaults: `Budget()` has no limits.

All other types are those of `bobcat.model` and `bobcat.tools`. Some have additional fields after lynx-agent's,
with defaults: `ToolCall` (`text`, `problem`), `ApprovalDecision` (`args`), `ApprovalRequest` (`run_id`, `bundle_id`,
`round`, `granted_by`), `Decision` (`approvals_needed`, `obligations`), `RunResult` (`approvals`), `ToolDef`
(`reconcile_fn`) and `ToolMetadata` (`effect`). Here requests, decisions and results never set them, and no policy of
the `lynx` profile sees an effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import uuid4

from bobcat.model import run
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Principal, ToolMetadata, Verdict
from bobcat.model.run import (
    ActionResult,
    ApprovalDecision,
    ApprovalRequest,
    AuditEvent,
    FinalAnswer,
    Message,
    RunResult,
    ToolCall,
    ToolDef,
    Usage,
)
from bobcat.text.json_text import loose_json_text
from bobcat.tools.toolset import ToolSet

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
class Budget(run.Budget):
    """Limits of a run; only the given limits apply."""

    duration_seconds: int | float | None = None
    steps: int | None = None
    cost: ClassVar[None] = None  # type: ignore[misc]  # no field: lynx-agent has no ledger


def canonical_json(obj: Any) -> str:  # Any: every value has a text
    """Return JSON with sorted keys, no white space, ASCII; values without a JSON form as their `repr`."""
    return loose_json_text(obj)


def now_utc() -> datetime:
    """Return the current time with a time zone."""
    return datetime.now(UTC)


def new_correlation_id() -> str:
    """Return a unique name for one run."""
    return str(uuid4())
