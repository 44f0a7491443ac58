"""PydanticAI: an agent with the capability and a function as its model."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bobcat.guards.pydantic_ai import GuardedTools
from doors.adapter import Observed, Setup

PREFIX = ""
INTERRUPTS = True
MODES = [("async", "async"), ("async", "plain"), ("sync", "plain")]


def model(turns: Any) -> FunctionModel:
    """A model that proposes the calls of its turns, and then says `done`."""

    def answer(messages: list[Any], _: AgentInfo) -> ModelResponse:
        turn = sum(isinstance(each, ModelResponse) for each in messages)
        if turn >= len(turns):
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart(each.tool, dict(each.args), tool_call_id=each.id) for each in turns[turn]])

    return FunctionModel(answer)


def _agent(setup: Setup) -> tuple[Any, GuardedTools]:
    door = GuardedTools(setup.guard)
    options: Any = {"capabilities": [door], "output_type": [str, DeferredToolRequests]}
    return Agent(model(setup.turns), tools=list(setup.functions), **options), door


async def _answers(setup: Setup, door: GuardedTools, requests: Any, observed: Observed) -> Any:
    """Note the questions and answer them; return the results to continue with, None where an answer is missing."""
    observed.questions += [requests.metadata[each.tool_call_id] for each in requests.approvals]
    if not all(each.tool_name in setup.answers for each in requests.approvals):
        observed.pending = True
        return None
    return await door.answer(
        requests, {each.tool_call_id: setup.answers[each.tool_name] for each in requests.approvals}
    )


def _finish(observed: Observed, result: Any) -> Observed:
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                observed.replies.append((part.tool_call_id, part.model_response_str()))
            elif isinstance(part, RetryPromptPart):
                observed.replies.append((part.tool_call_id, part.model_response()))
    observed.final = result.output
    return observed


async def run(setup: Setup) -> Observed:
    """Run the agent, answering deferred calls."""
    observed = Observed()
    try:
        agent, door = _agent(setup)
        result = await agent.run("go")
        while isinstance(result.output, DeferredToolRequests):
            results = await _answers(setup, door, result.output, observed)
            if results is None:
                return observed
            result = await agent.run(message_history=result.all_messages(), deferred_tool_results=results)
    except Exception as error:
        observed.error = error
        return observed
    return _finish(observed, result)


def run_sync(setup: Setup) -> Observed:
    """Run the agent synchronously."""
    observed = Observed()
    try:
        agent, door = _agent(setup)
        result = agent.run_sync("go")
        while isinstance(result.output, DeferredToolRequests):
            results = asyncio.run(_answers(setup, door, result.output, observed))
            if results is None:
                return observed
            result = agent.run_sync(message_history=result.all_messages(), deferred_tool_results=results)
    except Exception as error:
        observed.error = error
        return observed
    return _finish(observed, result)
