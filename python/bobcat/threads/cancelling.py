"""Cancellation of a turn that this process does not execute."""

from __future__ import annotations

from bobcat.journal.index import index_journal
from bobcat.runtime.compat import DEFAULTS
from bobcat.runtime.hash_chain import check_chain
from bobcat.runtime.interrupts import Interrupts
from bobcat.runtime.journaling import RunJournal
from bobcat.runtime.lease import LeaseKeeper
from bobcat.runtime.options import Options
from bobcat.stores.protocol import RunBusy
from bobcat.threads.files import files_to_body
from bobcat.threads.journal import Begun, ThreadJournal, turn_id
from bobcat.threads.worker import CANCEL


async def end_waiting_turn(journal: ThreadJournal, begun: Begun, options: Options, reason: str) -> bool:
    """Record the end of a turn that waits; false while a process executes it."""
    store = journal.store
    keeper = LeaseKeeper(store, journal.run_id, owner=None, seconds=options.lease_seconds)
    try:
        await keeper.acquire()
    except RunBusy:
        return False
    run_id = turn_id(journal.thread, begun.number)
    interrupts = Interrupts(None, None, ends_waits=False, clock=options.clock)
    run = RunJournal(
        store, run_id, compat=DEFAULTS, interrupts=interrupts, owner=None, lease_seconds=options.lease_seconds
    )  # fmt: skip
    try:
        if run.lease_keeper is None:
            return False
        await run.lease_keeper.acquire()
        records = await store.load(run_id)
        run.chain.head, run.chain.seq = check_chain(records, run_id), index_journal(records).next_seq
        text = f"cancelled: {reason}"
        if not records:
            started = {"task": begun.text, **files_to_body(begun.attachments), "bundle_id": options.policy.id}
            await run.write("run.started", started, "", interrupts.now())
        body = {"step": 0, "error": text, "code": "cancelled"}
        await run.write("run.cancelled", body, "", interrupts.now())
        await store.set_status(run_id, "cancelled", detail={"error": text}, lease=run.lease_keeper.lease)
    except RunBusy:
        return False
    finally:
        if run.lease_keeper is not None and run.lease_keeper._lease is not None:
            await run.lease_keeper.release()
        await store.set_status(journal.run_id, "suspended", detail={"thread": True}, lease=keeper.lease)
        await keeper.release()
    return True


async def cancel_elsewhere(journal: ThreadJournal, begun: Begun, reason: str) -> None:
    """Ask the process that executes the turn to cancel it. Raises `VersionConflict` when it was asked before."""
    await journal.store.put(CANCEL, f"{journal.run_id}#{begun.number}", {"reason": reason}, expected=0)
