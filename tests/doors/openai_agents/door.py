"""OpenAI Agents SDK: a guarded agent with the SDK's scripted model."""

from __future__ import annotations

import json
from typing import Any

from agents import Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from bobcat.guards.openai_agents import GuardedAgent, answer_approval
from doors.adapter import Observed, Proposal, Setup

PREFIX = ""
INTERRUPTS = True
MODES = [("async", "async"), ("async", "plain"), ("sync", "plain")]
SKIPS = {"ids that a model uses again": "the SDK invokes a tool once for each call id"}
set_tracing_disabled(True)
DONE = ResponseOutputMessage(
    id="m",
    type="message",
    role="assistant",
    status="completed",
    content=[ResponseOutputText(type="output_text", text="done", annotations=[])],
)


def proposed(call: Proposal) -> ResponseFunctionToolCall:
    """A call as the model's output has it."""
    return ResponseFunctionToolCall(
        type="function_call", call_id=call.id, name=call.tool, arguments=json.dumps(dict(call.args))
    )


def model(turns: Any) -> ScriptedModel:
    """A model that proposes the calls of its turns, and then says `done`."""
    return ScriptedModel([*([proposed(call) for call in turn] for turn in turns), [DONE]])


def _agent(setup: Setup) -> Any:
    tools = [function_tool(each) for each in setup.functions]
    return GuardedAgent(name="a", model=model(setup.turns), tools=tools, guard=setup.guard)


async def _answer(setup: Setup, result: Any, observed: Observed) -> Any:
    """Note the questions and answer them; return the state to continue, None where an answer is missing."""
    state = result.to_state()
    items = result.interruptions
    observed.questions += [{"tool": each.tool_name, "args": json.loads(each.arguments)} for each in items]
    if not all(each.tool_name in setup.answers for each in items):
        observed.pending = True
        return None
    for each in items:
        await answer_approval(state, each, setup.answers[each.tool_name])
    return state


def _finish(observed: Observed, result: Any) -> Observed:
    for item in result.to_input_list():
        if item.get("type") == "function_call_output":
            observed.replies.append((item["call_id"], str(item["output"])))
    observed.final = result.final_output
    return observed


async def run(setup: Setup) -> Observed:
    """Run the agent, answering interruptions."""
    observed = Observed()
    try:
        agent = _agent(setup)
        result = await Runner.run(agent, "go")
        while result.interruptions:
            state = await _answer(setup, result, observed)
            if state is None:
                return observed
            result = await Runner.run(agent, state)
    except Exception as error:
        observed.error = error
        return observed
    return _finish(observed, result)


def run_sync(setup: Setup) -> Observed:
    """Run the agent synchronously."""
    import asyncio

    observed = Observed()
    try:
        agent = _agent(setup)
        result = Runner.run_sync(agent, "go")
        while result.interruptions:
            state = asyncio.run(_answer(setup, result, observed))
            if state is None:
                return observed
            result = Runner.run_sync(agent, state)
    except Exception as error:
        observed.error = error
        return observed
    return _finish(observed, result)
