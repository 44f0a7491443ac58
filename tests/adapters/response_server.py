"""Replies of the Responses API, whole and as the events that OpenAI would stream."""

from __future__ import annotations

import json
from typing import Any

from adapters.stream_server import event

USAGE = {
    "input_tokens": 40, "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 0}, "output_tokens": 6,
    "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 46,
}  # fmt: skip


def reply(*items: dict[str, Any], status: str = "completed", reason: str | None = None, **more: Any) -> dict[str, Any]:
    """A response with some items."""
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5", "status": status, "error": None,
        "incomplete_details": {"reason": reason} if reason else None, "output": list(items), "usage": USAGE,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], **more,
    }  # fmt: skip


def said(text: str, number: int = 1) -> dict[str, Any]:
    """A message with a text."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def refused(text: str) -> dict[str, Any]:
    """A message with a refusal."""
    return {**said(""), "content": [{"type": "refusal", "refusal": text}]}


def thought(text: str, number: int = 1) -> dict[str, Any]:
    """A reasoning item, with a summary for people and its content encrypted."""
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"id": f"rs_{number}", "type": "reasoning", "summary": summary, "encrypted_content": f"gAAA{number}=="}


def use(name: str, arguments: str, call_id: str = "call_1", status: str = "completed") -> dict[str, Any]:
    """A call of a function."""
    return {
        "id": f"fc_{call_id}", "type": "function_call", "status": status, "name": name, "call_id": call_id,
        "arguments": arguments,
    }  # fmt: skip


def response_events(whole: dict[str, Any], *, size: int = 5) -> list[bytes]:
    """A response as its events."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        empty, kind, text, more = _deltas(item)
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        events += [
            {"type": kind, **at, **more, "delta": text[begin : begin + size]} for begin in range(0, len(text), size)
        ]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": f"response.{whole['status']}", "response": whole})
    return [event({"sequence_number": number, **each}, named=True) for number, each in enumerate(events)]


def _deltas(item: dict[str, Any]) -> tuple[dict[str, Any], str, str, dict[str, Any]]:
    match item:
        case {"type": "message", "content": [{"type": "output_text", "text": text}]}:
            more = {"content_index": 0, "logprobs": []}
            return {**item, "content": []}, "response.output_text.delta", text, more
        case {"type": "message", "content": [{"type": "refusal", "refusal": text}]}:
            return {**item, "content": []}, "response.refusal.delta", text, {"content_index": 0}
        case {"type": "reasoning"}:
            text = "".join(part["text"] for part in item["summary"])
            return {**item, "summary": []}, "response.reasoning_summary_text.delta", text, {"summary_index": 0}
        case {"type": "function_call"}:
            return {**item, "arguments": ""}, "response.function_call_arguments.delta", item["arguments"], {}
    return item, "", "", {}


def sent_arguments(item: dict[str, Any]) -> object:
    """The arguments of a call in a request."""
    return json.loads(item["arguments"])
