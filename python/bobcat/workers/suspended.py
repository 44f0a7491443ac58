"""Suspended runs: queued again when one of their approvals has been answered or has expired.

An answer wakes its run by itself (`bobcat.approvals.waking`): here is what no answer announces.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from bobcat.approvals import Approvals
from bobcat.approvals.waking import SUSPENDED, wait_for
from bobcat.errors import ApprovalError
from bobcat.logs import logger
from bobcat.stores.protocol import DurableStore, RunSummary, StatusConflict, change_status
from bobcat.stores.queue import QueueStore
from bobcat.text.json_text import format_exception

log = logger("workers")

PAGE = 100
RETRY_SECONDS = 60.0
"""Time until a run whose approvals cannot be read is looked at again."""


class ApprovalsState(NamedTuple):
    """True when one of the approvals has been decided; else the first time when one of them expires."""

    answered: bool
    expires: datetime | None = None
    asking: frozenset[str] = frozenset()
    """The runs that asked the pending ones."""


async def approvals_state(store: DurableStore, ids: Iterable[str]) -> ApprovalsState:
    """The state of these approvals. One that is in another store wakes its run from there."""
    inbox, expires, asking = Approvals(store), list[datetime](), set[str]()
    for id in ids:
        with suppress(ApprovalError):
            approval = await inbox.show(id)
            if approval.status != "pending":
                return ApprovalsState(answered=True)
            asking.add(approval.run_id)
            if approval.expires is not None:
                expires.append(approval.expires)
    return ApprovalsState(answered=False, expires=min(expires, default=None), asking=frozenset(asking))


async def answered(store: DurableStore, ids: Iterable[str]) -> bool:
    """Return true if one of these approvals has been decided or has expired."""
    return (await approvals_state(store, ids)).answered


async def wake_or_postpone(
    store: QueueStore,
    run_id: str,
    ids: Iterable[str],
    detail: dict[str, Any],  # Any: JSON
) -> bool:
    """Queue a suspended run again if it has been answered, and return true; else set the time of the next look.

    A turn of a thread asks in its own name, so the run that waits for it is recorded: the answer wakes both.
    """
    ids = tuple(ids)
    state = await approvals_state(store, ids)
    others = state.asking - {run_id}
    if others and any([await wait_for(store, asking, run_id) for asking in sorted(others)]):
        state = await approvals_state(store, ids)  # an answer before that record has queued nothing
    if not state.answered:
        await store.look_at(run_id, state.expires)
        return False
    with suppress(StatusConflict):  # another process has resumed it
        await change_status(store, run_id, "queued", expected=SUSPENDED, detail=detail)
    return True


async def wake_overdue(store: QueueStore) -> None:
    """Look at the suspended runs that are due. An unreadable one does not block the others."""
    while True:
        page = await store.overdue(limit=PAGE)
        for run in page:
            try:
                await _look(store, run)
            except Exception as error:
                log.warning("the suspended run %s cannot be checked: %s", run.run_id, format_exception(error))
                await store.look_at(run.run_id, await store.now() + timedelta(seconds=RETRY_SECONDS))
        if len(page) < PAGE:
            return


async def _look(store: QueueStore, run: RunSummary) -> None:
    ids: Any = run.detail.get("approvals", ())  # Any: JSON that another program may have written
    await wake_or_postpone(store, run.run_id, map(str, ids), dict(run.detail))
