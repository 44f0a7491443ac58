"""Items of the Responses API: those of a reply, and those of a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bobcat.adapters.content_parts import response_content
from bobcat.adapters.token_counts import counts, without_cached
from bobcat.adapters.tool_name_mapping import ToolNameMapping
from bobcat.adapters.transcript import AssistantTurn, TextTurn, ToolTurn, TurnCall, turns
from bobcat.model.run import Message, Usage
from bobcat.text.json_text import json_text

DATA = "openai_responses"
"""The name of the items of a reply in `ToolCall.provider_data`."""

CALL = "function_call"
_KNOWN = frozenset(("message", "reasoning", CALL))


# Any: items and responses are the SDK's, of any release, here and below.
def ran_elsewhere(item: Any) -> bool:
    """Return true for the call of a tool that the adapter did not offer: the API ran it, or expects it to run."""
    return item.type not in _KNOWN


def text_of(items: Sequence[Any]) -> str:
    """The text of a reply."""
    return "\n".join(part.text for part in _parts(items) if part.type == "output_text").strip()


def refusal_of(items: Sequence[Any]) -> str | None:
    """The words with which the model refuses; None when it does not."""
    return next((str(part.refusal) for part in _parts(items) if part.type == "refusal"), None)


def _parts(items: Sequence[Any]) -> list[Any]:
    return [part for item in items if item.type == "message" for part in item.content or ()]


def incomplete_reason(response: Any) -> str | None:
    """Return the reason why a reply is incomplete; None for a complete one."""
    if getattr(response, "status", None) != "incomplete":
        return None
    return str(getattr(getattr(response, "incomplete_details", None), "reason", None) or "incomplete")


def usage_of(response: Any, model: str) -> Usage | None:
    """The reported usage."""
    reported = getattr(response, "usage", None)
    if reported is None:
        return None
    read, written = counts(getattr(reported, "input_tokens_details", None), "cached_tokens", "cache_write_tokens")
    total, output = counts(reported, "input_tokens", "output_tokens")
    return Usage(without_cached(total, read, written), output, read, written, model)


def recorded(items: Sequence[Any]) -> dict[str, Any]:
    """The items of a reply in their order; calls without name and arguments, which the journal has."""
    kept = [item.model_dump(mode="json", exclude_unset=True, exclude_none=True, by_alias=True) for item in items]
    return {
        DATA: [
            {name: value for name, value in item.items() if item["type"] != CALL or name not in ("name", "arguments")}
            for item in kept
        ]
    }


def to_input(conversation: Sequence[Message], names: ToolNameMapping) -> list[dict[str, Any]]:
    """The conversation as input items."""
    items: list[dict[str, Any]] = []
    for turn in turns(conversation):
        match turn:
            case TextTurn(role, text, attachments):
                items.append({"role": role, "content": response_content(text, attachments)})
            case AssistantTurn(text, calls, data):
                items += _reply(text, calls, data, names)
            case ToolTurn(answers):
                items += [
                    {"type": "function_call_output", "call_id": answer.call_id, "output": answer.text}
                    for answer in answers
                ]
    return items


def _reply(
    text: str, calls: Sequence[TurnCall], data: Mapping[str, Any], names: ToolNameMapping
) -> list[dict[str, Any]]:
    """The items of a reply: the recorded ones where available, else the text before the calls."""
    kept = data.get(DATA)
    left = list(calls)
    items: list[dict[str, Any]] = []
    if not isinstance(kept, list):
        kept = [{"role": "assistant", "content": text}] if text.strip() else []
    for item in kept:
        if not isinstance(item, dict):
            continue
        if item.get("type") != CALL:
            items.append(item)
            continue
        call = next((call for call in left if call.call_id == item.get("call_id")), None)
        if call is not None:
            left.remove(call)
            items.append({**item, **_call(call, names)})
    return [*items, *(_call(call, names) for call in left)]


def _call(call: TurnCall, names: ToolNameMapping) -> dict[str, Any]:
    arguments = json_text(call.args)
    return {"type": CALL, "call_id": call.call_id, "name": names.to_wire(call.tool), "arguments": arguments}
