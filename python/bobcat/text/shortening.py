"""Truncation of long texts for people, with the number of omitted characters."""

from __future__ import annotations


def shortened(text: str, limit: int) -> str:
    """The first `limit` characters of `text`, and the number of omitted ones; the whole text when it is shorter."""
    return text if len(text) <= limit else f"{text[:limit]}{left_out(len(text) - limit)}"


def left_out(count: int) -> str:
    """The mark after a text that omits `count` characters."""
    return f"... [{count:,} more characters]"
