"""Tool names as providers accept them. They take letters, digits, `_` and `-`, up to 64; an MCP server takes more.

A name that is fine already goes over the wire as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_WIRE_NAME = 64
"""The longest tool name that every provider takes."""

_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


class WireNames:
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

    def wire(self, tool: str) -> str:
        """How a tool is called on the wire, also when the set does not have it."""
        return self._wire.get(tool) or _clean(tool)

    def tool(self, wire: str) -> str:
        """Which tool is meant; the name itself when it is none of the set."""
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
