"""Digests of JSON values and of tool sets: what a consent, or a turn of a thread, is bound to."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from bobcat.model.frozen import thaw
from bobcat.model.plain_fields import fields_to_json
from bobcat.model.run import ToolDef
from bobcat.tools.schema import tooldef_to_json_schema
from bobcat.tools.toolset import ToolSet


def exact_digest(value: Any) -> str:  # Any: JSON
    """SHA-256 of a JSON value, its keys sorted. Raises `TypeError` or `ValueError` for another value."""
    text = json.dumps(thaw(value), sort_keys=True, allow_nan=False, separators=(",", ":"))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def tools_digest(tools: ToolSet) -> str:
    """Digest of each tool's name, description, schema, declaration and external definition."""
    return exact_digest([_tool(tools.get(name)) for name in sorted(tools.names())])


def _tool(tool: ToolDef) -> list[Any]:  # Any: JSON
    return [
        tool.name, tool.description, tool.definition, fields_to_json(tool.metadata), tooldef_to_json_schema(tool),
    ]  # fmt: skip
