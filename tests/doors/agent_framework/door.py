"""Microsoft Agent Framework: an agent with a fake chat client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)
from agent_framework import tool as framework_tool

from bobcat.guards.agent_framework import approve, guard_middleware
from doors.adapter import Observed, Setup

PREFIX = ""
INTERRUPTS = True
MODES = [("async", "async"), ("async", "plain")]


class FakeClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Proposes the calls of one turn after the other, then says `done`."""

    def __init__(self, turns: Any) -> None:
        super().__init__(function_invocation_configuration={"include_detailed_errors": True})
        self.turns = iter(turns)
        self.seen: Sequence[Message] = ()

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Any:
        """Give the next turn."""
        self.seen = list(messages)

        turn = next(self.turns, None)
        contents = [Content.from_text("done")]
        if turn is not None:
            calls = [(each.id, each.tool, dict(each.args)) for each in turn]
            contents = [Content.from_function_call(call_id=id, name=name, arguments=args) for id, name, args in calls]

        async def answer() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", contents)])

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            yield ChatResponseUpdate(contents=contents, role="assistant")

        return ResponseStream(updates(), finalizer=ChatResponse.from_updates) if stream else answer()


def make(setup: Setup) -> Agent:
    """An agent with the functions of the setup behind its guard."""
    functions = [framework_tool(each) for each in setup.functions]
    return Agent(client=FakeClient(setup.turns), tools=functions, middleware=guard_middleware(setup.guard))


async def run(setup: Setup) -> Observed:
    """Run the agent, answering its approval requests."""
    agent, observed = make(setup), Observed()
    session = agent.create_session()
    try:
        result = await agent.run("go", session=session)
        while result.user_input_requests:
            questions = [each.additional_properties["bobcat"] for each in result.user_input_requests]
            observed.questions += questions
            if not all(each["tool"] in setup.answers for each in questions):
                observed.pending = True
                return observed
            answers = [
                approve(each, setup.answers[asked["tool"]])
                for each, asked in zip(result.user_input_requests, questions, strict=True)
            ]
            result = await agent.run(Message("user", answers), session=session)
    except Exception as error:
        observed.error = error
        return observed
    contents = [each for message in agent.client.seen for each in message.contents]
    observed.replies = [(each.call_id, str(each.result)) for each in contents if each.type == "function_result"]
    observed.final = result.text
    return observed


def run_sync(setup: Setup) -> Observed:
    """Fail: the framework has no synchronous entry point."""
    raise NotImplementedError


def model(turns: Any) -> FakeClient:
    """The client of an example."""
    return FakeClient(turns)
