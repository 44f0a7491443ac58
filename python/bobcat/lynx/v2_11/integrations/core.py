"""`ToolGuard`, under lynx-agent's path: decide and execute one call of a loop that a framework drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.executors import Executor
from bobcat.lynx.core.types import new_correlation_id
from bobcat.lynx.v2_11.core.types import ActionResult, Decision
from bobcat.lynx.v2_11.governing import (
    INVALID_ARGUMENTS,
    UNDECLARED,
    UNKNOWN_TOOL,
    Governor,
    decision_body,
    denial,
    shown_args,
)
from bobcat.model.decision import ActionRequest, Principal
from bobcat.sinks import AnySink
from bobcat.tools.toolset import ToolSet

__all__ = ["GovernedCall", "ToolGuard"]


@dataclass(frozen=True, slots=True)
class GovernedCall:
    """A call that was governed: the policy's decision, the result of its execution or its refusal, the request."""

    decision: Decision
    result: ActionResult
    request: ActionRequest

    @property
    def allowed(self) -> bool:
        """True when the call was executed, or previewed, without a failure."""
        return self.result.ok is True


class ToolGuard:
    """Governs single calls. `on_approval` answers approvals; without it they are refused.

    Raises `TypeError` for arguments of the wrong type.
    """

    def __init__(
        self,
        *,
        tools: ToolSet,
        policy: Policy,
        principal: Principal = Principal("user", "anonymous"),  # noqa: B008 - a frozen value
        environment: str = "dev",
        workspace: str = ".",
        on_approval: ApprovalHandler | None = None,
        executor: Executor | None = None,
        sinks: Sequence[AnySink] = (),
        correlation_id: str | None = None,
    ) -> None:
        self._governor = Governor(
            policy=policy, tools=tools, sinks=sinks, on_approval=on_approval,
            no_approval="no on_approval handler configured", principal=principal, environment=environment,
            workspace=workspace, correlation_id=correlation_id or new_correlation_id(), executor=executor,
        )  # fmt: skip
        self._calls = 0

    @property
    def correlation_id(self) -> str:
        """The id that all events of this guard carry."""
        return self._governor.correlation_id

    async def check(
        self,
        tool_name: str,
        args: Mapping[str, object],
        *,
        extra: Mapping[str, object] | None = None,
    ) -> GovernedCall:
        """Decide a call, and execute it if the decision permits.

        A call of an unknown tool, and one whose arguments cannot be used, is denied. `extra` are facts for rules, as
        `context.extra`. Raises `TypeError` for `args` that are no mapping.
        """
        if not isinstance(args, Mapping):
            raise TypeError(f"args must be a mapping, got {type(args).__name__}")
        tool = self._governor.tools.tools.get(tool_name)
        if tool is None:
            return await self._refuse(tool_name, args, f"unknown tool: {tool_name!r}", UNKNOWN_TOOL, extra)
        number = await self._propose(tool_name, args)
        request, problem = self._governor.request(tool_name, args, tool.metadata, number, extra)
        if problem is not None:
            return await self._end_refused(request, problem, INVALID_ARGUMENTS)
        decision = self._governor.decide(request)
        await self._emit_decision(number, decision)
        result = await self._governor.enforce(request, decision)
        await self._governor.emit(
            "action.completed" if result.ok else "action.failed",
            {"seq": number, "tool": tool_name, "verdict": decision.verdict.value, "ok": result.ok},
        )
        return GovernedCall(decision, result, request)

    async def reject(self, tool_name: str, args: Mapping[str, Any], reason: str) -> GovernedCall:
        """Deny a call whose arguments are not usable, with its events. An addition to lynx-agent's methods."""
        return await self._refuse(tool_name, args, reason, INVALID_ARGUMENTS, None)

    async def _refuse(
        self, tool_name: str, args: Mapping[str, Any], reason: str, marker: str, extra: Mapping[str, Any] | None
    ) -> GovernedCall:
        number = await self._propose(tool_name, args)
        request, _ = self._governor.request(tool_name, args, UNDECLARED, number, extra)
        return await self._end_refused(request, reason, marker)

    async def _end_refused(self, request: ActionRequest, reason: str, marker: str) -> GovernedCall:
        number, decision = request.context.step_seq, denial(reason, marker)
        await self._emit_decision(number, decision)
        await self._governor.emit("action.failed", {"seq": number, "tool": request.tool, "reason": reason})
        return GovernedCall(decision, ActionResult(False, error=reason), request)

    async def _propose(self, tool_name: str, args: Mapping[str, Any]) -> int:
        number = self._calls
        self._calls += 1
        await self._governor.emit("step.proposed", {"seq": number, "tool": tool_name, "args": shown_args(args)})
        return number

    async def _emit_decision(self, number: int, decision: Decision) -> None:
        await self._governor.emit("policy.evaluated", {"seq": number, **decision_body(decision)})
