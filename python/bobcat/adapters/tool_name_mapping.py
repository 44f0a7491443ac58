"""Tool names in the providers' character set: letters, digits, `_` and `-`, up to 64; an MCP server allows more.

A valid name is sent unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_WIRE_NAME = 64
"""The longest tool name that every provider takes."""

_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


class ToolNameMapping:
    """The names of a set of tools, both ways. No two tools share a wire name."""

    def __init__(self, tools: Iterable[str]) -> None:
        names = list(tools)
        self._wire = {name: name for name in names if name == _clean(name)}
        self._tool = dict(self._wire)
        for name in names:
            if name not in self._wire:
                wire = self._free(_clean(name))
                self._wire[name] = wire
                self._tool[wire] = name

    def to_wire(self, tool: str) -> str:
        """The wire name of a tool, also of one outside the set."""
        return self._wire.get(tool) or _clean(tool)

    def to_tool(self, wire: str) -> str:
        """The tool of a wire name; the name itself for an unknown one."""
        return self._tool.get(wire, wire)

    def _free(self, wanted: str) -> str:
        wire, count = wanted, 1
        while wire in self._tool:
            count += 1
            suffix = f"_{count}"
            wire = wanted[: MAX_WIRE_NAME - len(suffix)] + suffix
        return wire


def _clean(name: str) -> str:
    return _REFUSED.sub("_", name)[:MAX_WIRE_NAME] or "_"
