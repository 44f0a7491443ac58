"""Compressors made of others: none, several in a row, and one by the tool's declaration."""

from __future__ import annotations

from collections.abc import Mapping

from bobcat.compression.protocol import Compressor
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef


def identity_compressor() -> Compressor:
    """Create a compressor that leaves every result as it is."""
    return compose_compressors()


def compose_compressors(*compressors: Compressor) -> Compressor:
    """Create a compressor that applies `compressors` from left to right, each to the result of the one before."""

    async def compressor(result: ActionResult, request: ActionRequest, tool: ToolDef) -> ActionResult:
        for each in compressors:
            result = await each(result, request, tool)
        return result

    return compressor


def route_compressor(routes: Mapping[str | None, Compressor]) -> Compressor:
    """Create a compressor that selects one by `@tool(compress=...)`; the key None serves all other tools.

    A result without a route stays as it is. The mapping is copied.
    """
    copied = dict(routes)
    default = copied.get(None)

    async def compressor(result: ActionResult, request: ActionRequest, tool: ToolDef) -> ActionResult:
        chosen = copied.get(tool.metadata.compress, default)
        return result if chosen is None else await chosen(result, request, tool)

    return compressor
