"""The tool calls in answers of LiteLLM's endpoints: chat completions, messages and responses.

An answer that is not understood is an error, never an answer without calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bobcat.text.unique_keys import unique_keys

_WITHOUT_CALLS = (
    "EmbeddingResponse", "ImageResponse", "RerankResponse", "TextCompletionResponse", "TranscriptionResponse",
)  # fmt: skip
"""Answers of endpoints that have no tools, by the names of their types."""
_OUTPUT_WITHOUT_CALLS = ("message", "reasoning")
_BLOCKS_WITHOUT_CALLS = ("text", "thinking", "redacted_thinking")
_LOCAL_TOOLS = ("function", "custom")


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposed call, and a function that replaces its arguments in the answer."""

    name: str
    args: dict[str, Any]
    replace: Callable[[dict[str, Any]], None]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.args, dict):
            raise TypeError("a tool call has a name and an object of arguments")


def calls_of_answer(answer: Any) -> list[Proposed]:
    """The calls of a whole answer. Raises `TypeError` or `ValueError` for an answer that is not understood."""
    if type(answer).__name__ in _WITHOUT_CALLS:
        return []
    if type(answer).__name__ == "ModelResponse":
        return [call for choice in answer.choices for call in _of_message(choice.message)]
    output = getattr(answer, "output", None)
    if isinstance(output, list):
        return [call for item in output for call in _of_output(item)]
    content = answer.get("content") if isinstance(answer, dict) and answer.get("type") == "message" else None
    if isinstance(content, list):
        return [call for block in content for call in _of_block(block)]
    raise TypeError(f"the guard cannot read an answer of type {type(answer).__name__}")


def calls_of_stream(chunks: Sequence[Any]) -> list[Proposed]:
    """The calls of a stream of a chat completion, or of messages as bytes. Raises as `calls_of_answer`."""
    if chunks and all(isinstance(chunk, (bytes, str)) for chunk in chunks):
        return _of_events(b"".join(chunk if isinstance(chunk, bytes) else chunk.encode() for chunk in chunks).decode())
    found: dict[tuple[int, int], list[str]] = {}
    for chunk in chunks:
        if type(chunk).__name__ != "ModelResponseStream":
            raise TypeError(f"the guard cannot read a stream of type {type(chunk).__name__}")
        for choice in chunk.choices:
            if getattr(choice.delta, "function_call", None):
                raise ValueError("a stream with `function_call` cannot be decided")
            for part in choice.delta.tool_calls or ():
                call = found.setdefault((choice.index, part.index), ["", ""])
                name, text = part.function.name or "", part.function.arguments or ""
                if name and call[0]:
                    raise ValueError("a tool call has two names")
                call[0] += name
                call[1] += text
    return [Proposed(name, _parsed(text), _keep) for name, text in found.values()]


def _of_events(text: str) -> list[Proposed]:
    """The calls of a stream of server-sent events of the Messages API."""
    blocks: dict[int, tuple[str, list[str]]] = {}
    for line in re.split("\r\n|\r|\n", text):
        kind, _, data = line.partition(":")
        if kind in ("", "event") or data.strip() == "[DONE]":
            continue
        if kind != "data":
            raise ValueError("a line of the stream is not that of an event")
        event = json.loads(data, object_pairs_hook=unique_keys)
        match event["type"]:
            case "content_block_start":
                if event["index"] in blocks:
                    raise ValueError("a block begins twice")
                for call in _of_block(event["content_block"]):
                    if call.args:
                        raise ValueError("a call has arguments before its first event")
                    blocks[event["index"]] = call.name, []
            case "content_block_delta":
                if event["delta"]["type"] == "input_json_delta":
                    blocks[event["index"]][1].append(event["delta"]["partial_json"])
            case "message_start":
                if event["message"].get("content"):
                    raise ValueError("a message begins with content")
            case "content_block_stop" | "message_delta" | "message_stop" | "ping" | "error":
                pass
            case other:
                raise ValueError(f"an event of type `{other}` cannot be decided")
    return [Proposed(name, _parsed("".join(parts)), _keep) for name, parts in blocks.values()]


def hosted_tools_of(request: Mapping[str, Any]) -> list[str]:
    """The names of tools in a request that its client does not run."""
    found = [str(_field(each, "type")) for each in request.get("tools") or () if not _is_local(each)]
    return sorted({*found, *(["web_search_options"] if request.get("web_search_options") is not None else [])})


def _is_local(tool: Any) -> bool:
    kind = _field(tool, "type")
    return kind in _LOCAL_TOOLS or (kind is None and _field(tool, "input_schema") is not None)


def _of_message(message: Any) -> list[Proposed]:
    functions = [each.function for each in message.tool_calls or ()]
    legacy = getattr(message, "function_call", None)
    return [_of_function(each) for each in [*functions, *([legacy] if legacy else [])]]


def _of_function(function: Any) -> Proposed:
    def replace(args: dict[str, Any]) -> None:
        function.arguments = json.dumps(args)

    return Proposed(function.name, _parsed(function.arguments), replace)


def _of_output(item: Any) -> list[Proposed]:
    kind = _field(item, "type")
    if kind in _OUTPUT_WITHOUT_CALLS:
        return []
    if kind != "function_call":
        raise ValueError(f"an output of type `{kind}` cannot be decided")

    def replace(args: dict[str, Any]) -> None:
        _set(item, "arguments", json.dumps(args))

    return [Proposed(_field(item, "name"), _parsed(_field(item, "arguments")), replace)]


def _of_block(block: Any) -> list[Proposed]:
    kind = _field(block, "type")
    if kind in _BLOCKS_WITHOUT_CALLS:
        return []
    if kind != "tool_use":
        raise ValueError(f"a block of type `{kind}` cannot be decided")
    return [Proposed(_field(block, "name"), _field(block, "input"), lambda args: _set(block, "input", args))]


def _parsed(text: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text or "{}", object_pairs_hook=unique_keys, parse_constant=_no_constant)
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"the arguments have `{text}`, which is not JSON")


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _set(value: Any, name: str, new: Any) -> None:
    if isinstance(value, dict):
        value[name] = new
    else:
        setattr(value, name, new)


def _keep(_: dict[str, Any]) -> None:
    """Leave a stream as it is."""
