"""The seam of compressors, and its rules: a text gets strictly shorter or stays as it is."""

from __future__ import annotations

import asyncio
from typing import Protocol, runtime_checkable

import msgspec

from bobcat.aio.tasks import being_cancelled
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef
from bobcat.text.json_text import format_exception

COMPRESS_SECONDS = 30.0
"""Longest time that a run waits for a compressor."""


@runtime_checkable
class Compressor(Protocol):
    """Shortens the text of one result: an async function.

    It gets results with a text and `ok` only. What it does not shorten it returns as it is.
    """

    async def __call__(self, result: ActionResult, request: ActionRequest, tool: ToolDef) -> ActionResult:
        """Return the result with the text that the model gets."""


class Compressed(msgspec.Struct, frozen=True):
    """The outcome of one compression: the shorter `text`, or None; `error` is a failure's."""

    text: str | None = None
    error: str | None = None


async def compress(
    compressor: Compressor,
    result: ActionResult,
    request: ActionRequest,
    tool: ToolDef,
    *,
    seconds: float | None = COMPRESS_SECONDS,
) -> Compressed:
    """Compress a result. A failure, and a text that did not get shorter, leave the result as it is."""
    if result.ok is not True or not isinstance(result.value, str):
        return Compressed()
    try:
        async with asyncio.timeout(seconds):
            found: object = await compressor(result, request, tool)
    except asyncio.CancelledError as error:
        if being_cancelled():
            raise
        return Compressed(error=format_exception(error))
    except (Exception, SystemExit) as error:
        return Compressed(error=format_exception(error))
    text = found.value if isinstance(found, ActionResult) and found.ok is True else None
    return Compressed(str(text)) if isinstance(text, str) and len(text) < len(result.value) else Compressed()
