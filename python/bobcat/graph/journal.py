"""The journal of a graph: the finished nodes, their outcomes, and the transitions.

    graph.started | graph.resumed   the claim of one attempt, before it does anything that is not on record
    node.finished                   a node's outcome, before the router is asked: it is never run again, failed or not
    handoff                         the router's answer

A graph journaled by lynx-agent 2.5 has `handoff` records only; it is read as well. Pure, apart from `GraphJournal`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from bobcat.aio.tasks import FAULTS, raise_if_cancelled
from bobcat.graph.model import NodeOutcome
from bobcat.journal.legacy_names import is_refusal
from bobcat.journal.records import DuplicateRecord, RunStore, StepRecord, usage_from_body, usage_to_body
from bobcat.model.run import RunResult
from bobcat.runtime.compat import STORE_TIMEOUT_SECONDS
from bobcat.runtime.journaling import CLOSING_SECONDS
from bobcat.runtime.lease import DEFAULT_LEASE_SECONDS, LeaseKeeper, default_owner
from bobcat.stores.protocol import DurableStore, LeaseLost, RestorableStore, RunBusy, RunStatus
from bobcat.text.json_text import format_exception

T = TypeVar("T")
_RESULT = ("correlation_id", "bundle_id", "final_answer", "error", "steps_taken")
"""The fields of a result in its record, beside the usage."""
LOST_ERROR = "failed in an earlier attempt, which left no error on record"
"""The error of a failed node whose journal has no error text."""


class JournalError(Exception):
    """The journal cannot be read or written, or belongs to another graph. The message is the graph's error."""


class Busy(Exception):
    """Another worker executes the graph, and is alive."""


class GraphSuperseded(Exception):
    """Another worker wrote the next record: it executes the graph."""


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """Summary of the journal of a node's own run: the number of results, and of denials."""

    results: int = 0
    denied: int = 0


@dataclass(frozen=True, slots=True)
class GraphProgress:
    """The recorded progress by hop. `finished` are the bodies of `node.finished`, `handoffs` those of `handoff`.

    `task` is the graph's original task, where recorded.
    """

    records: int = 0
    next_seq: int = 0
    finished: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    handoffs: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    task: object = None

    def node_at(self, transition: int) -> str | None:
        """The node that ran at `transition`; None when no record names it."""
        body = self.finished.get(transition) or self.handoffs.get(transition)
        return None if body is None else str(body["node"])


def read_progress(records: Sequence[StepRecord]) -> GraphProgress:
    """Fold a graph's records. Unknown kinds are skipped; an invalid record raises."""
    ordered = sorted(records, key=lambda record: record.seq)
    finished = {int(record.body["hop"]): record.body for record in ordered if record.kind == "node.finished"}
    handoffs = {int(record.body["hop"]): record.body for record in ordered if record.kind == "handoff"}
    for body in (*finished.values(), *handoffs.values()):
        if not isinstance(body["node"], str):
            raise TypeError("a record without a node")
    task = next((record.body.get("task") for record in ordered if record.kind == "graph.started"), None)
    return GraphProgress(len(ordered), ordered[-1].seq + 1 if ordered else 0, finished, handoffs, task)


def read_node(records: Sequence[StepRecord]) -> NodeRecord:
    """Fold the records of a node's run. An action that failed after its approval is a failure, not a refusal."""
    results = [record.body for record in records if record.kind == "action.result"]
    denied = [body for body in results if is_refusal(body.get("message"))]
    return NodeRecord(len(results), len(denied))


