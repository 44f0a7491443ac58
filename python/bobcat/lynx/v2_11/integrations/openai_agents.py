"""Tools of the OpenAI Agents SDK whose calls a `ToolGuard` governs, under lynx-agent's path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bobcat.adapters.arguments import read_arguments
from bobcat.approvals import ApprovalHandler
from bobcat.bundle import Policy
from bobcat.executors import Executor
from bobcat.lynx.adapters._schema import tooldef_to_json_schema
from bobcat.lynx.v2_11.governing import value_text
from bobcat.lynx.v2_11.integrations.core import GovernedCall, ToolGuard
from bobcat.model.decision import Principal, Verdict
from bobcat.model.run import ToolDef
from bobcat.sinks import AnySink
from bobcat.tools.toolset import ToolSet

if TYPE_CHECKING:
    from agents import FunctionTool

__all__ = ["governed_function_tools", "render_result"]


def render_result(call: GovernedCall) -> str:
    """The text that the model gets for a call: a string as it is, nothing for None, else JSON or the `repr`.

    A call that did not run is `[denied] why`, one whose tool failed `[error] why`.
    """
    result = call.result
    if not result.ok:
        error = result.error or "no reason given"
        denied = call.decision.verdict is Verdict.DENY or error.startswith("denied")
        return f"[denied] {error}" if denied else f"[error] {error}"
    return value_text(result.value)


def governed_function_tools(
    tools: ToolSet,
    *,
    policy: Policy,
    principal: Principal | None = None,
    environment: str = "dev",
    workspace: str = ".",
    on_approval: ApprovalHandler | None = None,
    executor: Executor | None = None,
    sinks: Sequence[AnySink] = (),
    guard: ToolGuard | None = None,
) -> list[FunctionTool]:
    """Build the tools of a set for an agent of the OpenAI Agents SDK: `Agent(tools=...)`.

    All calls pass `guard`, or one that is made of the other arguments. The SDK has a door of Bobcat's own, too:
    `docs/how-to/guard-a-framework.md`. Raises `ImportError` without the SDK.
    """
    try:
        from agents import FunctionTool
    except ModuleNotFoundError as error:
        if error.name != "agents":
            raise
        raise ImportError(
            "governed_function_tools requires the OpenAI Agents SDK. Install with: pip install openai-agents"
        ) from error
    used = guard or ToolGuard(
        tools=tools, policy=policy, principal=principal or Principal("user", "anonymous"), environment=environment,
        workspace=workspace, on_approval=on_approval, executor=executor, sinks=sinks,
    )  # fmt: skip
    return [_function_tool(FunctionTool, used, tools.get(name)) for name in tools.names()]


def _function_tool(function_tool: type[FunctionTool], guard: ToolGuard, tool: ToolDef) -> FunctionTool:
    async def invoke(_: Any, sent: str) -> str:  # Any: the SDK's context of the call
        args, problem = read_arguments(sent)
        if problem is not None:
            return render_result(await guard.reject(tool.name, args, problem))
        return render_result(await guard.check(tool.name, args))

    return function_tool(
        name=tool.name,
        description=tool.description or "",
        params_json_schema=tooldef_to_json_schema(tool),
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
