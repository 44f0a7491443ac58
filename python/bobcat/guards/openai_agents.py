"""OpenAI Agents SDK: an agent whose tool calls pass a `Guard`.

    agent = GuardedAgent(name="clerk", tools=[search, pay], guard=guard)
    result = await Runner.run(agent, "Pay order 7")

The guard decides and records; the SDK runs the tool. A call that needs an approval is one of `result.interruptions`,
which `answer_approval` answers. Tools of MCP servers are guarded, too. Tools that OpenAI's servers execute, and those
whose execution this door does not see, are refused.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, replace
from typing import Any

from bobcat.guard import Guard
from bobcat.guards.answers import GivenAnswers, answer_text, grants, in_callers_loop, undecided
from bobcat.text.json_text import json_text

try:
    from agents import Agent, FunctionTool, Handoff, RunState, ToolApprovalItem
    from agents.exceptions import UserError
    from agents.tool import (
        maybe_invoke_function_tool_failure_error_function,
        set_function_tool_failure_error_function,
    )
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[openai-agents]'`", name=error.name) from error


@dataclass
class GuardedAgent(Agent[Any]):
    """An `Agent` with a guard in front of its tools. Agents that it hands over to must be guarded as well.

    `approver` is the name that a bare `state.approve(item)` counts for. Without it only `answer_approval` grants.
    """

    guard: Guard | None = None
    approver: str = ""
    answers: dict[str, Any] = field(default_factory=dict, repr=False)
    """Answers to approvals, by call, until they are used."""

    def __post_init__(self) -> None:
        if not isinstance(self.guard, Guard):
            raise TypeError(f"guard must be a Guard, got {type(self.guard).__name__}")
        super().__post_init__()
        self.tools = [self._gated(each) for each in self.tools]  # type: ignore[has-type]
        self._check_handoffs()

    async def get_all_tools(self, run_context: Any) -> list[Any]:
        """Return the tools of this turn, those of MCP servers included, each with the guard in front."""
        self._check_handoffs()
        return [self._gated(each) for each in await super().get_all_tools(run_context)]

    def _gated(self, tool: Any) -> FunctionTool:
        if not isinstance(tool, FunctionTool):
            name = getattr(tool, "name", type(tool).__name__)
            raise UserError(f"tool {name!r} cannot be guarded: its calls do not pass this program, or not this door")
        assert self.guard is not None
        if isinstance(tool.on_invoke_tool, _Gate) and tool.on_invoke_tool.guard is self.guard:
            return tool
        if getattr(tool, "_is_agent_tool", False) and not isinstance(
            getattr(tool, "_agent_instance", None), GuardedAgent
        ):
            raise UserError(f"tool {tool.name!r} is an agent without a guard: make it a GuardedAgent")
        gate = _Gate(tool, self.guard, self.approver, self.answers)
        gated = copy.copy(tool)
        gated.on_invoke_tool, gated.needs_approval = gate, gate.needs_approval
        return gated

    def _check_handoffs(self) -> None:
        for at, each in enumerate(self.handoffs):
            if isinstance(each, Handoff):
                if not isinstance(each.on_invoke_handoff, _CheckedHandoff):
                    self.handoffs[at] = replace(each, on_invoke_handoff=_CheckedHandoff(each.on_invoke_handoff))
            elif not isinstance(each, GuardedAgent):
                raise UserError(f"agent {each.name!r} has no guard: make it a GuardedAgent")


class _CheckedHandoff:
    """Hands over to a guarded agent only."""

    def __init__(self, invoke: Any) -> None:
        self._invoke = invoke

    async def __call__(self, context: Any, arguments: str) -> Any:
        agent = await self._invoke(context, arguments)
        if not isinstance(agent, GuardedAgent):
            raise UserError(f"agent {agent.name!r} has no guard: make it a GuardedAgent")
        return agent


class _Gate:
    """In place of a tool's own invocation: submits the call, and invokes the tool if that is permitted."""

    def __init__(self, tool: FunctionTool, guard: Guard, approver: str, answers: dict[str, Any]) -> None:
        self.guard = guard
        self._tool = tool
        self._approver = approver
        self._answers = answers
        # The original turns exceptions into messages: the guard must see them.
        self._raising = set_function_tool_failure_error_function(copy.copy(tool), None)

    async def needs_approval(self, context: Any, args: dict[str, Any], call_id: str) -> bool:
        """True for a call that the policy, or the tool's own setting, wants to have approved."""
        own = self._tool.needs_approval
        if own if isinstance(own, bool) else await own(context, args, call_id):
            return True
        return (await self.guard.check(self._tool.name, args, run=undecided)).status == "waiting"

    async def __call__(self, context: Any, arguments: str) -> Any:
        args = _parsed(arguments)
        results: list[Any] = []
        raised: list[Exception] = []

        async def run(**effective: Any) -> Any:
            try:
                results.append(await self._raising.on_invoke_tool(context, json_text(effective)))
            except Exception as error:
                raised.append(error)
                raise
            return results[-1]

        options = self._approval(context, arguments)
        outcome = await self.guard.submit(self._tool.name, args, run=in_callers_loop(run), **options)
        if outcome.ok and results:
            return results[-1]
        if outcome.status == "failed" and raised:
            text = await maybe_invoke_function_tool_failure_error_function(
                function_tool=self._tool, context=context, error=raised[-1]
            )
            if text is None:
                raise raised[-1]
            return text
        return answer_text(outcome)

    def _approval(self, context: Any, arguments: str) -> dict[str, Any]:
        answer = self._answers.pop(_identity(context.tool_call_id, arguments), None)
        if answer is None and self._approver and context.is_tool_approved(self._tool.name, context.tool_call_id):
            answer = {"granted": True, "approver": self._approver}
        return {} if answer is None else {"on_approval": GivenAnswers(answer)}


async def answer_approval(state: RunState[Any], item: ToolApprovalItem, answer: object) -> None:
    """Answer an interruption of a guarded agent; run the agent with `state` afterwards.

    `answer` is a mapping: `granted` (exactly True grants), `approver`, and `reason` or other `args`, which are decided
    again; where a rule needs several approvers, a list of them. A refusal is recorded at once.

    Raises `TypeError` for an item of another agent.
    """
    agent, name, arguments = item.agent, item.tool_name, item.arguments
    if not isinstance(agent, GuardedAgent) or agent.guard is None or name is None or arguments is None:
        raise TypeError("the item is not a tool call of a GuardedAgent")
    call_id = item.call_id
    if grants(answer) and call_id:
        agent.answers[_identity(call_id, arguments)] = answer
        state.approve(item)
        return
    outcome = await agent.guard.submit(name, _parsed(arguments), run=undecided, on_approval=GivenAnswers(answer))
    state.reject(item, rejection_message=answer_text(outcome))


def _parsed(arguments: str) -> Any:
    """The arguments as JSON, or their text, which the guard refuses."""
    try:
        return json.loads(arguments) if arguments else {}
    except (ValueError, RecursionError):
        return arguments


def _identity(call_id: str, arguments: str) -> str:
    return json_text([call_id, arguments])
