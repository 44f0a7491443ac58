"""Google ADK: an agent with a fake model, in the runner in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from bobcat.guards.adk import GuardPlugin
from doors.adapter import Observed, Setup

PREFIX = ""
INTERRUPTS = True
MODES = [("async", "async"), ("async", "plain"), ("sync", "plain")]
CONFIRMATION = "adk_request_confirmation"


class FakeModel(BaseLlm):
    """Proposes the calls of one turn after the other, then says `done`."""

    model: str = "fake"
    turns: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Give the next turn."""
        turn = next(self.turns, None)
        parts = [types.Part(text="done")]
        if turn is not None:
            calls = [types.FunctionCall(id=each.id, name=each.tool, args=dict(each.args)) for each in turn]
            parts = [types.Part(function_call=each) for each in calls]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def make(setup: Setup, **options: Any) -> InMemoryRunner:
    """A runner of an agent with the tools of the setup behind its guard."""
    model = FakeModel(turns=iter(setup.turns))
    agent = LlmAgent(name="agent", model=model, tools=list(setup.functions), **options)
    return InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[GuardPlugin(setup.guard)]))


class Conversation:
    """The events of a session."""

    def __init__(self, runner: InMemoryRunner) -> None:
        self.runner = runner
        self.events: list[Any] = []

    async def begin(self) -> None:
        """Make the session."""
        self.session = await self.runner.session_service.create_session(app_name=self.runner.app_name, user_id="u")

    async def send(self, *parts: types.Part, sync: bool = False) -> list[types.FunctionCall]:
        """Send a message; return the confirmations that are requested."""
        message = types.Content(role="user", parts=list(parts))
        if sync:
            found = list(self.runner.run(user_id="u", session_id=self.session.id, new_message=message))
        else:
            run = self.runner.run_async(user_id="u", session_id=self.session.id, new_message=message)
            found = [event async for event in run]
        self.events += found
        return [call for event in found for call in event.get_function_calls() if call.name == CONFIRMATION]


async def run(setup: Setup, *, sync: bool = False) -> Observed:
    """Run the agent, answering its confirmations."""
    talk, observed = Conversation(make(setup)), Observed()
    await talk.begin()
    try:
        asked = await talk.send(types.Part(text="go"), sync=sync)
        while asked:
            questions = [each.args["toolConfirmation"]["payload"] for each in asked]
            observed.questions += questions
            if not all(each["tool"] in setup.answers for each in questions):
                observed.pending = True
                return observed
            answers = [
                types.FunctionResponse(id=call.id, name=CONFIRMATION, response=_answer(setup.answers[question["tool"]]))
                for call, question in zip(asked, questions, strict=True)
            ]
            asked = await talk.send(*(types.Part(function_response=each) for each in answers), sync=sync)
    except Exception as error:
        observed.error = error
        return observed
    for event in talk.events:  # the answer to a call that waits is replaced by a later one
        replies = [each for each in event.get_function_responses() if each.name != CONFIRMATION]
        waiting = event.actions.requested_tool_confirmations
        observed.replies += [(each.id, _text(each.response)) for each in replies if each.id not in waiting]
    observed.final = talk.events[-1].content.parts[0].text
    return observed


def run_sync(setup: Setup) -> Observed:
    """Run it through the synchronous entry point, which has a thread of its own."""
    return asyncio.run(run(setup, sync=True))


def _answer(given: Any) -> dict[str, Any]:
    refused = isinstance(given, dict) and given.get("granted") is False
    return {"confirmed": not refused, "payload": given}


def _text(response: Any) -> str:
    return str(response.get("error", response.get("result", response)))


def model(turns: Any) -> FakeModel:
    """The model of an example."""
    return FakeModel(turns=iter(turns))
