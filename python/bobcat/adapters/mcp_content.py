"""What an MCP server says, of either generation of the SDK: tool listings and results, as values of ours.

The two generations name the same fields differently (`inputSchema`, `input_schema`); nothing else here depends on them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from bobcat.tool_schema import with_input_schema


# Any throughout: the objects are the SDK's, of either generation.
def field(item: Any, camel: str, snake: str) -> Any:
    """One field of an SDK object, by its name in the first generation or in the second; None when it has neither."""
    found = getattr(item, snake, None)
    return getattr(item, camel, None) if found is None else found


def input_schema(tool: Any) -> dict[str, Any]:
    """The JSON Schema that a tool declares for its arguments; the open object when it declares none."""
    declared = field(tool, "inputSchema", "input_schema")
    return dict(declared) if isinstance(declared, Mapping) else {}


def describe_arguments(fn: Callable[..., Any], schema: Mapping[str, Any]) -> None:
    """Let a function that takes `**kwargs` show what the remote tool takes.

    Required arguments are required, and a declared default is bound before the policy judges the call: it is the value
    that the server would use. Everything else stays open, for the server to check.
    """
    with_input_schema(fn, schema)
    properties = schema.get("properties")
    required = schema.get("required")
    declared = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, (list, tuple)) else ()
    parameters: list[Parameter] = []
    for name in dict.fromkeys([*declared, *needed]):
        if not isinstance(name, str):
            continue
        shape = declared.get(name)
        default = shape.get("default") if isinstance(shape, Mapping) else None
        if name in needed:
            default = Parameter.empty
        elif default is None:  # also for a declared null: a server that means "absent" by it may refuse it as a value
            continue
        try:
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
        except ValueError:  # no name of a Python parameter: the server checks it
            continue
    rest = "others"
    while any(parameter.name == rest for parameter in parameters):
        rest += "_"
    parameters.append(Parameter(rest, Parameter.VAR_KEYWORD))
    fn.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]


def failed(result: Any) -> bool:
    """Whether a tool result says that the tool failed."""
    return bool(field(result, "isError", "is_error"))


def result_text(result: Any) -> str:
    """A tool result as text: text as it is, everything else named with its type and size."""
    parts = [_block_text(block) for block in result.content or ()]
    structured = field(result, "structuredContent", "structured_content")
    if not parts and structured is not None:
        return json.dumps(structured, ensure_ascii=False)
    return "\n".join(parts)


def _block_text(block: Any) -> str:
    kind = block.type
    if kind == "text":
        return str(block.text)
    if kind in ("image", "audio"):
        return f"[{kind}: {_mime(block)}, {_size(block.data)}]"
    if kind == "resource_link":
        return f"[resource: {block.uri}]"
    if kind == "resource":
        resource = block.resource
        text = getattr(resource, "text", None)
        return (
            str(text) if text is not None else f"[resource: {resource.uri}, {_mime(resource)}, {_size(resource.blob)}]"
        )
    return f"[{kind}]"


def _mime(item: Any) -> str:
    return str(field(item, "mimeType", "mime_type") or "unknown type")


def _size(encoded: str) -> str:
    return f"{len(encoded) * 3 // 4 - encoded[-2:].count('=')} bytes"
