"""Guard of one run of a LangGraph graph: it ends the run at the first tool call, before the body of any tool.

The adapter creates one per step. LangChain calls it when a node begins and ends and when a tool begins, in sub-graphs,
in worker threads and in graphs that a node invokes by itself. It is installed in two ways: in the graph's config, and
in a context variable that LangChain reads for every callback manager, so that a node cannot lose it by passing
callbacks of its own.

INVARIANT: once `reach` was entered with a guard, no LangChain tool that is started in that context or under that config
runs its body, not even after the step is over.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from langchain_core.tracers.context import register_configure_hook

from bobcat.errors import IncompleteReply
from bobcat.text.display import safe_text

MAX_STATE_DEPTH = 8
"""Maximum depth of the search for messages in mappings, lists and records of a node's state."""

_GUARD: ContextVar[Guard | None] = ContextVar("bobcat_langgraph_guard", default=None)


class GraphStopped(BaseException):
    """Raised inside the graph to end it. Not an `Exception`: neither a node nor a retry policy may handle it."""


class Guard(BaseCallbackHandler):
    """Guard of one run of a graph that was given the messages `given`, all of them with ids.

    `call` is the message whose tool calls ended the run, `violation` describes a broken rule. At most one of them is
    set, by the first event. `replies` are the model's messages in the order in which they were seen.
    """

    raise_error = True
    run_inline = True

    def __init__(self, given: Sequence[BaseMessage]) -> None:
        self._lock = threading.Lock()
        self._input = {message.id: _fingerprint(message) for message in given}
        self._results = {
            (message.tool_call_id, _text_of(message)) for message in given if isinstance(message, ToolMessage)
        }
        self._nodes: set[UUID] = set()
        self.replies: list[AIMessage] = []
        self.call: AIMessage | None = None
        self.violation: str | None = None

    def check(self) -> None:
        """Raise `IncompleteReply` for a violation."""
        if self.violation is not None:
            raise IncompleteReply(self.violation)

    # Any below: states, updates and callback arguments are the graph's.
    def inspect(self, value: Any) -> None:
        """Inspect the input or the output of a node. Raises `GraphStopped` when the graph must stop."""
        found = list(messages_in(value))
        for message, _ in found:
            if isinstance(message, ToolMessage) and not self._is_known_result(message):
                self._stop(
                    violation=f"the graph has a result of tool call `{safe_text(message.tool_call_id)}` that this run "
                    "did not execute; only the run may call the tools of a graph"
                )
        for message, in_conversation in found:
            if not isinstance(message, AIMessage) or self.is_given(message):
                continue
            if in_conversation:
                with self._lock:
                    if not any(message is known or (message.id and message == known) for known in self.replies):
                        self.replies.append(message)
                if message.tool_calls or message.invalid_tool_calls:
                    self._stop(call=message)

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **more: Any) -> None:
        """Inspect the input state of a node, before the node gets it."""
        metadata = more.get("metadata") or {}
        if more.get("name") is not None and more.get("name") == metadata.get("langgraph_node"):
            self._nodes.add(run_id)
            self.inspect(inputs)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        """Inspect the output of a node, before the graph gets it."""
        if run_id in self._nodes:
            self._nodes.discard(run_id)
            self.inspect(outputs)

    def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
        """Refuse: a tool of the graph is about to run."""
        name = serialized.get("name") if isinstance(serialized, Mapping) else None
        self._stop(
            violation=f"the graph started tool `{safe_text(str(name or more.get('name') or '?'))}` by itself; it was "
            "not run: a model's reply with the call must be in the graph's `messages`"
        )

    def _stop(self, *, call: AIMessage | None = None, violation: str | None = None) -> None:
        with self._lock:
            if self.call is None and self.violation is None:
                self.call, self.violation = call, violation
        raise GraphStopped(violation or "the graph asks for a tool call")

    def is_given(self, message: BaseMessage) -> bool:
        """Return true if a message is one of those that the graph was given, with the same calls."""
        return message.id in self._input and self._input[message.id] == _fingerprint(message)

    def _is_known_result(self, message: ToolMessage) -> bool:
        """Return true for a result that was handed in. A node may shorten its text, or copy it under another id."""
        return self.is_given(message) or (message.tool_call_id, _text_of(message)) in self._results


