"""The executor contract."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef


@runtime_checkable
class Executor(Protocol):
    """Runs one permitted action.

    `request.args` are the effective arguments, in a fresh copy that the tool may keep, with the values that the tool's
    effect requires from the run: `idempotency_key`, `fence`, `transaction`. A failure is an `ActionResult` with `ok`
    false; the mediator converts an exception into one.
    """

    def __call__(self, request: ActionRequest, tool: ToolDef, /) -> Awaitable[ActionResult]:
        """Run the action and return its outcome."""
