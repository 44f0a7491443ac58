"""A streamed reply of the Responses API: its deltas, and the response at its end."""

from __future__ import annotations

from typing import Any

from bobcat.adapters.streams import StreamCutOff, StreamedCall, cut_off
from bobcat.adapters.tool_name_mapping import ToolNameMapping
from bobcat.errors import IncompleteReply
from bobcat.model.deltas import Delta, TextDelta, ThinkingDelta
from bobcat.text.display import safe_text

_TEXT = ("response.output_text.delta", "response.refusal.delta")
_THINKING = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_LAST = ("response.completed", "response.incomplete", "response.failed")
_PASSING = frozenset(("server_error", "rate_limit_exceeded", "overloaded_error", "service_unavailable"))


class ResponseStream:
    """Collects the events of one reply."""

    def __init__(self, names: ToolNameMapping) -> None:
        self._names = names
        self._calls: dict[int, StreamedCall] = {}
        self._response: Any = None  # Any: the SDK's, of any release

    # Any: as above.
    def add(self, event: Any) -> Delta | None:
        """Add an event; return its delta. Raises `IncompleteReply` for an error."""
        kind = event.type
        if kind in _TEXT:
            return TextDelta(event.delta)
        if kind in _THINKING:
            return ThinkingDelta(event.delta)
        if kind == "response.output_item.added" and event.item.type == "function_call":
            call = StreamedCall(event.item.call_id, self._names.to_tool(event.item.name))
            self._calls[event.output_index] = call
            return call.add(event.item.arguments or "")
        if kind == "response.function_call_arguments.delta" and event.output_index in self._calls:
            return self._calls[event.output_index].add(event.delta)
        if kind in _LAST:
            self._response = event.response
        elif kind == "error":
            raise failed(event)
        return None

    def response(self) -> Any:  # Any: as above
        """The response. Raises `IncompleteReply` when it did not arrive."""
        if self._response is None:
            raise cut_off()
        return self._response


# Any: as above.
def failed(error: Any) -> IncompleteReply:
    """The error for a reply that the API gave up: one that passes is `StreamCutOff`."""
    code = str(getattr(error, "code", None) or "unknown")
    text = safe_text(f"the provider failed amid its reply ({code}): {getattr(error, 'message', None) or 'no reason'}")
    return StreamCutOff(text, "reply_cut_off") if code in _PASSING else IncompleteReply(text, "reply_cut_off")
