"""The executor contract."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from bobcat.model import ActionRequest, ActionResult, ToolDef


@runtime_checkable
class Executor(Protocol):
    """Runs one permitted action. `request.args` are the effective arguments, a fresh copy the tool may keep, and what
    the tool's effect has the run give it: `idempotency_key`, `fence`, `transaction`.

    A failure is an `ActionResult` with `ok` false; an exception is turned into one by the mediator.
    """

    def __call__(self, request: ActionRequest, tool: ToolDef, /) -> Awaitable[ActionResult]:
        """Run the action and say how it came out."""
