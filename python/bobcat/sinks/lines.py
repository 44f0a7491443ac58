"""Sinks that write one line per event to a text stream that the user opened and will close.

Writes to a stream that can block, such as a pipe or a terminal, run on a thread; writes to a regular file or a stream
in memory run in place.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import IO, Any, Literal

from bobcat._core import canonical_text
from bobcat.model.run import AuditEvent
from bobcat.sinks.base import Sink, marked
from bobcat.sinks.thread import SinkThread
from bobcat.text.display import safe_text
from bobcat.text.json_text import is_exact, json_digest, json_text

_ARGS = ("args", "judged_args", "completed_args")
"""Body keys that hold the arguments of calls."""
BODY_CHARS = 120
"""Length of the body that `stdout_sink` shows: the line equals lynx-agent's, without a truncation mark."""


def stdout_sink(*, stream: IO[str] | None = None, required: bool = False) -> Sink:
    """Create a sink that writes a readable line per event to `stream` or the present standard output.

    With `required`, the run stops before the next effect when a line cannot be written.
    """
    target = stream if stream is not None else sys.stdout
    write = _writer(target, target.flush)

    async def sink(event: AuditEvent) -> None:
        body = safe_text(json_text(dict(event.body))[:BODY_CHARS])
        await write(
            f"[{event.timestamp.isoformat()}] #{event.seq:>3} {event.kind:<22} "
            f"corr={safe_text(event.correlation_id[:8])} body={body}\n"
        )

    return marked(sink, required=required)


def jsonl_sink(handle: IO[str], *, required: bool = False, args: Literal["plain", "digest"] = "plain") -> Sink:
    """Create a sink that writes one line of canonical JSON per event, flushed at once.

    Every line is valid JSON, with NaN and infinities as strings. With `required`, the run stops before the next effect
    when a line cannot be written. With `args="digest"`, lines carry the SHA-256 of the arguments of calls
    (`args_sha256`) in place of the arguments. A decision about values that JSON cannot represent is marked `inexact`.
    """
    if args not in ("plain", "digest"):
        raise ValueError(f"args must be 'plain' or 'digest', got {args!r}")
    write = line_writer(handle)

    async def sink(event: AuditEvent) -> None:
        record = event_record(event)
        if args == "digest":
            record["body"] = _digested(event.body)
        if "context" in event.body:  # a decision, which `decide_again` repeats from this line
            _mark(record["body"])
        await write(json_text(record) + "\n")

    return marked(sink, required=required)


def event_record(event: AuditEvent) -> dict[str, Any]:  # Any: the values of an event's body
    """The fields of one line."""
    return {
        "correlation_id": event.correlation_id,
        "bundle_id": event.bundle_id,
        "seq": event.seq,
        "kind": event.kind,
        "timestamp": event.timestamp.isoformat(),
        "body": dict(event.body),
    }


def _mark(body: dict[str, Any]) -> None:  # Any: the values of an event's body, here and below
    """Mark a body whose JSON text is inexact."""
    if canonical_text(body) is None:  # PERF: the core's encoder writes exact text only
        exact = False
        with suppress(RecursionError):
            exact = is_exact(body)
        if not exact:
            body["inexact"] = True


def _digested(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with digests in place of arguments."""
    written = {name: value for name, value in body.items() if name not in _ARGS}
    for name in _ARGS:
        if name in body:
            written[f"{name}_sha256"] = json_digest(body[name])
    return written


def line_writer(handle: IO[str]) -> Callable[[str], Awaitable[None]]:
    """The function that writes a line and flushes it. Raises `TypeError` for a path."""

    def flush() -> None:
        with suppress(AttributeError, ValueError):  # not every text handle can be flushed
            handle.flush()

    return _writer(handle, flush)


def _writer(handle: IO[str], flush: Callable[[], object]) -> Callable[[str], Awaitable[None]]:
    """The function that writes a text and flushes it."""
    if isinstance(handle, str | os.PathLike):  # otherwise every event would be reported as a failure of the sink
        raise TypeError(
            f"a sink writes to an open text file, got the path {os.fspath(handle)!r}; open it with open(..., 'a')"
        )
    thread = SinkThread() if _can_block(handle) else None

    def put(text: str) -> None:
        handle.write(text)
        flush()

    async def write(text: str) -> None:
        if thread is None:
            put(text)
        else:
            await thread.run(lambda: put(text))

    return write


def _can_block(handle: object) -> bool:
    """Return true if the handle has a file descriptor that is not a regular file."""
    try:
        descriptor = handle.fileno()  # type: ignore[attr-defined]  # not every handle has this method
        return not stat.S_ISREG(os.fstat(descriptor).st_mode)
    except (AttributeError, OSError, TypeError, ValueError):
        return False
