"""The journal of a run in progress: opened under a lease, verified, appended to, and closed with the run's status.

The machine defines the records; the driver and the fast path write them through `RunJournal.write`. A store with only
`append` and `load` has no lease and no status; the lynx-agent compatibility mode uses neither, and no hashes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from bobcat._core import Chain
from bobcat.journal.index import EMPTY_JOURNAL, JournalIndex, index_journal
from bobcat.journal.records import RunStore, StepRecord
from bobcat.logs import logger
from bobcat.model.fast_init import positional_factory
from bobcat.model.run import FinalAnswer, RunErrorCode, RunResult
from bobcat.runtime.commands import Interrupted, Superseded
from bobcat.runtime.compat import CompatOptions
from bobcat.runtime.hash_chain import CHAIN, DamagedJournal, check_chain, check_consistency, link
from bobcat.runtime.interrupts import Interrupts
from bobcat.runtime.lease import LeaseKeeper, Loss
from bobcat.runtime.outbox import Outbox
from bobcat.runtime.reply import Proposal, reply_from_body
from bobcat.runtime.resume_check import Binding, mismatch
from bobcat.stores.errors import lease_lost
from bobcat.stores.protocol import (
    BatchingStore,
    GroupingStore,
    LeaseLost,
    RunBusy,
    RunStatus,
    RunSummary,
    Transaction,
    TransactionalStore,
    batching,
    grouping,
    has_leases,
)
from bobcat.text.json_text import format_exception

log = logger("runtime")
CLOSING_SECONDS = 10.0
"""Timeout at the end of a run for the store to save its status and to release the lease."""
REFUSED = "journal refused: "
"""Error prefix of a run whose journal is damaged, or belongs to another run."""

Replies: TypeAlias = dict[int, tuple[Proposal, ...] | FinalAnswer]
Opened: TypeAlias = tuple[JournalIndex, Replies]

_FINAL: Mapping[str, RunStatus] = {
    "succeeded": "succeeded", "failed": "failed", "cancelled": "cancelled", "suspended": "suspended"
}  # fmt: skip

_record = positional_factory(StepRecord)


def _link(previous: str, body: Mapping[str, Any], run_id: str, seq: int, kind: str, key: str) -> str:
    return link(previous, body, run_id=run_id, seq=seq, kind=kind, key=key)


class CannotOpen(Exception):
    """The run cannot resume from its journal. With the code `busy`, the message is the store's."""

    def __init__(self, error: str, code: RunErrorCode) -> None:
        super().__init__(error)
        self.code = code


class _Undone(Exception):
    """Raised to roll a transaction back."""


