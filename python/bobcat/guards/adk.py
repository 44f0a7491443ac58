"""Google ADK: a plugin of a runner that puts a `Guard` in front of the tools of all its agents.

    runner = Runner(app=App(name="app", root_agent=agent, plugins=[GuardPlugin(guard)]), session_service=sessions)

The guard decides and records; ADK runs the tool. A call that needs an approval requests a tool confirmation, which is
answered with `confirmed` and the payload `{"granted": True, "approver": "alice"}`. A fault of the guard is an error for
the model, and the tool does not run.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from bobcat.guard import Guard
from bobcat.guards.answers import GivenAnswers, answer_text, question
from bobcat.guards.split_call import SplitCall, decide
from bobcat.text.json_text import format_exception
from bobcat.tools.function_schema import function_schema

try:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.function_tool import FunctionTool
    from google.adk.tools.tool_context import ToolContext
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[adk]'`", name=error.name) from error

Execute = Callable[..., Awaitable[Any]]  # Any: results of tools have any type


class GuardPlugin(BasePlugin):
    """Gates the tools of a runner where they run, after all callbacks and confirmations of ADK.

    Without `interrupts`, the guard's `on_approval` answers approvals. An agent with tools that the model's provider
    runs, or with a code executor, is refused, because no callback sees their calls; `hosted_tools=True` permits it.
    """

    def __init__(
        self, guard: Guard, *, interrupts: bool = True, hosted_tools: bool = False, name: str = "bobcat"
    ) -> None:
        super().__init__(name)
        self._guard = guard
        self._interrupts = interrupts
        self._hosted_tools = hosted_tools

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Refuse a request with tools that no callback sees."""
        if self._hosted_tools:
            return
        hosted = [kind for each in llm_request.config.tools or () for kind in _hosted(each)]
        agent = callback_context.get_invocation_context().agent
        if getattr(agent, "code_executor", None) is not None:
            hosted.append("code_executor")
        if hosted:
            raise PermissionError(f"the guard does not see these tools: {', '.join(sorted(set(hosted)))}")

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Put the gate into the tool."""
        if inspect.isasyncgenfunction(getattr(tool, "func", None)):
            return _error("[failed] the guard cannot gate a streaming tool")
        if not isinstance(getattr(tool.run_async, "__self__", None), _Gate):
            tool.run_async = _Gate(tool).run_async
        return None

    async def execute(self, tool: BaseTool, execute: Execute, args: dict[str, Any], context: ToolContext) -> Any:
        """Decide a call, and execute it if that is permitted."""
        try:
            call = await self._begin(tool, args, context)
        except Exception as error:
            return _error(f"[failed] {format_exception(error)}")
        if not isinstance(call, SplitCall):
            return call
        try:
            value = await execute(args=call.args, tool_context=context)
            await call.end(value)
            return value
        except Exception as error:
            await call.end(format_exception(error), failed=True)
            raise
        finally:
            await call.abandon()

    async def _begin(self, tool: BaseTool, args: dict[str, Any], context: ToolContext) -> SplitCall | dict[str, Any]:
        """The call that may run, or the answer to the model."""
        schema = _schema(tool)
        options: dict[str, Any] = {}
        if self._interrupts:
            decided = await decide(self._guard, tool.name, args, schema=schema)
            if decided.status == "waiting":
                answer = context.tool_confirmation
                if answer is None:
                    asked = question(decided)
                    context.request_confirmation(hint=decided.reason or f"approve {tool.name}", payload=asked)
                    context.actions.skip_summarization = True
                    return _error("[waiting] this call needs an approval")
                given = answer.payload if answer.confirmed else {"granted": False, **_mapping(answer.payload)}
                options["on_approval"] = GivenAnswers(given)
        call = await SplitCall.begin(self._guard, tool.name, args, schema=schema, **options)
        return call if call.outcome is None else _error(answer_text(call.outcome))


class _Gate:
    """Takes the place of a tool's `run_async`: asks the plugin of the runner that the call belongs to."""

    def __init__(self, tool: BaseTool) -> None:
        self._tool = tool
        self._execute = tool.run_async

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        plugins = tool_context.get_invocation_context().plugin_manager.plugins
        guards = [each for each in plugins if isinstance(each, GuardPlugin)]
        execute: Execute = self._execute
        for guard in reversed(guards):
            execute = _guarded(guard, self._tool, execute)
        return await execute(args=args, tool_context=tool_context)


def _guarded(guard: GuardPlugin, tool: BaseTool, execute: Execute) -> Execute:
    async def call(*, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return await guard.execute(tool, execute, args, tool_context)

    return call


def _schema(tool: BaseTool) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    if isinstance(tool, FunctionTool):
        return function_schema(tool.func, given=tool._ignore_params)
    declared = tool._get_declaration()
    if declared is None:
        return {}
    if declared.parameters_json_schema is not None:
        return dict(declared.parameters_json_schema)
    if declared.parameters is None:
        return {}
    return dict(declared.parameters.json_schema.model_dump(mode="json", exclude_none=True))


def _hosted(tool: Any) -> list[str]:
    """The kinds of tools in an entry of a request that the model's provider runs."""
    if callable(tool):
        return [getattr(tool, "__name__", "callable")]
    kinds = tool.model_fields_set if hasattr(tool, "model_fields_set") else {type(tool).__name__}
    return [each for each in kinds if each != "function_declarations" and getattr(tool, each, tool) is not None]


def _mapping(payload: object) -> dict[str, Any]:
    return {name: each for name, each in payload.items() if name != "granted"} if isinstance(payload, dict) else {}


def _error(text: str) -> dict[str, Any]:
    return {"error": text}
