"""Memory of a session: what several submissions, in any number of processes, remember together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from bobcat._core import RunState as CoreState
from bobcat.bundle import Policy
from bobcat.journal.records import StepRecord
from bobcat.model.decision import ActionRequest
from bobcat.runtime.memory_values import NotRemembered
from bobcat.runtime.shared_journal import CALL, PAGE, RELEASED, RESULT, SharedJournal, request_of
from bobcat.stores.protocol import DurableStore

KEPT_RECORDS = 256
"""Number of records after which a session keeps another state, in place of older records."""


def session_id(session: str) -> str:
    """The run id of a session's journal."""
    return f"session:{session}"


class SessionMemory(SharedJournal):
    """The memory of one session, as far as its journal was read.

    Each call is remembered with the task that it was made for. The records of the last calls are kept, because a call
    that is taken back needs the state before it; for an older one the journal is read again.
    """

    keeps_values = True

    def __init__(self, policy: Policy, store: DurableStore, session: str, task: str | None) -> None:
        super().__init__(store, session_id(session))
        self.policy = policy
        self._task = task
        self._base = b""
        """The state before `_records`, without calls that were taken back; empty before the first call."""
        self._records: list[StepRecord] = []
        self._next: tuple[bytes, int] = b"", 0
        """The next base, and its place in `_records`."""
        self._stale = False
        """True if the state has a call that was taken back."""
        self.state = CoreState(policy, task=task)

    async def refresh(self, name: str = "", fence: int = 0) -> None:
        """`SharedJournal.refresh`; later decisions may use the results that are on record."""
        await super().refresh(name, fence)
        if self._stale:
            await self._read_again()
        if self.state.task != self._task:
            self.state.set_task(self._task)
        self.state.next_reply()

    def counts(self, request: ActionRequest) -> bool:
        """Return true: a session remembers each call."""
        return True

    def took(self, record: StepRecord) -> None:
        """Take in a call or its end."""
        if record.kind == RELEASED:
            self._take_back(record.idempotency_key)
            return
        self._step(record)
        self._records.append(record)
        if len(self._records) >= self._next[1] + KEPT_RECORDS:
            base, place = self._next
            self._base, self._records = (base, self._records[place:]) if place else (self._base, self._records)
            self._next = self.state.dump(), len(self._records)

    def _take_back(self, key: str) -> None:
        """Make the state again without a call, from the base if that is older."""
        kept = [each for each in self._records if each.idempotency_key != key]
        if len(kept) == len(self._records):
            self._stale = True
            return
        self._records, self._next = kept, (b"", 0)
        self.state = CoreState.load(self.policy, self._base) if self._base else CoreState(self.policy)
        for each in kept:
            self._step(each)

    async def _read_again(self) -> None:
        """Make the state again from the whole journal, as far as it was read."""
        released = {each.idempotency_key async for each in self._journal() if each.kind == RELEASED}
        self.state, self._base, self._records, self._next = CoreState(self.policy), b"", [], (b"", 0)
        ended: set[str] = set()
        async for each in self._journal():
            if _stays(each, released, ended):
                self.took(each)
        self._stale = False

    async def _journal(self) -> AsyncIterator[StepRecord]:
        seq = 0
        while page := [
            each for each in await self._store.load_from(self.run_id, seq=seq, limit=PAGE) if each.seq < self._seq
        ]:
            for each in page:
                yield each
            seq = page[-1].seq + 1

    def _step(self, record: StepRecord) -> None:
        _step(self.state, record)


def session_state(policy: Policy, records: Sequence[StepRecord], task: str | None) -> CoreState:
    """The state of a session for a decision after these records of its journal, for the task of its guard."""
    state, ended = CoreState(policy), set[str]()
    released = {each.idempotency_key for each in records if each.kind == RELEASED}
    for record in records:
        if _stays(record, released, ended):
            _step(state, record)
    state.set_task(task)
    state.next_reply()
    return state


def _stays(record: StepRecord, released: set[str], ended: set[str]) -> bool:
    """Return true for a call that was not taken back, and for its first outcome."""
    key = record.idempotency_key
    if key in released or (record.kind != CALL and key in ended):
        return False
    ended.update([key] if record.kind == RESULT else [])
    return True


def _step(state: CoreState, record: StepRecord) -> None:
    key, body = record.idempotency_key, record.body
    if record.kind == CALL:
        request = request_of(record)
        if state.task != request.context.task:
            state.set_task(request.context.task)
        state.next_reply()
        state.call(request, key)
        return
    at = datetime.fromisoformat(body["at"])
    if body["ok"]:
        state.result(key, body["value"] if "value" in body else NotRemembered(), at)
    else:
        state.failed(key, at)
