"""Differences among servers that speak OpenAI's Chat Completions API, and the parts of a reply that go back to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

DATA = "chat"
"""The name of the fields of a reply in `ToolCall.provider_data`."""

_GROWING = ("text", "summary", "thinking", "data")
"""Fields of a part of thinking that a stream sends in pieces."""


@dataclass(frozen=True, slots=True)
class ChatQuirks:
    """Differences of a server.

    `token_limit` is its parameter for the longest reply. `stream_usage` is false for a server that refuses
    `stream_options`. `returned` names the fields of a reply with calls that it must get back unchanged, such as
    DeepSeek's `reasoning_content`. `reasoning_apart` is true for a server that counts the tokens of thinking beside
    `completion_tokens`, and not among them.
    """

    token_limit: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    stream_usage: bool = True
    returned: tuple[str, ...] = ()
    reasoning_apart: bool = False


OWN_QUIRKS = ChatQuirks()
"""Those of OpenAI itself."""


# Any: JSON, or a message of the SDK, here and below.
def returned_fields(message: Any, names: Sequence[str]) -> dict[str, Any] | None:
    """Return `provider_data` with the fields of a reply that go back; None without any."""
    found = {name: value for name in names if (value := _plain(getattr(message, name, None))) is not None}
    return {DATA: found} if found else None


def fields_to_return(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the recorded fields for a message of the assistant."""
    kept = data.get(DATA)
    return {name: kept[name] for name in names if name in kept} if isinstance(kept, Mapping) else {}


class ReturnedFields:
    """The fields of a streamed reply, which arrive in pieces."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.fields: dict[str, Any] = {}

    def add(self, delta: Any) -> None:
        """Add the pieces in a delta."""
        for name in self._names:
            piece = _plain(getattr(delta, name, None))
            if isinstance(piece, str):
                self.fields[name] = f"{self.fields.get(name, '')}{piece}"
            elif isinstance(piece, list):
                parts = self.fields.setdefault(name, [])
                for part in piece:
                    _add_part(parts, part)


def _add_part(parts: list[Any], part: Any) -> None:
    """Append a part, or add it to the last one, which it continues."""
    last = parts[-1] if parts else None
    if not isinstance(part, dict) or not isinstance(last, dict) or not _continues(last, part):
        parts.append(part)
        return
    for name, value in part.items():
        if name in _GROWING and isinstance(value, str):
            last[name] = f"{last.get(name) or ''}{value}"
        elif value is not None:
            last[name] = value


def _continues(last: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    same = last.get("type") == part.get("type") and last.get("index") == part.get("index")
    return same and not last.get("signature") and part.get("type") != "redacted_thinking"


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    return dict(value) if isinstance(value, dict) else value
