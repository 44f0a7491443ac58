"""The journal of a thread: the queue of its messages, and the turns that were begun with them.

Messages are appended by any process at the next free position. Only the holder of the thread's lease begins turns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from bobcat.errors import ThreadError
from bobcat.journal.records import DuplicateRecord, StepRecord
from bobcat.model.attachment import Attachment
from bobcat.model.frozen import FrozenDict, thaw
from bobcat.model.run import Message
from bobcat.stores.protocol import DurableStore, Lease, VersionConflict
from bobcat.threads.files import files_of, files_to_body

MESSAGE, TURN = "thread.message", "turn.started"
KEYS, NOTES = "thread.key", "thread.note"
BOUND = "bound"
PAGE = 64


def journal_id(thread: str) -> str:
    """The run id of a thread's journal."""
    return f"thread:{thread}"


def turn_id(thread: str, number: int) -> str:
    """The run id of a turn."""
    return f"thread:{thread}#{number}"


def earlier_turns(run_id: str) -> list[str]:
    """The run ids of the turns before a turn, in order; empty for another run."""
    thread, found, number = run_id.removeprefix("thread:").rpartition("#")
    if not run_id.startswith("thread:") or not found or not number.isdecimal():
        return []
    return [turn_id(thread, each) for each in range(1, int(number))]


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn on record: its `number`, the position of its message, the events before it, and its window's choice."""

    number: int
    message: int
    before: int
    choice: tuple[Any, ...]  # Any: JSON
    text: str
    seq: int
    attachments: tuple[Attachment, ...] = ()
    bound: Mapping[str, str] | None = None
    """Digests of the tools and the policy that alone may run the turn."""


