"""A compiled LangGraph graph as an agent: the graph proposes tool calls, the policy decides about them.

    graph = StateGraph(MessagesState)
    ...
    agent = LangGraphAgent(compiled_graph=graph.compile())
    await run_agent(agent, "tidy the notes", tools=tools, policy=policy)

Needs `pip install 'bobcat[langgraph]'`. Every step runs the graph from its entry on the whole conversation, tool
results included, up to the first message with tool calls, in whatever sub-graph; later nodes, such as a `ToolNode`,
never run. A guard inside the graph (`langgraph_guard`) ends the step before a tool of LangChain's runs its body. A
Python function that a node calls directly is that node's own code: no policy sees it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from bobcat.adapters.arguments import read_arguments
from bobcat.adapters.client_agent import sdk
from bobcat.adapters.content_parts import with_text_only
from bobcat.adapters.token_counts import count, together, without_cached
from bobcat.adapters.transcript import AssistantTurn, TextTurn, ToolTurn
from bobcat.errors import IncompleteReply
from bobcat.model.run import FinalAnswer, Message, ToolCall, Usage

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

    from bobcat.adapters.langgraph_guard import Guard

__all__ = ["LangGraphAgent"]

DATA = "langchain"
"""Key in `ToolCall.provider_data` for the parts of a message other than text and calls."""
_CALLS = ("tool_calls", "function_call")
_FACTS = ("model_provider", "output_version")
"""The metadata by which LangChain reads content."""


class LangGraphAgent:
    """Asks a compiled graph for the next step. The graph's state has the conversation under `messages`.

    All tool calls of a message are passed on, with the text beside them. `config` goes to the graph, with the guard
    among its callbacks.

    The run fails with `IncompleteReply` when a node starts a tool by itself (the tool does not run), and when the
    graph's state has the result of a tool call that the run did not carry out. Raises `ValueError` for a graph with a
    checkpointer and for one that contains a `RemoteGraph`, whose tools would run on its server.
    """

    # Any: a graph is generic in four types of its own.
    def __init__(self, compiled_graph: Any, *, config: Mapping[str, Any] | None = None) -> None:
        sdk("langgraph", "LangGraphAgent")
        from bobcat.adapters.langgraph_guard import refuse_remote

        if getattr(compiled_graph, "checkpointer", None):
            raise ValueError(
                "compile the graph without a checkpointer: every step gets the whole conversation, and the run's "
                "journal makes it durable"
            )
        refuse_remote(compiled_graph)
        self._graph = compiled_graph
        self._config = dict(config) if config is not None else None

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer | tuple[ToolCall, ...]:
        """The graph's next step. Raises the graph's exceptions."""
        from bobcat.adapters.langgraph_guard import GraphStopped, Guard, reach

        messages = _to_langchain(conversation)
        guard = Guard(messages)
        answer = ""
        with reach(guard, self._config) as config:
            try:
                run = self._graph.astream({"messages": messages}, config, stream_mode="updates", subgraphs=True)
                async with aclosing(run) as updates:
                    async for namespace, update in updates:
                        guard.inspect(list(update.values()))
                        if not namespace:
                            for message in _replies(update, guard):
                                answer = _text(message) or answer
            except GraphStopped:
                pass
            except Exception:
                if guard.call is None and guard.violation is None:  # else: a node's reaction to being stopped
                    raise
        guard.check()
        usage: Usage | None = None
        for message in guard.replies:
            usage = together(usage, _usage(message))
        if guard.call is None:
            return FinalAnswer(answer or "(no response)", usage)
        calls = _calls(guard.call)
        first = ToolCall(*calls[0][:3], usage, _text(guard.call), calls[0][3], _data(guard.call))
        rest = (ToolCall(*call[:3], problem=call[3]) for call in calls[1:])
        return (first, *rest) if len(calls) > 1 else first


def _to_langchain(conversation: Sequence[Message]) -> list[BaseMessage]:
    """The conversation as LangChain's messages, with ids of this step only, by which the guard recognises new ones."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    messages: list[BaseMessage] = []
    for turn in with_text_only(conversation, "LangGraphAgent"):
        match turn:
            case TextTurn("system", text):
                messages.append(SystemMessage(text))
            case TextTurn(_, text):
                messages.append(HumanMessage(text))
            case AssistantTurn(text, calls, data):
                called = [{"name": call.tool, "args": call.args, "id": call.call_id} for call in calls]
                kept = data.get(DATA)
                fields = {"content": text, **(kept if isinstance(kept, dict) else {})}
                messages.append(AIMessage(**fields, tool_calls=called))
            case ToolTurn(answers):
                messages.extend(
                    ToolMessage(
                        answer.text,
                        tool_call_id=answer.call_id,
                        name=answer.tool,
                        status="error" if answer.failed else "success",
                    )
                    for answer in answers
                )
    step = token_hex(16)
    for index, message in enumerate(messages):
        message.id = f"{step}-{index}"
    return messages


# Any: an update is the return value of the graph's nodes.
def _replies(update: Mapping[str, Any], guard: Guard) -> Iterator[AIMessage]:
    """The new messages of the model in one update of the graph."""
    from langchain_core.messages import AIMessage

    from bobcat.adapters.langgraph_guard import messages_in

    if "__interrupt__" in update:
        raise IncompleteReply("the graph stopped at an interrupt; approvals must be requested by the policy")
    for message, in_conversation in messages_in(list(update.values())):
        if isinstance(message, AIMessage) and in_conversation and not guard.is_given(message):
            yield message


def _calls(message: AIMessage) -> list[tuple[str, dict[str, Any], str, str | None]]:
    """Name, arguments, id and problem of each call in a message, unreadable ones included."""
    calls: list[tuple[str, dict[str, Any], str, str | None]] = []
    for call in message.tool_calls:
        args, problem = read_arguments(call["args"])
        calls.append((call["name"], args, call["id"] or "", problem))
    for broken in message.invalid_tool_calls:
        args, problem = read_arguments(broken["args"])
        calls.append((broken["name"] or "", args, broken["id"] or "", problem or broken["error"] or "not a tool call"))
    return calls


def _data(message: AIMessage) -> dict[str, Any] | None:
    """Parts of the message other than text and calls, such as thinking and signatures; None without any."""
    kept: dict[str, Any] = {}
    if not isinstance(message.content, str):
        kept["content"] = message.content
    more = {
        name: value for name, value in message.additional_kwargs.items() if value is not None and name not in _CALLS
    }
    if more:
        kept["additional_kwargs"] = more
    if not kept:
        return None
    facts = {name: message.response_metadata[name] for name in _FACTS if name in message.response_metadata}
    kept["response_metadata"] = facts
    try:
        json.dumps(kept, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # an object of the model's class, which a journal cannot represent
        return None
    return {DATA: kept}


def _text(message: AIMessage) -> str:
    """The text of a message, whose content may be a text or blocks of several kinds."""
    content = message.content
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else part.get("text", "") for part in content)
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _usage(message: AIMessage) -> Usage | None:
    reported = message.usage_metadata
    if not reported:
        return None
    details = reported.get("input_token_details", {})
    read, written = count(details.get("cache_read")), count(details.get("cache_creation"))
    return Usage(
        without_cached(reported["input_tokens"], read, written),
        count(reported["output_tokens"]),
        read,
        written,
        message.response_metadata.get("model_name"),
    )
