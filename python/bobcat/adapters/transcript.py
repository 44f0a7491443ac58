"""A conversation as the turns that providers ask for: the calls of one reply are one turn, and so are their answers.

The kernel keeps one message per call. Nothing here knows a vendor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from bobcat.frozen import FrozenDict, thaw
from bobcat.model import Message

_FAILURES = ("[error]", "[denied]")
_NO_ID = "unknown"
_NOTHING: Mapping[str, Any] = FrozenDict()


class Said(NamedTuple):
    """Plain text of a user or a system."""

    role: Literal["user", "system"]
    text: str


class Call(NamedTuple):
    """A tool call as the model made it. Any: arguments are what JSON can hold, for all that is known."""

    call_id: str
    tool: str
    args: dict[str, Any]


class Replied(NamedTuple):
    """What the model said, and the calls it made along with it. One of the two is there.

    `data` is what the adapter kept for its provider (`ToolCall.provider_data`). Any: JSON.
    """

    text: str
    calls: tuple[Call, ...]
    data: Mapping[str, Any] = _NOTHING


class Answer(NamedTuple):
    """What came of a call. `failed` covers refusals too."""

    call_id: str
    tool: str
    text: str
    failed: bool


class Answered(NamedTuple):
    """The answers to the calls of one reply."""

    answers: tuple[Answer, ...]


Turn: TypeAlias = Said | Replied | Answered


def turns(conversation: Iterable[Message]) -> list[Turn]:
    """The turns of a conversation, oldest first. A message of the assistant that holds nothing is left out."""
    found: list[Turn] = []
    for message in conversation:
        last = found[-1] if found else None
        match message.role:
            case "system" | "user":
                found.append(Said(message.role, message.content))
            case "assistant":
                calls = _calls(message)
                if isinstance(last, Replied):
                    text = "\n".join(part for part in (last.text, message.content) if part)
                    found[-1] = Replied(text, last.calls + calls, last.data)
                elif calls or message.content:
                    found.append(Replied(message.content, calls, thaw(message.provider_data or {})))
            case "tool":
                answer = _answer(message)
                if isinstance(last, Answered):
                    found[-1] = Answered((*last.answers, answer))
                else:
                    found.append(Answered((answer,)))
    return found


def _calls(message: Message) -> tuple[Call, ...]:
    if message.tool_call_args is None or not message.tool_call_id:
        return ()
    return (Call(message.tool_call_id, message.name or "", thaw(dict(message.tool_call_args))),)


def _answer(message: Message) -> Answer:
    failed = message.content.startswith(_FAILURES)
    return Answer(message.tool_call_id or _NO_ID, message.name or "", message.content, failed)
