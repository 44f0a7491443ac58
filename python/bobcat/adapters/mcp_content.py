"""Tool listings and results of an MCP server, of either generation of the SDK, as values of this package.

The two generations name the same fields differently (`inputSchema`, `input_schema`); no other code depends on them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


# Any throughout: the objects are the SDK's, of either generation.
def field(item: Any, camel: str, snake: str) -> Any:
    """One field of an SDK object, by its name in the first generation or in the second; None without either."""
    found = getattr(item, snake, None)
    return getattr(item, camel, None) if found is None else found


def input_schema(tool: Any) -> dict[str, Any]:
    """The JSON Schema that a tool declares for its arguments; the open object when it declares none."""
    declared = field(tool, "inputSchema", "input_schema")
    return dict(declared) if isinstance(declared, Mapping) else {}


def failed(result: Any) -> bool:
    """Return true if a tool result is a failure."""
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
