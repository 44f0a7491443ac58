"""A conversation as the turns of provider APIs: the calls of one reply are one turn, and so are their answers.

The run loop keeps one message per call. This module is independent of vendors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from bobcat.journal.legacy_names import is_failure
from bobcat.model.attachment import Attachment
from bobcat.model.frozen import FrozenDict, thaw
from bobcat.model.run import Message

_NO_ID = "unknown"
_NOTHING: Mapping[str, Any] = FrozenDict()


class TextTurn(NamedTuple):
    """Text of a user or a system, with the files beside it."""

    role: Literal["user", "system"]
    text: str
    attachments: tuple[Attachment, ...] = ()


class TurnCall(NamedTuple):
    """A tool call as the model made it. Any: arguments are JSON of unknown shape."""

    call_id: str
    tool: str
    args: dict[str, Any]


class AssistantTurn(NamedTuple):
    """The text of the model, and its calls beside it. At least one of the two is present.

    `data` is what the adapter kept for its provider (`ToolCall.provider_data`). Any: JSON.
    """

    text: str
    calls: tuple[TurnCall, ...]
    data: Mapping[str, Any] = _NOTHING


class ToolOutput(NamedTuple):
    """The outcome of a call. `failed` is true for denials too."""

    call_id: str
    tool: str
    text: str
    failed: bool


class ToolTurn(NamedTuple):
    """The answers to the calls of one reply."""

    answers: tuple[ToolOutput, ...]


Turn: TypeAlias = TextTurn | AssistantTurn | ToolTurn


def turns(conversation: Iterable[Message]) -> list[Turn]:
    """The turns of a conversation, oldest first. An empty message of the assistant is omitted."""
    found: list[Turn] = []
    for message in conversation:
        last = found[-1] if found else None
        match message.role:
            case "system" | "user":
                found.append(TextTurn(message.role, message.content, message.attachments))
            case "assistant":
                calls = _calls(message)
                if isinstance(last, AssistantTurn):
                    text = "\n".join(part for part in (last.text, message.content) if part)
                    found[-1] = AssistantTurn(text, last.calls + calls, last.data)
                elif calls or message.content:
                    found.append(AssistantTurn(message.content, calls, thaw(message.provider_data or {})))
            case "tool":
                answer = _answer(message)
                if isinstance(last, ToolTurn):
                    found[-1] = ToolTurn((*last.answers, answer))
                else:
                    found.append(ToolTurn((answer,)))
    return found


def _calls(message: Message) -> tuple[TurnCall, ...]:
    if message.tool_call_args is None or not message.tool_call_id:
        return ()
    return (TurnCall(message.tool_call_id, message.name or "", thaw(dict(message.tool_call_args))),)


def _answer(message: Message) -> ToolOutput:
    text = message.content
    return ToolOutput(message.tool_call_id or _NO_ID, message.name or "", text, is_failure(text))
