"""A streamed reply of a Chat Completions API: its deltas, and the response they add up to.

Servers differ: some send an id or a name with every part of a call, some no index, and some the usage with every chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from bobcat.adapters.chat_quirks import ReturnedFields
from bobcat.adapters.streams import StreamedCall, cut_off
from bobcat.adapters.tool_name_mapping import ToolNameMapping
from bobcat.model.deltas import Delta, TextDelta, ThinkingDelta

_THINKING = ("reasoning_content", "reasoning")
"""The fields in which servers other than OpenAI's send the model's thinking."""


class _Call(StreamedCall):
    """A call, `wire` its name as sent. `kind` is `function`, or a kind that was not offered."""

    __slots__ = ("kind", "wire")

    def __init__(self, call_id: str, tool: str, wire: str) -> None:
        super().__init__(call_id, tool)
        self.wire = wire
        self.kind = "function"


class ChatStream:
    """Collects the chunks of one reply."""

    def __init__(self, names: ToolNameMapping, returned: Sequence[str] = ()) -> None:
        self._names = names
        self._returned = ReturnedFields(returned)
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[_Call] = []
        self._open: dict[object, _Call] = {}
        """The call that a part with this index, or with none, belongs to."""
        self._finish: str | None = None
        self._usage: object = None

    # Any: the chunk is the SDK's, of any release.
    def add(self, chunk: Any) -> Iterator[Delta]:
        """Add a chunk; return its deltas. Only the first choice counts."""
        self._usage = getattr(chunk, "usage", None) or self._usage
        for choice in getattr(chunk, "choices", None) or ():
            if getattr(choice, "index", 0):
                continue
            self._finish = getattr(choice, "finish_reason", None) or self._finish
            delta = getattr(choice, "delta", None)
            if delta is None:
                continue
            self._returned.add(delta)
            thinking = next((text for name in _THINKING if (text := getattr(delta, name, None))), None)
            if isinstance(thinking, str):
                yield ThinkingDelta(thinking)
            for name, parts in (("content", self._text), ("refusal", self._refusal)):
                text = getattr(delta, name, None)
                if text:
                    parts.append(text)
                    yield TextDelta(text)
            for part in getattr(delta, "tool_calls", None) or ():
                yield self._add_call(part)

    # Any: as above.
    def _add_call(self, part: Any) -> Delta:
        call_id, index = getattr(part, "id", None) or "", getattr(part, "index", None)
        call = self._open.get(index)
        if call is not None and call_id and call.call_id and call_id != call.call_id:
            call = None  # a server that gives every call the same index
        sent, custom = getattr(part, "function", None), getattr(part, "custom", None)
        wire, text = _read(sent, "name", "arguments") if custom is None else _read(custom, "name", "input")
        if call is None:
            call = self._open[index] = _Call(call_id, self._names.to_tool(wire), wire)
            self._calls.append(call)
        elif not call.wire and wire:
            call.wire, call.tool = wire, self._names.to_tool(wire)
        if custom is not None:
            call.kind = "custom"
        call.call_id = call.call_id or call_id
        return call.add(text)

    def response(self) -> Any:  # Any: as the SDK's response
        """The response that the chunks add up to. Raises `IncompleteReply` when the last part of it is missing."""
        if self._finish is None:
            raise cut_off()
        message = SimpleNamespace(
            content="".join(self._text) or None,
            refusal="".join(self._refusal) or None,
            tool_calls=[_as_sent(call) for call in self._calls],
            **self._returned.fields,
        )
        choice = SimpleNamespace(message=message, finish_reason=self._finish)
        return SimpleNamespace(choices=[choice], usage=self._usage)


def _as_sent(call: _Call) -> SimpleNamespace:
    if call.kind == "function":
        function = SimpleNamespace(name=call.wire, arguments=call.text)
        return SimpleNamespace(id=call.call_id, type=call.kind, function=function)
    custom = SimpleNamespace(name=call.wire, input=call.text)
    return SimpleNamespace(id=call.call_id, type=call.kind, custom=custom)


# Any: as above.
def _read(sent: Any, *names: str) -> list[str]:
    """Some texts of an object of the SDK, or of a mapping; empty where they are missing."""
    values = [sent.get(name) if isinstance(sent, dict) else getattr(sent, name, None) for name in names]
    return [value if isinstance(value, str) else "" for value in values]
