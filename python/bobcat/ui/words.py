"""Words, times and addresses that several pages show."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

from bobcat.text.elapsed import since

STATUS_STYLES = {
    "queued": "note", "running": "note", "suspended": "part", "succeeded": "good", "failed": "bad",
    "cancelled": "quiet",
    "ok": "good", "denied": "bad", "uncertain": "part", "waiting": "part", "unfinished": "quiet",
    "pending": "part", "granted": "good", "expired": "quiet", "withdrawn": "quiet",
}  # fmt: skip
"""The class of the colour of each status of runs, steps and approvals."""


def run_path(run_id: str) -> str:
    """The address of a run."""
    return f"/run?id={quoted(run_id)}"


def approval_path(id: str) -> str:
    """The address of an approval."""
    return f"/approvals/{quoted(id)}"


def quoted(part: str) -> str:
    """A part of an address; lone surrogates are escaped."""
    return quote(part.encode("utf-8", "surrogatepass"), safe="")


def moment_text(moment: datetime) -> str:
    """A time in UTC, to the second, as HTML."""
    shown = moment.astimezone(UTC)
    return f'<time datetime="{shown.isoformat()}">{shown:%Y-%m-%d %H:%M:%S} UTC</time>'


def ago(moment: datetime, now: datetime) -> str:
    """The time since a moment."""
    return f"{since(moment, now)} ago"
