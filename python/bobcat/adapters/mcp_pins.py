"""Pins of an MCP server's tools: digests of the complete definition of each tool.

A definition is split into parts, so that a difference names its part. The digest over all parts is
`ToolDef.definition`, to which runs and approvals are bound. The same server has the same pins in both generations of
the SDK.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from bobcat.adapters.mcp_content import field
from bobcat.errors import McpServerError
from bobcat.text.display import safe_text
from bobcat.tools.toolset import ToolSet

PARTS = "__bobcat_definition__"
"""Function attribute of an MCP tool with the digests of its definition's parts."""
DIGEST = "digest"
"""The name of the digest over all parts."""
_DIGITS = 32

Pin: TypeAlias = Mapping[str, str]
"""The digest of each part of a definition by its name, and that of the whole as `digest`."""
Pins: TypeAlias = Mapping[str, "str | Pin"]


def mcp_pins(tools: ToolSet) -> dict[str, dict[str, str]]:
    """The pins of the MCP tools in a set, by name: plain JSON, to keep and to pass to `mcp_tools(pins=...)`."""
    found: dict[str, dict[str, str]] = {}
    for name, tool in tools.tools.items():
        pin = getattr(tool.fn, PARTS, None)
        if isinstance(pin, Mapping):
            found[name] = dict(pin)
    return found


def pin_of(listed: Any) -> dict[str, str]:  # Any: the SDK's tool, of either generation
    """The pin of one listed tool."""
    parts = {
        "name": _digest(listed.name),
        "title": _digest(getattr(listed, "title", None)),
        "description": _digest(listed.description),
        "input schema": _digest(field(listed, "inputSchema", "input_schema")),
        "output schema": _digest(field(listed, "outputSchema", "output_schema")),
        "annotations": _digest(_plain(getattr(listed, "annotations", None))),
    }
    return {DIGEST: _digest(parts), **parts}


def changed_parts(known: str | Pin, found: Pin) -> list[str]:
    """The parts in which a definition differs from its pin; `definition` for a pin without parts."""
    whole = known if isinstance(known, str) else known.get(DIGEST)
    if whole == found[DIGEST]:
        return []
    if isinstance(known, str):
        return ["definition"]
    return [part for part in found if part != DIGEST and known.get(part) != found[part]] or ["definition"]


def read_pins(given: Pins | str | os.PathLike[str]) -> Pins:
    """Pins from a mapping or a JSON file. Raises `ValueError` for another shape, and `OSError`."""
    read: object = given
    if isinstance(given, (str, os.PathLike)):
        try:
            read = json.loads(Path(given).read_bytes())
        except ValueError as error:
            raise ValueError(
                f"{os.fspath(given)}: pins must be a JSON object of tool names and digests: {error}"
            ) from error
    if not isinstance(read, Mapping):
        raise ValueError(f"pins must be a mapping of tool names to digests, got {type(read).__name__}")
    for name, pin in read.items():
        parts = pin.values() if isinstance(pin, Mapping) else [pin]
        if not isinstance(name, str) or not all(isinstance(part, str) for part in parts):
            raise ValueError(f"the pin of `{safe_text(str(name))}` is neither a digest nor a mapping of digests")
        if isinstance(pin, Mapping) and DIGEST not in pin:
            raise ValueError(f"the pin of `{safe_text(name)}` has no `{DIGEST}`")
    return read


def check_pins(pins: Pins, found: Mapping[str, Pin], server: str) -> None:
    """Raise `McpServerError` unless the listed tools are exactly the pinned ones."""
    problems: list[str] = []
    for name in sorted({*pins, *found}):
        if name not in found:
            problems.append(f"`{safe_text(name)}` is pinned but not listed")
        elif name not in pins:
            problems.append(f"`{safe_text(name)}` is listed but not pinned")
        elif changed := changed_parts(pins[name], found[name]):
            problems.append(differs(name, changed))
    if problems:
        raise McpServerError(f"MCP server `{server}` does not match its pins: {'; '.join(problems)}")


def differs(name: str, parts: Sequence[str]) -> str:
    """The message for a tool with a changed definition."""
    return f"the {', '.join(parts)} of `{safe_text(name)}` {'has' if len(parts) == 1 else 'have'} changed"


def _plain(item: Any) -> object:
    """An object of the SDK as JSON, with the names of the protocol."""
    return item.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(item, "model_dump") else item


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:_DIGITS]
