"""Defaults of a request: the most restrictive declaration of a tool, and an anonymous user.

`Request` and `request_from_json` use them; `evaluate_json` of the core has the same ones. `docs/reference/requests.md`
lists them.
"""

from __future__ import annotations

from datetime import UTC, datetime

from bobcat.model.decision import ExecutionContext, Principal, ToolMetadata
from bobcat.model.frozen import FrozenDict

DECLARED = ToolMetadata(cost="high", reversible=False, scope=())
"""The declaration of a tool without one."""

CONTEXT = ExecutionContext(
    principal=Principal("user", "anonymous"),
    environment="dev",
    workspace=".",
    correlation_id="",
    step_seq=0,
    timestamp=datetime(1970, 1, 1, tzinfo=UTC),
    extra=FrozenDict(),
)
"""The context of a call without one."""