@contextmanager
def reach(guard: Guard, config: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Install `guard` in this context; the config that installs it in a graph, too."""
    _register()
    found = dict(config or {})
    callbacks = found.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.add_handler(guard, inherit=True)
    else:
        callbacks = [guard, *(callbacks or ())]
    token = _GUARD.set(guard)
    try:
        yield {**found, "callbacks": callbacks}
    finally:
        _GUARD.reset(token)


def refuse_remote(graph: Any) -> None:
    """Raise `ValueError` for a graph with a remote part: its tools would run there without a decision."""
    from langgraph.pregel.remote import RemoteGraph

    listed = getattr(graph, "get_subgraphs", None)
    parts = [
        ("the graph", graph),
        *(listed(recurse=True) if listed is not None and not _is(graph, RemoteGraph) else ()),
    ]
    for name, part in parts:
        if _is(part, RemoteGraph):
            raise ValueError(
                f"`{safe_text(str(name))}` is a RemoteGraph, which runs its tools on a server, where no policy sees "
                "them; use the compiled graph itself"
            )


@cache
def _register() -> None:
    """Make LangChain read `_GUARD`. Once per process: the registration cannot be undone."""
    register_configure_hook(_GUARD, inheritable=True)


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) or isinstance(getattr(value, "bound", None), kind)


def messages_in(value: Any, depth: int = 0, *, conversation: bool = True) -> Iterator[tuple[BaseMessage, bool]]:
    """The messages in a state or an update; true with those of the conversation, under `messages` or on their own."""
    if isinstance(value, BaseMessage):
        yield value, conversation
        return
    if depth > MAX_STATE_DEPTH or value is None or isinstance(value, (str, bytes, int, float)):
        return
    for name, part in _parts(value):
        if name == "messages":
            for message in _converted(part):
                yield message, True
        else:
            yield from messages_in(part, depth + 1, conversation=conversation and name is None)


def _parts(value: Any) -> Iterator[tuple[object, Any]]:
    """The elements of a container, with their keys where they have keys.

    `Command` and `Overwrite` yield their content.
    """
    kind = type(value).__name__
    if kind == "Command":
        yield None, value.update
    elif kind == "Overwrite":
        yield None, value.value
    elif isinstance(value, Mapping):
        yield from list(value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in list(value):
            yield None, part
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name, None)) for field in fields(value))
    elif isinstance(getattr(type(value), "model_fields", None), Mapping):
        yield from ((name, getattr(value, name, None)) for name in type(value).model_fields)


def _converted(part: Any) -> list[BaseMessage]:
    """The messages of a conversation, plain ones (`("assistant", "done")`) included."""
    if type(part).__name__ == "Overwrite":
        part = part.value
    if part is None:
        return []
    return convert_to_messages(part if isinstance(part, (list, tuple)) and not _is_pair(part) else [part])


def _is_pair(part: Sequence[Any]) -> bool:
    """Return true if a sequence is one message written as role and text."""
    return isinstance(part, tuple) and len(part) == 2 and all(isinstance(item, str) for item in part)


def _fingerprint(message: BaseMessage) -> object:
    """The identity of a handed message: a node may edit its text, but neither its calls nor its author."""
    if isinstance(message, AIMessage):
        return ("ai", repr(message.tool_calls), repr(message.invalid_tool_calls))
    return (message.type, message.tool_call_id if isinstance(message, ToolMessage) else None)


def _text_of(message: BaseMessage) -> str:
    return message.content if isinstance(message.content, str) else repr(message.content)
