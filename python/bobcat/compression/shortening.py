"""Compressors of text: leave out the middle, and count repeated lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

from bobcat.compression.protocol import Compressor
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef

MAX_CHARS = 8000
HEAD_RATIO = 0.6
MARKER = "\n…[{count} characters left out]…\n"


def truncate_compressor(
    *, max_chars: int = MAX_CHARS, keep_head_ratio: float = HEAD_RATIO, marker: str = MARKER
) -> Compressor:
    """Create a compressor that keeps `max_chars` characters of a longer text, from its beginning and its end.

    `keep_head_ratio` of them are from the beginning. `marker` is in place of the middle, with the number of missing
    characters as its `{count}`; a text that would not get shorter with it stays as it is. Raises `ValueError` for
    arguments out of their range.
    """
    if max_chars <= 0:
        raise ValueError("max_chars must be positive")
    if not 0.0 <= keep_head_ratio <= 1.0:
        raise ValueError("keep_head_ratio must be between 0.0 and 1.0")
    return _of_text(lambda text: truncated(text, max_chars, keep_head_ratio, marker))


def dedup_compressor(*, min_run: int = 2) -> Compressor:
    """Create a compressor that shows equal lines in a row once, as `LINE  (xN)`, from `min_run` lines on.

    A text that would not get shorter stays as it is. Raises `ValueError` for fewer than two lines.
    """
    if min_run < 2:
        raise ValueError("min_run must be at least 2")
    return _of_text(lambda text: deduplicated(text, min_run))


def truncated(text: str, max_chars: int = MAX_CHARS, keep_head_ratio: float = HEAD_RATIO, marker: str = MARKER) -> str:
    """The text without its middle, where that is shorter."""
    left_out = len(text) - max_chars
    if left_out <= 0:
        return text
    head = int(max_chars * keep_head_ratio)
    middle = marker.format(count=left_out)
    return text[:head] + middle + text[head + left_out :] if len(middle) < left_out else text


def deduplicated(text: str, min_run: int = 2) -> str:
    """The text with equal lines in a row counted, where that is shorter."""
    lines: list[str] = []
    for line, equal in groupby(text.split("\n")):
        count = sum(1 for _ in equal)
        lines += [f"{line}  (x{count})"] if count >= min_run else [line] * count
    found = "\n".join(lines)
    return found if len(found) < len(text) else text


def _of_text(shorten: Callable[[str], str]) -> Compressor:
    async def compressor(result: ActionResult, request: ActionRequest, tool: ToolDef) -> ActionResult:
        if not result.ok or not isinstance(result.value, str):
            return result
        text = shorten(result.value)
        return result if text is result.value else replace(result, value=text)

    return compressor
