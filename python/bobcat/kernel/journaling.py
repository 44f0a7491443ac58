"""The journal of one run, while it runs: opened under a lease, checked, written, and closed with the run's status.

The machine says what is written, the driver and the express lane write it through `RunJournal.write`. In a store of two
methods there is no lease and no status; lynx-agent's manner has neither, and no hashes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from typing import Any, TypeAlias

from bobcat._core import Chain
from bobcat.journal import EMPTY_JOURNAL, JournalIndex, RunStore, StepRecord, index_journal
from bobcat.kernel.binding import Binding, misfit
from bobcat.kernel.commands import Interrupted, Superseded
from bobcat.kernel.integrity import CHAIN, DamagedJournal, check_chain, check_sense, link
from bobcat.kernel.interrupts import Interrupts
from bobcat.kernel.manner import Manner
from bobcat.kernel.reply import Proposal, reply_from_body
from bobcat.kernel.tenure import Loss, Tenure
from bobcat.logs import logger
from bobcat.model import FinalAnswer, RunResult
from bobcat.plain_json import describe
from bobcat.quick import maker
from bobcat.stores.durable import RunBusy, RunStatus, RunSummary, Transaction, TransactionalStore, has_leases

log = logger("kernel")
CLOSING_SECONDS = 10.0
"""How long the end of a run waits for a store to note its status and to take back the lease."""
REFUSED = "journal refused: "
STORE_FAILURES = (
    "store.load failed: ",
    "store.append failed: ",
    "store.acquire failed: ",
    "store.renew failed: ",
    REFUSED,
)
"""How the errors of a run begin that are its store's, or its journal's."""

Replies: TypeAlias = dict[int, tuple[Proposal, ...] | FinalAnswer]
Opened: TypeAlias = tuple[JournalIndex, Replies]

_FINAL: Mapping[str, RunStatus] = {
    "succeeded": "succeeded", "failed": "failed", "cancelled": "cancelled", "suspended": "suspended"
}  # fmt: skip

_record = maker(StepRecord)


def _link(previous: str, body: Mapping[str, Any], run_id: str, seq: int, kind: str, key: str) -> str:
    return link(previous, body, run_id=run_id, seq=seq, kind=kind, key=key)


class CannotOpen(Exception):
    """The run cannot go on from its journal. `busy`: another worker has it."""

    def __init__(self, error: str, *, busy: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.busy = busy


class _Undone(Exception):
    """Rolls a transaction back."""


class RunJournal:
    """One run's journal. `chain` makes its records."""

    def __init__(
        self,
        store: RunStore,
        run_id: str,
        *,
        manner: Manner,
        interrupts: Interrupts,
        owner: str | None,
        lease_seconds: float,
    ) -> None:
        self.store = store
        self.chain = Chain(_record, _link if manner.guards_journal else None, run_id)
        self.tenure: Tenure | None = None
        self._run_id = run_id
        self._manner = manner
        self._interrupts = interrupts
        self.append: Callable[[StepRecord], Awaitable[None]] = store.append
        """Keeps a record that `chain` made, outside of a transaction. `chain.kept` comes after it."""
        self._opened = False
        """Whether this attempt began. Else the run stands where it stood."""
        self.restored = False
        """True when the store was restored since the run began: what the run did after its last record is unknown."""
        self._kept: tuple[AbstractAsyncContextManager[Transaction], Transaction] | None = None
        if manner.guards_journal and has_leases(store):
            self.tenure = Tenure(store, run_id, owner=owner, seconds=lease_seconds)
            self.append = self.tenure.write

    async def open(self, binding: Binding, allow_changed: frozenset[str]) -> Opened:
        """Take the run and read where it stands. Raises `CannotOpen`."""
        summary = await self._take()
        records = await self._call("store.load", self.store.load, self._run_id)
        try:
            journal = index_journal(records, doubt_stays=self._manner.doubt_stays)
            replies = {step: reply_from_body(body) for step, body in journal.replies.items()}
            if journal.final is not None and not isinstance(journal.final.get("step", 0), int):
                raise TypeError("the final record has no step number")
            if self._manner.guards_journal:
                self.chain.head = check_chain(records, self._run_id)
                check_sense(journal, replies, self._run_id)
                _check_status(summary, records, journal)
        except DamagedJournal as damaged:
            raise CannotOpen(f"{REFUSED}{damaged}") from damaged
        except Exception as error:
            raise CannotOpen(f"store.load failed: {describe(error)}") from error
        problem = misfit(journal, binding, allow_changed) if self._manner.guards_journal else None
        if problem is not None:
            raise CannotOpen(f"{REFUSED}{problem}")
        self.chain.seq = journal.next_seq
        await self._begin(journal)
        self._opened = True
        return journal, replies

    async def _take(self) -> RunSummary | None:
        """Take the lease; what the store knows of the run from then on."""
        tenure = self.tenure
        if tenure is None:
            return None
        # First the status, then the lease, then the records: what is read later can only be more.
        summary: RunSummary | None = await self._call("store.load", tenure.store.run, self._run_id)
        await self._call("store.acquire", tenure.take)
        if (
            tenure.lease.fence != (0 if summary is None else summary.fence) + 1
        ):  # it is another's status, or epoch, by now
            summary = await self._call("store.load", tenure.store.run, self._run_id)
        self.restored = summary is not None and summary.restored
        return summary

    async def _begin(self, journal: JournalIndex) -> None:
        tenure = self.tenure
        if tenure is None:
            return
        if journal.final is None:
            await self._call("store.acquire", self._set_status, "running", {})
        tenure.keep(self._lose)

    def _lose(self, why: Loss) -> None:
        reason = why.detail if isinstance(why, Superseded) else why.error
        log.warning("run %s: the lease is lost: %s", self._run_id, reason, extra={"run_id": self._run_id})
        self._interrupts.lose(why)

    # Any: calls of a store, whatever they take and return.
    async def _call(self, what: str, call: Callable[..., Any], *args: Any) -> Any:
        try:
            answer = await self._interrupts.insist(call, *args, seconds=self._manner.store_seconds)
            if isinstance(answer, Interrupted):
                raise TimeoutError
        except RunBusy as busy:
            raise CannotOpen(f"superseded: {busy}", busy=True) from busy
        except asyncio.CancelledError as error:
            if self._interrupts.being_cancelled():
                raise
            raise CannotOpen(f"{what} failed: {describe(error)}") from error
        except (Exception, SystemExit) as error:
            raise CannotOpen(f"{what} failed: {describe(error)}") from error
        return answer

    def is_due(self) -> bool:
        """Whether the lease is to be made sure of before anything is begun."""
        return self.tenure is not None and self.tenure.is_due()

    async def secure(self) -> Loss | None:
        """See to it that the lease is good for another while; why nothing more may be begun."""
        return None if self.tenure is None else await self.tenure.secure()

    async def write(self, kind: str, body: dict[str, Any], key: str, at: datetime) -> None:
        """Keep one record. Raises what the store raises, and `LeaseLost` when the run is somebody else's."""
        record = self.chain.record(kind, body, key, at)
        if self._kept is not None and kind == "action.result":
            await self._commit(record)
        else:
            await self.append(record)
        self.chain.kept()

    async def begin_transaction(self) -> Transaction:
        """A transaction that the next result is committed with. Raises what the store raises."""
        tenure, store = self.tenure, self.store
        if tenure is None or not isinstance(store, TransactionalStore):
            raise TypeError("the store has no transactions")
        await tenure.renew()
        manager = store.transaction(tenure.lease)
        # Where renewals would wait for the transaction to end, nobody can take the run before that either.
        tenure.resting = not getattr(store, "renews_in_transactions", False)
        try:
            transaction = await manager.__aenter__()
        except BaseException:
            tenure.resting = False
            raise
        self._kept = manager, transaction
        return transaction

    async def _commit(self, record: StepRecord) -> None:
        if self._kept is None:
            raise RuntimeError("there is no transaction")
        manager, transaction = self._kept
        try:
            await transaction.append(record)
        except BaseException:
            await self.roll_back()
            raise
        self._kept = None
        try:
            await manager.__aexit__(None, None, None)
        finally:
            self._rest_no_longer()

    async def roll_back(self) -> None:
        """Undo the transaction in progress, if there is one."""
        if self._kept is None:
            return
        (manager, _), self._kept = self._kept, None
        undone = _Undone()
        try:
            with suppress(_Undone):
                await manager.__aexit__(_Undone, undone, None)
        finally:
            self._rest_no_longer()

    def _rest_no_longer(self) -> None:
        if self.tenure is not None:
            self.tenure.resting = False

    async def close(self, result: RunResult | None) -> None:
        """Note the run's status, when it has a result, and give the run back. A store that fails now changes nothing:
        the journal says how the run ended, and its lease runs out.
        """
        if self.tenure is None:
            return
        try:
            with suppress(Exception):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await self.roll_back()
                    if result is None or result.status == "superseded":
                        await self.tenure.note_loss()
                    status = None if result is None else _FINAL.get(result.status)
                    if result is not None and status is not None and self._opened:
                        await self._set_status(status, self._detail(result))
        finally:  # also when the run is cancelled here: nobody else would end the renewals
            with suppress(Exception):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await self.tenure.give_back()

    def _detail(self, result: RunResult) -> dict[str, Any]:
        detail: dict[str, Any] = {"records": self.chain.seq, "chain": self.chain.head}
        if result.error is not None:
            detail["error"] = result.error
        if result.approvals:
            detail["approvals"] = list(result.approvals)
        return detail

    async def _set_status(self, status: RunStatus, detail: Mapping[str, Any]) -> None:
        if self.tenure is not None:
            await self.tenure.store.set_status(self._run_id, status, detail=detail, lease=self.tenure.lease)


def _check_status(
    summary: RunSummary | None, records: Any, journal: JournalIndex
) -> None:  # Any: what a store returned
    """What the store says of the run must be on record. Raises `DamagedJournal`."""
    if summary is None:
        return
    if summary.status == "succeeded" and journal.final is None:
        raise DamagedJournal("the store says that the run succeeded, and its answer is not on record")
    _check_extent(summary.appended, summary.head, records)
    count, head = summary.detail.get("records"), summary.detail.get("chain")
    if isinstance(count, int) and isinstance(head, str) and count:
        _check_extent(count, head, records)


def _check_extent(count: int | None, head: str | None, records: Any) -> None:  # Any: as above
    """The records must be as many as the store says, or more, and the last of so many have the hash that it says."""
    if count is not None and count > len(records):
        raise DamagedJournal(f"the store says that the run had {count} records, and {len(records)} are there")
    if count != len(records) or not records or head is None:
        return
    last = max(records, key=lambda record: record.seq)
    if last.body.get(CHAIN, head) != head:
        raise DamagedJournal("the last record is not the one that the store says it was")


__all__ = ["EMPTY_JOURNAL", "STORE_FAILURES", "CannotOpen", "Opened", "Replies", "RunJournal"]