class ThreadJournal:
    """Reads and writes the journal of one thread."""

    def __init__(self, store: DurableStore, thread: str) -> None:
        self.store = store
        self.thread = thread
        self.run_id = journal_id(thread)
        self.ended: OrderedDict[int, tuple[Message, ...]] = OrderedDict()
        """Messages of ended turns, which do not change: the most recently used ones."""
        self.remembered: dict[str, tuple[int, bytes]] = {}
        """A number of ended turns and the state of the sources after them, by the policy and the thread's document."""
        self._last: StepRecord | None = None

    async def length(self) -> int:
        """Number of records.

        PERF: a store may count them in time that grows with the journal. After the first call, only the records after
        the last one seen are read.
        """
        while self._last is not None:
            page = await self.store.load_from(self.run_id, seq=self._last.seq, limit=PAGE)
            if not page or page[0] != self._last:  # the thread was deleted meanwhile
                break
            self._last = page[-1]
            if len(page) < PAGE:
                return self._last.seq + 1
        summary = await self.store.run(self.run_id)
        length = 0 if summary is None else summary.records if summary.appended is None else summary.appended
        page = await self.store.load_from(self.run_id, seq=length - 1, limit=1) if length else ()
        self._last = page[0] if page else None
        return length

    async def backwards(self) -> AsyncIterator[StepRecord]:
        """The records from the last one back, a page at a time."""
        end = await self.length()
        while end > 0:
            start = max(0, end - PAGE)
            for record in reversed(await self.store.load_from(self.run_id, seq=start, limit=end - start)):
                yield record
            end = start

    async def forwards(self, seq: int = 0) -> AsyncIterator[StepRecord]:
        """The records from `seq` on, a page at a time."""
        while page := await self.store.load_from(self.run_id, seq=seq, limit=PAGE):
            for record in page:
                yield record
            seq = page[-1].seq + 1

    async def last_turn(self) -> Begun | None:
        """The turn that was begun last."""
        async for record in self.backwards():
            if record.kind == TURN:
                return begun_of(record)
        return None

    async def turn(self, number: int) -> Begun | None:
        """One turn."""
        if number < 1:
            return None
        async for record in self.backwards():
            if record.kind == TURN and record.body["turn"] <= number:
                return begun_of(record) if record.body["turn"] == number else None
        return None

    async def turn_of(self, message: int) -> Begun | None:
        """The turn of a message, if it has begun."""
        async for record in self.forwards(message + 1):
            if record.kind == TURN and record.body["message"] == message:
                return begun_of(record)
            if record.kind == TURN and record.body["message"] > message:
                raise ThreadError("journal_damaged", f"thread {self.thread!r} has skipped message {message}")
        return None

    async def next_message(self, last: Begun | None) -> StepRecord | None:
        """The first message without a turn. A message that repeats the key of an earlier one is left out."""
        async for record in self.forwards(0 if last is None else last.message + 1):
            if record.kind == MESSAGE and await self._is_first(record):
                return record
        return None

    async def message_with(self, key: str) -> int | None:
        """The position of the message with this key."""
        digest = _digest(key)
        entry = await self.store.get(KEYS, f"{self.run_id}#{digest}")
        return None if entry is None else await self._first_with(digest, int(entry.body["since"]))

    async def add_message(
        self, text: str, key: str | None, more: Mapping[str, Any], bound: Mapping[str, str] | None = None
    ) -> int:
        """Append a message, and return its position: that of the first one with this key."""
        limits = {} if bound is None else {BOUND: dict(bound)}
        if key is None:
            return await self._append_message({"text": text, **more, **limits})
        digest, since = _digest(key), await self.length()
        try:
            body = {"since": since, "text": text, **more}
            entry = await self.store.put(KEYS, f"{self.run_id}#{digest}", body, expected=0)
        except VersionConflict:
            found = await self.store.get(KEYS, f"{self.run_id}#{digest}")
            if found is None:
                raise
            entry = found
        if thaw(dict(entry.body)) != {"since": entry.body["since"], "text": text, **more}:
            raise ThreadError("key_conflict", f"the key {key!r} belongs to another message of thread {self.thread!r}")
        first = await self._first_with(digest, int(entry.body["since"]))
        if first is None:
            await self._append_message({"text": text, "key": digest, **more, **limits})
            first = await self._first_with(digest, int(entry.body["since"]))
        if first is None:
            raise ThreadError("journal_damaged", f"thread {self.thread!r} lost a message")
        return first

    async def begin(self, number: int, message: StepRecord, before: int, choice: list[Any], lease: Lease) -> Begun:
        """Record the start of a turn, under the thread's lease."""
        text = message.body["text"]
        body = {"turn": number, "message": message.seq, "before": before, "choice": choice, "text": text}
        body.update(files_to_body(files_of(message.body)), run_id=turn_id(self.thread, number))
        if BOUND in message.body:
            body[BOUND] = message.body[BOUND]
        while True:
            seq = await self.length()
            record = StepRecord(self.run_id, seq, TURN, "", FrozenDict(body), await self.store.now())
            try:
                await self.store.append_fenced(record, lease)
            except DuplicateRecord:
                continue
            return begun_of(record)

    async def _append_message(self, body: Mapping[str, Any]) -> int:
        while True:
            seq = await self.length()
            record = StepRecord(self.run_id, seq, MESSAGE, "", FrozenDict(body), await self.store.now())
            try:
                await self.store.append(record)
            except DuplicateRecord:
                continue
            return seq

    async def _first_with(self, digest: str, since: int) -> int | None:
        async for record in self.forwards(since):
            if record.kind == MESSAGE and record.body.get("key") == digest:
                return record.seq
        return None

    async def _is_first(self, record: StepRecord) -> bool:
        digest = record.body.get("key")
        entry = None if digest is None else await self.store.get(KEYS, f"{self.run_id}#{digest}")
        if digest is None or entry is None:
            return True
        return await self._first_with(digest, int(entry.body["since"])) == record.seq


def begun_of(record: StepRecord) -> Begun:
    """The turn of a `turn.started`."""
    body = record.body
    choice = tuple(body["choice"])
    files, bound = files_of(body), body.get(BOUND)
    return Begun(body["turn"], body["message"], body["before"], choice, body["text"], record.seq, files, bound)


def _digest(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