class RunJournal:
    """The journal of one run. `chain` builds its records."""

    def __init__(
        self,
        store: RunStore,
        run_id: str,
        *,
        compat: CompatOptions,
        interrupts: Interrupts,
        owner: str | None,
        lease_seconds: float,
        claimed: LeaseKeeper | None = None,
    ) -> None:
        self.store = store
        self.chain = Chain(_record, _link if compat.guards_journal else None, run_id)
        self.lease_keeper: LeaseKeeper | None = None
        self._run_id = run_id
        self._compat = compat
        self._interrupts = interrupts
        self.append: Callable[[StepRecord], Awaitable[None]] = store.append
        """Append a record built by `chain`, outside of a transaction. `chain.kept` must follow."""
        self._opened = False
        """True when this attempt has begun. Else the run is unchanged."""
        self.restored = False
        """True when the store was restored since the run began: effects after the last record are unknown."""
        self._transaction: tuple[AbstractAsyncContextManager[Transaction], Transaction] | None = None
        self._waits_uncertain = False
        """True when the run is suspended because an action may have happened; listings and metrics count it."""
        self.outbox: Outbox | None = None
        """The records on their way, if the store takes several at once."""
        self._grouping: GroupingStore | None = None
        self._batching: BatchingStore | None = None
        self._held_kinds: frozenset[str] = frozenset()
        self._background_kinds: frozenset[str] = frozenset()
        self._concludes = False
        self._concluded = False
        """True when the run has its status and is released."""
        self._durable = 0, ""
        """Position and hash of the journal as the store has it."""
        self.reacquires = True
        """False when something beside the journal depends on the first lease of the attempt."""
        self._unwritten = False
        """True while a lease from `begin` has protected no write: a crash of the store may undo it."""
        self._is_claimed = claimed is not None
        """True when the caller has the lease, and records the status of a failed run."""
        self.on_record: Callable[[], None] | None = None
        """Called after each record that `write` appended."""
        if compat.guards_journal and has_leases(store):
            self.lease_keeper = claimed or LeaseKeeper(store, run_id, owner=owner, seconds=lease_seconds)
            self.append = self.lease_keeper.write

    def group(self, held: frozenset[str], background: frozenset[str] = frozenset(), *, concludes: bool = False) -> None:
        """Write records together, where the store can do so. Called before `open`.

        Records of the kinds `held` are written with the next one of another kind, or by `start`; those of the kinds
        `background` are sent at once, and nothing waits for them. All are durable before a record of another kind.
        With `concludes`, a final answer ends the run in the same transaction: no record follows it.
        """
        store = None if self.lease_keeper is None else grouping(self.lease_keeper.store)
        if store is not None:
            self._grouping, self._held_kinds, self._background_kinds = store, held, background
            self._batching, self._concludes = batching(store), concludes
            self.outbox = Outbox(self._write_group, self._drop_undurable)

    def start(self) -> None:
        """Send the records that are held, in the background."""
        if self.outbox is not None:
            self.outbox.start()

    async def open(self, binding: Binding, allow_changed: frozenset[str]) -> Opened:
        """Acquire the run and read its state. Raises `CannotOpen`."""
        summary = await self._take()
        records: Sequence[StepRecord] = ()
        if self._batching is None or not _is_empty(summary):
            records = await self._call("store.load", self.store.load, self._run_id)
        try:
            journal = index_journal(records, keeps_uncertain=self._compat.keeps_uncertain)
            replies = {step: reply_from_body(body) for step, body in journal.replies.items()}
            if journal.final is not None and not isinstance(journal.final.get("step", 0), int):
                raise TypeError("the final record has no step number")
            if self._compat.guards_journal:
                self.chain.head = check_chain(records, self._run_id)
                check_consistency(journal, replies, self._run_id)
                _check_status(summary, records, journal)
        except DamagedJournal as damaged:
            raise CannotOpen(f"{REFUSED}{damaged}", "journal_refused") from damaged
        except Exception as error:
            raise CannotOpen(f"store.load failed: {format_exception(error)}", "store_failed") from error
        problem = mismatch(journal, binding, allow_changed) if self._compat.guards_journal else None
        if problem is not None:
            raise CannotOpen(f"{REFUSED}{problem}", "journal_refused")
        self.chain.seq = journal.next_seq
        self._durable = self.chain.seq, self.chain.head
        await self._begin(journal, summary)
        self._opened = True
        return journal, replies

    async def _take(self) -> RunSummary | None:
        """Acquire the lease; return the store's status of the run."""
        lease_keeper = self.lease_keeper
        if lease_keeper is None:
            return None
        summary: RunSummary | None
        if self._is_claimed:
            if lease_keeper.is_due():
                await self._call("store.renew", lease_keeper.renew)
            summary = await self._call("store.load", lease_keeper.store.run, self._run_id)
            if summary is None or summary.fence != lease_keeper.lease.fence:
                raise CannotOpen(str(lease_lost(lease_keeper.lease, self._run_id)), "busy")
            await lease_keeper.stop_heartbeat()
            lease_keeper.start_heartbeat(self._on_lease_lost)
            self.restored = summary.restored
            return summary
        if self._batching is not None:
            summary = await self._call("store.acquire", lease_keeper.begin, self._batching)
            self._unwritten = True
            lease_keeper.start_heartbeat(self._on_lease_lost)
            self.restored = summary is not None and summary.restored
            return summary
        # First the status, then the lease, then the records: a later read can only return more.
        summary = await self._call("store.load", lease_keeper.store.run, self._run_id)
        await self._call("store.acquire", lease_keeper.acquire)
        lease_keeper.start_heartbeat(self._on_lease_lost)  # at once: another run may block the event loop
        if (
            lease_keeper.lease.fence != (0 if summary is None else summary.fence) + 1
        ):  # the status or the epoch may have changed by now
            summary = await self._call("store.load", lease_keeper.store.run, self._run_id)
        self.restored = summary is not None and summary.restored
        return summary

    async def _begin(self, journal: JournalIndex, summary: RunSummary | None) -> None:
        lease_keeper = self.lease_keeper
        if lease_keeper is None:
            return
        is_running = (
            self._grouping is not None  # `acquire` has made it `running`
            if summary is None
            else summary.status == "running"
            and (self._is_claimed or (self._batching is not None and not summary.detail))
        )
        if journal.final is None and not is_running:
            await self._call("store.acquire", self._set_status, "running", {})

    def _on_lease_lost(self, why: Loss) -> None:
        if isinstance(why, Superseded) and self._unwritten and self.reacquires:
            return  # the first write finds out, and acquires the run again
        reason = why.detail if isinstance(why, Superseded) else why.error
        if self._interrupts.lease_ok or isinstance(why, Superseded):  # not again for each renewal that fails
            log.warning("run %s: the lease is lost: %s", self._run_id, reason, extra={"run_id": self._run_id})
        self._interrupts.notify_lease_lost(why)

    # Any: store calls with any arguments and results.
    async def _call(self, operation: str, call: Callable[..., Any], *args: Any) -> Any:
        try:
            answer = await self._interrupts.wait_uninterruptible(
                call, *args, seconds=self._compat.store_timeout_seconds
            )
            if isinstance(answer, Interrupted):
                raise TimeoutError
        except RunBusy as busy:
            raise CannotOpen(str(busy), "busy") from busy
        except LeaseLost as lost:
            raise CannotOpen(str(lost), "busy") from lost
        except asyncio.CancelledError as error:
            if self._interrupts.being_cancelled():
                raise
            raise CannotOpen(f"{operation} failed: {format_exception(error)}", "store_failed") from error
        except (Exception, SystemExit) as error:
            raise CannotOpen(f"{operation} failed: {format_exception(error)}", "store_failed") from error
        return answer

    def is_due(self) -> bool:
        """Return true if the lease must be renewed before a new action starts."""
        return self.lease_keeper is not None and self.lease_keeper.is_due()

    async def ensure_valid(self) -> Loss | None:
        """Renew the lease if it is due; return the reason when no new action may start."""
        return None if self.lease_keeper is None else await self.lease_keeper.ensure_valid()

    async def write(self, kind: str, body: dict[str, Any], key: str, at: datetime) -> None:
        """Append one record. Raises the store's exceptions, and `LeaseLost` when another worker holds the run."""
        record, outbox = self.chain.record(kind, body, key, at), self.outbox
        if kind == "run.suspended":
            self._waits_uncertain = body.get("uncertain") is True
        if self._transaction is not None and kind == "action.result":
            await self._commit(record)
            self._durable = record.seq + 1, record.body.get(CHAIN, "")
        elif outbox is None:
            await self.append(record)
        else:
            outbox.put(record)
        self.chain.kept()
        if outbox is not None and kind in self._background_kinds:
            outbox.start()
        elif outbox is not None and kind == "final" and self._concludes and self._batching is not None:
            await outbox.flush_with(self._conclude)
        elif outbox is not None and kind not in self._held_kinds:
            await outbox.flush()
        if self.on_record is not None:
            self.on_record()

    async def _write_group(self, records: Sequence[StepRecord]) -> None:
        assert self.lease_keeper is not None
        assert self._grouping is not None
        await self._write_held(partial(self.lease_keeper.write_group, self._grouping, records))
        self._durable = records[-1].seq + 1, records[-1].body.get(CHAIN, "")

    async def _write_held(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write under the lease; once more, when the store has lost a lease that nothing depended on."""
        try:
            await write()
        except LeaseLost:
            if not await self._is_acquired_again():
                raise
            await write()
        self._unwritten = False

    async def _is_acquired_again(self) -> bool:
        """Acquire the run again if the store has lost the lease before any write, and nothing else has happened."""
        lease_keeper, batching = self.lease_keeper, self._batching
        if lease_keeper is None or batching is None or not (self._unwritten and self.reacquires):
            return False
        self._unwritten = False
        await lease_keeper.stop_heartbeat()
        try:
            found = await lease_keeper.begin(batching)
        except RunBusy:
            return False
        lease_keeper.start_heartbeat(self._on_lease_lost)
        return found.records == self._durable[0]

    async def _conclude(self, records: Sequence[StepRecord]) -> None:
        """Write the last records of a run that has answered, with its status, and release it."""
        assert self.lease_keeper is not None
        assert self._batching is not None
        detail = {"records": self.chain.seq, "chain": self.chain.head}
        await self._write_held(partial(self.lease_keeper.conclude, self._batching, records, "succeeded", detail))
        self._concluded = True

    def _drop_undurable(self) -> None:
        """Go back to the records that the store has: the others are lost."""
        self.chain.seq, self.chain.head = self._durable

    async def begin_transaction(self) -> Transaction:
        """Begin the transaction that the next result commits with. Raises the store's exceptions."""
        lease_keeper, store = self.lease_keeper, self.store
        if lease_keeper is None or not isinstance(store, TransactionalStore):
            raise TypeError("the store has no transactions")
        await lease_keeper.renew()
        manager = store.transaction(lease_keeper.lease)
        # Where renewals would wait for the transaction to end, no other worker can acquire the run before that either.
        lease_keeper.paused = not getattr(store, "renews_in_transactions", False)
        try:
            transaction = await manager.__aenter__()
        except BaseException:
            lease_keeper.paused = False
            raise
        self._transaction = manager, transaction
        return transaction

    async def _commit(self, record: StepRecord) -> None:
        if self._transaction is None:
            raise RuntimeError("there is no transaction")
        manager, transaction = self._transaction
        try:
            await transaction.append(record)
        except BaseException:
            await self.roll_back()
            raise
        self._transaction = None
        try:
            await manager.__aexit__(None, None, None)
        finally:
            self._resume_heartbeat()

    async def roll_back(self) -> None:
        """Undo the transaction in progress, if there is one."""
        if self._transaction is None:
            return
        (manager, _), self._transaction = self._transaction, None
        undone = _Undone()
        try:
            with suppress(_Undone):
                await manager.__aexit__(_Undone, undone, None)
        finally:
            self._resume_heartbeat()

    def _resume_heartbeat(self) -> None:
        if self.lease_keeper is not None:
            self.lease_keeper.paused = False

    async def close(self, result: RunResult | None) -> None:
        """Save the run's status, when it has a result, and release the lease.

        A store failure at this point changes nothing: the journal has the outcome, and the lease expires. A claimed run
        that has failed stays under its lease.
        """
        if self.lease_keeper is None:
            return
        try:
            if self.outbox is not None:
                await self._send_last(self.outbox)
            with suppress(Exception):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await self.roll_back()
                    if (result is None or result.outcome == "superseded") and not self._unwritten:
                        await self.lease_keeper.detect_rollback()
                    status = None if result is None else _FINAL.get(result.outcome)
                    if result is not None and status is not None and self._opened and not self._concluded:
                        if self._is_claimed and status == "failed":
                            self.lease_keeper.unrecorded = self._detail(result)
                        else:
                            await self._end(status, self._detail(result))
        finally:  # also when the run is cancelled here: otherwise the renewals would never end
            with suppress(Exception):
                async with asyncio.timeout(CLOSING_SECONDS):
                    if self._is_claimed and result is not None and result.outcome == "failed":
                        await self.lease_keeper.stop_heartbeat()
                        self.lease_keeper.start_heartbeat(lambda _: None)
                    else:
                        await self.lease_keeper.release()

    async def _send_last(self, outbox: Outbox) -> None:
        """Write the records that are held or on their way. One that failed is lost, as its run has learned."""
        try:
            with suppress(Exception):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await outbox.flush()
        finally:
            await outbox.stop()

    def _detail(self, result: RunResult) -> dict[str, Any]:
        detail: dict[str, Any] = {"records": self.chain.seq, "chain": self.chain.head}
        if result.error is not None:
            detail["error"] = result.error
        if result.approvals:
            detail["approvals"] = list(result.approvals)
            if self._waits_uncertain:
                detail["uncertain"] = True
        return detail

    async def _end(self, status: RunStatus, detail: Mapping[str, Any]) -> None:
        if self.lease_keeper is not None and self._grouping is not None:
            await self.lease_keeper.finish(self._grouping, status, detail)
        else:
            await self._set_status(status, detail)

    async def _set_status(self, status: RunStatus, detail: Mapping[str, Any]) -> None:
        if self.lease_keeper is not None:
            await self.lease_keeper.store.set_status(self._run_id, status, detail=detail, lease=self.lease_keeper.lease)


def _is_empty(summary: RunSummary | None) -> bool:
    """Return true for a run that had no record when it was acquired."""
    return summary is None or not (summary.records or summary.appended)


def _check_status(
    summary: RunSummary | None, records: Any, journal: JournalIndex
) -> None:  # Any: the value that a store returned
    """Check that the journal holds the status that the store reports. Raises `DamagedJournal`."""
    if summary is None:
        return
    if summary.status == "succeeded" and journal.final is None:
        raise DamagedJournal("the store reports that the run succeeded, but the journal has no final answer")
    _check_extent(summary.appended, summary.head, records)
    count, head = summary.detail.get("records"), summary.detail.get("chain")
    if isinstance(count, int) and isinstance(head, str) and count:
        _check_extent(count, head, records)


def _check_extent(count: int | None, head: str | None, records: Any) -> None:  # Any: as above
    """Check that at least as many records exist as the store reports, and that its hash matches. Raises
    `DamagedJournal`.
    """
    if count is not None and count > len(records):
        raise DamagedJournal(f"the store reports {count} records for the run, but {len(records)} exist")
    if count != len(records) or not records or head is None:
        return
    last = max(records, key=lambda record: record.seq)
    if last.body.get(CHAIN, head) != head:
        raise DamagedJournal("the last record does not match the hash that the store reports")


__all__ = ["EMPTY_JOURNAL", "REFUSED", "CannotOpen", "Opened", "Replies", "RunJournal"]
