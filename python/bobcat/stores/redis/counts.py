"""Counts of live runs in a Redis store, from the reply of its script."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from bobcat.stores.codec import moment_of
from bobcat.stores.counts import StoreCounts


def counts_of_reply(reply: Any) -> StoreCounts:  # Any: the reply of a script
    """The counts that the script `counts` returned."""
    now, queued, running, suspended, kinds, due, first, approvals, oldest, uncertain = reply
    return StoreCounts(
        moment_of(int(now)),
        {"queued": queued, "running": running, "suspended": suspended},
        {kind.decode(): number for kind, number in zip(kinds[::2], kinds[1::2], strict=True)},
        due,
        _moment(first) if due else None,
        approvals,
        _moment(oldest),
        uncertain,
    )


def _moment(text: bytes) -> datetime | None:
    return moment_of(int(float(text))) if text else None
