"""Deltas of model replies as events of sinks: `model.delta`, for each sink with a true attribute `deltas`.

They wait in the queue of the sink, where a slow sink gets adjacent ones as one, and those beyond a bound as a number of
characters. The run never waits for them, and they never count as lost events.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from bobcat.model.deltas import CallDelta, DeltaEvent, DeltasLost, ReplyEnd, TextDelta, ThinkingDelta
from bobcat.model.frozen import FrozenDict
from bobcat.model.run import AuditEvent

MODEL_DELTA = "model.delta"
MAX_SEPARATE = 256
"""Number of waiting events from which adjacent deltas are merged."""
MAX_CHARACTERS = 1_000_000
"""Number of waiting characters from which deltas are left out."""
DRAIN_SECONDS = 1.0
"""Time that the end of a run gives a sink for its deltas."""
_OVERHEAD = 64
_OWN = frozenset({"call", "text", "thinking"})


def is_delta(event: AuditEvent) -> bool:
    """Return true for a delta."""
    return event.kind == MODEL_DELTA


def delta_body(event: DeltaEvent, step: int) -> FrozenDict[str, Any]:  # Any: JSON
    """The body of `model.delta`."""
    body: dict[str, Any] = {"seq": step}
    match event:
        case TextDelta(text):
            body |= {"type": "text", "text": text}
        case ThinkingDelta(text):
            body |= {"type": "thinking", "text": text}
        case CallDelta(call_id, tool, text):
            body |= {"type": "call", "call_id": call_id, "tool": tool, "text": text}
        case ReplyEnd(complete):
            body |= {"type": "end", "complete": complete}
        case DeltasLost(characters):
            body |= {"type": "lost", "characters": characters}
    return FrozenDict(body)


class DeltaRoom:
    """The characters of the deltas that wait in one sink's queue, and their bound."""

    __slots__ = ("_size",)

    def __init__(self) -> None:
        self._size = 0

    def put(self, queue: deque[AuditEvent], event: AuditEvent) -> None:
        """Queue a delta. The first event of the queue is being delivered and stays as it is."""
        last = queue[-1] if len(queue) > 1 and is_delta(queue[-1]) else None
        if self._size + _size(event) > MAX_CHARACTERS:
            event = _changed(event, {"type": "lost", "characters": len(event.body.get("text", ""))})
            merges = last is not None and last.body["type"] == "lost"
        else:
            merges = len(queue) >= MAX_SEPARATE and last is not None and _same(last, event)
        if merges and last is not None:
            queue.pop()
            self.leave(last)
            event = _merged(last, event)
        queue.append(event)
        self._size += _size(event)

    def leave(self, event: AuditEvent) -> None:
        """Make room for other deltas: `event` is no longer in the queue."""
        if is_delta(event):
            self._size -= _size(event)

    def clear(self, queue: deque[AuditEvent]) -> None:
        """Remove the waiting deltas, but for one that is being delivered."""
        kept = [each for index, each in enumerate(queue) if index == 0 or not is_delta(each)]
        queue.clear()
        queue.extend(kept)
        self._size = sum(_size(each) for each in kept if is_delta(each))


def _size(event: AuditEvent) -> int:
    return _OVERHEAD + len(event.body.get("text", ""))


def _same(last: AuditEvent, event: AuditEvent) -> bool:
    names = ("seq", "type", "call_id")
    return event.body["type"] in _OWN and all(last.body.get(name) == event.body.get(name) for name in names)


def _merged(last: AuditEvent, event: AuditEvent) -> AuditEvent:
    name = "characters" if last.body["type"] == "lost" else "text"
    return _changed(last, {**last.body, name: last.body[name] + event.body[name]})


def _changed(event: AuditEvent, body: dict[str, Any]) -> AuditEvent:
    return replace(event, body=FrozenDict({"seq": event.body["seq"], **body}))