class GraphJournal:
    """Reads and writes the journal of one graph. Without a store it is empty and keeps nothing."""

    def __init__(
        self,
        store: RunStore | None,
        run_id: str,
        *,
        plain: bool,
        owner: str | None = None,
        lease_seconds: float = DEFAULT_LEASE_SECONDS,
    ) -> None:
        self._store = store
        self._lease_keeper: LeaseKeeper | None = None
        if isinstance(store, DurableStore) and not plain:
            self._lease_keeper = LeaseKeeper(store, run_id, owner=owner or default_owner(), seconds=lease_seconds)
        self._run_id = run_id
        self._plain = plain
        self._claimed = False
        self._next_seq = 0
        self._restored = False
        """True when the store was restored since the graph began: a node whose run is unknown may have run."""
        self.progress = GraphProgress()

    async def load(self) -> None:
        """Acquire the graph where the store has leases, and read its records. Raises `JournalError`, and `Busy`."""
        if self._lease_keeper is not None:
            async with _calling("store.acquire", RunBusy, meaning=Busy):
                await self._lease_keeper.acquire()
            # The next write detects another worker's takeover: every node is fenced separately.
            self._lease_keeper.start_heartbeat(lambda loss: None)
        appended = await self._appended_count()
        self.progress = await self._load(self._run_id, read_progress)
        if self.progress.records < appended:
            found = self.progress.records
            raise JournalError(
                f"journal refused: the store reports {appended} records for the graph, but {found} exist"
            )
        self._next_seq = self.progress.next_seq

    async def node(self, run_id: str) -> NodeRecord:
        """The records of a node's own run. Raises `JournalError`."""
        if self._restored and isinstance(self._store, RestorableStore):
            async with _calling("store.load"):
                await self._store.mark_uncertain(run_id)
        return await self._load(run_id, read_node)

    async def _appended_count(self) -> int:
        """The number of records that the store counted for the graph; 0 without a count."""
        if self._lease_keeper is None:
            return 0
        async with _calling("store.load"):
            summary = await self._lease_keeper.store.run(self._run_id)
        self._restored = summary is not None and summary.restored
        return 0 if summary is None else summary.appended or 0

    async def _load(self, run_id: str, read: Callable[[Sequence[StepRecord]], T]) -> T:
        if self._store is None:
            return read(())
        async with _calling("store.load"):
            return read(tuple(await self._store.load(run_id)))

    async def claim(self, task: str, start: str) -> None:
        """Claim the graph, once, before the first unrecorded action. Raises as `append`."""
        if self._claimed or self._plain:
            return
        self._claimed = True
        if self.progress.records:
            await self._append("graph.resumed", {"records": self.progress.records})
        else:
            await self._append("graph.started", {"task": task, "start": start})

    async def finish(self, outcome: NodeOutcome) -> None:
        """Record a node's outcome. Raises as `append`."""
        if not self._plain:
            await self._append("node.finished", {**_summary(outcome), "result": result_to_body(outcome.result)})

    async def hand_off(self, outcome: NodeOutcome, following: str | None) -> None:
        """Record the router's answer. Raises as `append`."""
        await self._append("handoff", {**_summary(outcome), "next": following}, at=outcome.transitions)

    async def _append(self, kind: str, body: dict[str, Any], at: int = 0) -> None:
        """Write one record. Raises `JournalError`, and `GraphSuperseded` when its position is taken."""
        if self._store is None:
            return
        seq = at if self._plain else self._next_seq
        record = StepRecord(self._run_id, seq, kind, "", body, datetime.now(UTC))
        async with _calling("store.append", DuplicateRecord, LeaseLost, meaning=GraphSuperseded):
            await (self._store.append if self._lease_keeper is None else self._lease_keeper.write)(record)
        self._next_seq = seq + 1

    async def close(self, status: RunStatus | None, detail: Mapping[str, Any]) -> None:
        """Save the graph's status, if it has one, and release the lease."""
        lease_keeper = self._lease_keeper
        if lease_keeper is None:
            return
        try:
            with suppress(Exception):
                async with asyncio.timeout(CLOSING_SECONDS):
                    if status is not None:
                        await lease_keeper.store.set_status(
                            self._run_id, status, detail=detail, lease=lease_keeper.lease
                        )
        finally:  # also when the graph is cancelled here: otherwise the renewals would never end
            with suppress(Exception):
                async with asyncio.timeout(CLOSING_SECONDS):
                    await lease_keeper.release()


def result_to_body(result: RunResult) -> dict[str, Any]:
    """A node's result as a journal body."""
    usage = None if result.usage is None else usage_to_body(result.usage)
    return {**{name: getattr(result, name) for name in _RESULT}, "usage": usage}


def result_from_body(body: Mapping[str, Any]) -> RunResult:
    """The result in a `node.finished` record."""
    return RunResult(**{name: body[name] for name in _RESULT}, usage=usage_from_body(body["usage"]))


def _summary(outcome: NodeOutcome) -> dict[str, Any]:
    status = "succeeded" if outcome.result.error is None else "failed"
    return {"hop": outcome.transitions, "node": outcome.node, "denials": outcome.denials, "status": status}


@asynccontextmanager
async def _calling(
    operation: str, *expected: type[Exception], meaning: type[Exception] = JournalError
) -> AsyncIterator[None]:
    """Limit a call of the store in time. Raises `meaning` for the `expected` failures, `JournalError` for others."""
    try:
        async with asyncio.timeout(STORE_TIMEOUT_SECONDS):
            yield
    except FAULTS as error:
        raise_if_cancelled(error)
        if isinstance(error, expected):
            raise meaning(str(error)) from error
        raise JournalError(f"{operation} failed: {format_exception(error)}") from error
