"""Measurement of a store: its statements and commits, each append until it was acknowledged, and steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from time import monotonic
from typing import Any

from bobcat.journal.records import StepRecord
from bobcat.stores.protocol import DurableStore
from bobcat.stores.traffic import traffic_of
from bobcat.workers.activity import Activity

REPLY, RESULT = "model.output", "action.result"
MAX_OPEN = 10_000
"""Number of steps without a result that are remembered."""


def measure_appends(store: DurableStore, activity: Activity) -> None:
    """Count the appends of this store object from now on, with its own counters.

    The object's methods are replaced, so that it stays the kind of store that it is.
    """
    activity.traffic = traffic_of(store)
    meter = _Meter(activity)
    for name in ("append_fenced", "append_group", "conclude"):
        method = getattr(store, name, None)
        if method is not None:
            setattr(store, name, meter.measured(method))


class _Meter:
    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._replies: dict[str, datetime] = {}

    def measured(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        """The method, with each call counted. Any: arguments and result of the method."""

        async def call(records: StepRecord | Iterable[StepRecord], *args: Any, **options: Any) -> Any:
            began = monotonic()
            result = await method(records, *args, **options)
            appended = (records,) if isinstance(records, StepRecord) else tuple(records)
            self._activity.count_append(len(appended), monotonic() - began)
            for record in appended:
                self._note(record)
            return result

        return call

    def _note(self, record: StepRecord) -> None:
        """Count a step from the reply of the model to the result of its action."""
        if record.kind == REPLY:
            self._replies[record.run_id] = record.timestamp
            if len(self._replies) > MAX_OPEN:
                del self._replies[next(iter(self._replies))]
        elif record.kind == RESULT:
            began = self._replies.pop(record.run_id, None)
            if began is not None:
                self._activity.count_step((record.timestamp - began).total_seconds())
