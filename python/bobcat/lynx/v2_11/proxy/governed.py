"""Governed calls of an MCP server. New programs use `bobcat proxy`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.executors import Executor
from bobcat.lynx.v2_11.core.types import ActionResult
from bobcat.lynx.v2_11.governing import INVALID_ARGUMENTS, UNKNOWN_TOOL, Governor, decision_body, denial
from bobcat.model.decision import Principal, ToolMetadata
from bobcat.model.frozen import FrozenDict
from bobcat.model.run import ToolDef
from bobcat.sinks import AnySink
from bobcat.tools.toolset import ToolSet

# Any: arguments and results of any tool.
UpstreamCaller: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Calls a tool of the server, by name and arguments."""
CLIENT = Principal("agent", "mcp-client")


@dataclass(frozen=True, slots=True)
class ToolClassifier:
    """Declares the tools of a server: all alike, with the scope `mcp:NAME` added, but for those in `overrides`."""

    cost: Literal["low", "medium", "high"] = "medium"
    reversible: bool = False
    scope: tuple[str, ...] = ("mcp:tool",)
    overrides: Mapping[str, ToolMetadata] = field(default_factory=FrozenDict)

    def __call__(self, name: str) -> ToolMetadata:
        """Return the declaration of a tool."""
        known = self.overrides.get(name)
        if known is not None:
            return known
        return ToolMetadata(self.cost, self.reversible, (*self.scope, f"mcp:{name}"), has_shadow=True)


default_classify = ToolClassifier()


@dataclass(frozen=True, slots=True)
class GovernResult:
    """Result of a governed call, and the verdict."""

    result: ActionResult
    verdict: str


class GovernedProxy(Governor):
    """Governs the calls of one client. Approvals without `on_approval` are refused.

    Raises `TypeError` for arguments of the wrong type.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        tools: ToolSet,
        sinks: Sequence[AnySink] = (),
        on_approval: ApprovalHandler | None = None,
        principal: Principal = CLIENT,
        environment: str = "dev",
        workspace: str = ".",
        correlation_id: str | None = None,
        executor: Executor | None = None,
    ) -> None:
        super().__init__(
            policy=policy, tools=tools, sinks=sinks, on_approval=on_approval,
            no_approval="no approval handler configured for MCP proxy", principal=principal, environment=environment,
            workspace=workspace, correlation_id=correlation_id or f"mcp-{uuid4().hex[:12]}", executor=executor,
        )  # fmt: skip
        self._steps = 0

    def next_step(self) -> int:
        """Count a call, from 1."""
        self._steps += 1
        return self._steps

    async def call(self, name: str, args: Mapping[str, Any]) -> GovernResult:
        """Decide a call, and execute it if the decision permits."""
        return await govern_call(self, name, args)


async def govern_call(proxy: GovernedProxy, name: str, args: Mapping[str, Any]) -> GovernResult:
    """Decide a call of a proxy, and execute it if the decision permits.

    A call of an unknown tool, and one whose arguments cannot be used, is denied. Raises `TypeError` for `args` that are
    no mapping.
    """
    if not isinstance(args, Mapping):
        raise TypeError(f"args must be a mapping, got {type(args).__name__}")
    return await govern_tool(proxy, proxy.tools.tools.get(name), name, args)


async def govern_tool(proxy: GovernedProxy, tool: ToolDef | None, name: str, args: Mapping[str, Any]) -> GovernResult:
    """`govern_call` with the tool that executes the call, None for an unknown one."""
    if tool is None:
        await _emit_denial(proxy, name, "unknown tool", UNKNOWN_TOOL)
        return GovernResult(ActionResult(False, error=f"unknown tool: {name!r}"), "deny")
    request, problem = proxy.request(name, args, tool.metadata, proxy.next_step())
    if problem is not None:
        await _emit_denial(proxy, name, problem, INVALID_ARGUMENTS)
        return GovernResult(ActionResult(False, error=f"denied: {problem}"), "deny")
    decision = proxy.decide(request)
    verdict = decision.verdict.value
    await proxy.emit("policy.evaluated", {"tool": name, **decision_body(decision)})
    await proxy.emit("action.dry_run" if verdict == "dry_run" else "action.started", {"tool": name, "verdict": verdict})
    asks = verdict == "approve_required"
    if asks:
        await proxy.emit("approval.requested", {"tool": name, "approvers": list(decision.approvers)})
    result = await proxy.enforce(request, decision, ToolSet({name: tool}))
    if asks:
        answered = {"tool": name, "ok": result.ok, "error": result.error}
        await proxy.emit("approval.granted" if result.ok else "approval.denied", answered)
    body: dict[str, Any] = {"tool": name, "verdict": verdict}
    if result.ok:
        kind = "action.dry_run_completed" if verdict == "dry_run" else "action.completed"
        await proxy.emit(kind, {**body, "duration_ms": result.duration_ms})
    else:
        kind = "action.denied" if asks or verdict == "deny" else "action.failed"
        await proxy.emit(kind, {**body, "reason": result.error})
    return GovernResult(result, verdict)


async def _emit_denial(proxy: GovernedProxy, name: str, reason: str, marker: str) -> None:
    await proxy.emit("policy.evaluated", {"tool": name, **decision_body(denial(reason, marker))})
    await proxy.emit("action.failed", {"tool": name, "reason": reason})


def build_toolset(
    names: Sequence[str], upstream: UpstreamCaller, classify: Callable[[str], ToolMetadata] = default_classify
) -> ToolSet:
    """Build a set of tools that `upstream` executes. Their previews show the call."""
    return ToolSet({name: _tool(name, upstream, classify(name)) for name in names})


def _tool(name: str, upstream: UpstreamCaller, metadata: ToolMetadata) -> ToolDef:
    async def call(**args: Any) -> Any:
        return await upstream(name, args)

    call.__qualname__ = f"mcp_proxy_tool[{name}]"
    return proxied_tool(name, call, metadata)


def proxied_tool(name: str, fn: Callable[..., Awaitable[Any]], metadata: ToolMetadata) -> ToolDef:
    """Build the definition of a server's tool that `fn` executes."""

    async def shadow(**args: Any) -> dict[str, Any]:
        return {"would_call": name, "args": args}

    shadow.__qualname__ = f"mcp_proxy_shadow[{name}]"
    return ToolDef(name, f"MCP tool (proxied): {name}", fn, shadow, metadata)
