"""Sinks that write one line per event to a text stream the user opened and will close."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import IO

from bobcat.model import AuditEvent
from bobcat.plain_json import json_text
from bobcat.sinks.base import Sink

BODY_CHARS = 120
"""How much of an event's body `stdout_sink` shows."""


def stdout_sink(*, stream: IO[str] | None = None) -> Sink:
    """A line for people per event, on `stream` or the standard output of the moment it is made."""
    target = stream if stream is not None else sys.stdout

    async def sink(event: AuditEvent) -> None:
        body = json_text(dict(event.body))[:BODY_CHARS]
        target.write(
            f"[{event.timestamp.isoformat()}] #{event.seq:>3} {event.kind:<22} "
            f"corr={event.correlation_id[:8]} body={body}\n"
        )
        target.flush()

    return sink


def jsonl_sink(handle: IO[str]) -> Sink:
    """One line of canonical JSON per event, flushed at once. Every line is valid JSON, NaN and the like as strings."""

    async def sink(event: AuditEvent) -> None:
        record = {
            "correlation_id": event.correlation_id,
            "bundle_id": event.bundle_id,
            "seq": event.seq,
            "kind": event.kind,
            "timestamp": event.timestamp.isoformat(),
            "body": dict(event.body),
        }
        handle.write(json_text(record) + "\n")
        with suppress(AttributeError, ValueError):  # not every text handle can be flushed
            handle.flush()

    return sink
