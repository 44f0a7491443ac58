"""Cancellation of a turn, by whichever process. A request is durable before it is acted on.

The process that executes the turn ends its run. A turn that no process executes ends with a record, under the thread's
lease: at once, or by the next process that takes the thread.
"""

from __future__ import annotations

from contextlib import suppress

from bobcat.approvals.waking import wake
from bobcat.journal.index import index_journal
from bobcat.runtime.compat import DEFAULTS
from bobcat.runtime.hash_chain import check_chain
from bobcat.runtime.interrupts import Interrupts
from bobcat.runtime.journaling import RunJournal
from bobcat.runtime.lease import LeaseKeeper
from bobcat.runtime.options import Options
from bobcat.stores.protocol import RunBusy, VersionConflict
from bobcat.threads.files import files_to_body
from bobcat.threads.journal import Begun, ThreadJournal, turn_id
from bobcat.threads.metadata import check
from bobcat.threads.sending import leave_to_purge
from bobcat.threads.view import ENDS

CANCEL = "thread.cancel"


async def request_cancellation(journal: ThreadJournal, begun: Begun, reason: str) -> None:
    """Record that a turn is to be cancelled. The first reason is kept."""
    with suppress(VersionConflict):
        await journal.store.put(CANCEL, turn_id(journal.thread, begun.number), {"reason": reason}, expected=0)


async def requested_reason(journal: ThreadJournal, number: int) -> str | None:
    """The reason of a recorded request, or None."""
    entry = await journal.store.get(CANCEL, turn_id(journal.thread, number))
    return None if entry is None else str(entry.body.get("reason", ""))


async def end_idle_turn(journal: ThreadJournal, begun: Begun, options: Options, reason: str) -> bool:
    """Record the end of a turn that no process executes; false while one does."""
    store = journal.store
    keeper = LeaseKeeper(store, journal.run_id, owner=options.owner, seconds=options.lease_seconds)
    try:
        await keeper.acquire()
    except RunBusy:
        return False
    try:
        if await check(store, journal.thread) is None:  # purged since; the lease has made the run known again
            await leave_to_purge(journal)
            return True
        return await record_cancellation(journal, begun, options, reason)
    finally:
        await store.set_status(journal.run_id, "suspended", detail={"thread": True}, lease=keeper.lease)
        await keeper.release()


async def record_cancellation(journal: ThreadJournal, begun: Begun, options: Options, reason: str) -> bool:
    """Record the end of a turn, while holding the thread's lease; false while another worker has the turn's run."""
    store, run_id = journal.store, turn_id(journal.thread, begun.number)
    interrupts = Interrupts(None, None, ends_waits=False, clock=options.clock)
    run = RunJournal(
        store, run_id, compat=DEFAULTS, interrupts=interrupts, owner=options.owner, lease_seconds=options.lease_seconds
    )  # fmt: skip
    if run.lease_keeper is None:
        return False
    try:
        await run.lease_keeper.acquire()
    except RunBusy:
        return False
    try:
        records = await store.load(run_id)
        if any(each.kind in ENDS for each in records):
            return True
        run.chain.head, run.chain.seq = check_chain(records, run_id), index_journal(records).next_seq
        text = f"cancelled: {reason}"
        if not records:
            started = {"task": begun.text, **files_to_body(begun.attachments), "bundle_id": options.policy.id}
            await run.write("run.started", started, "", interrupts.now())
        body = {"step": 0, "error": text, "code": "cancelled"}
        await run.write("run.cancelled", body, "", interrupts.now())
        await store.set_status(run_id, "cancelled", detail={"error": text}, lease=run.lease_keeper.lease)
        await wake(store, run_id, {})
    finally:
        await run.lease_keeper.release()
    return True
