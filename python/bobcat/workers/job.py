"""Jobs: which run is to be made, with what, when, and for whom. A document of the store for each.

Where the run stands is said by the store's own status of it: `queued`, `running`, `suspended` and so on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from bobcat.approvals.desk import JOB_KIND
from bobcat.errors import JobError
from bobcat.frozen import thaw
from bobcat.stores.durable import DurableStore, RunStatus, RunSummary, StatusConflict, VersionConflict, change_status
from bobcat.workers.kinds import kind_of

if TYPE_CHECKING:
    from bobcat.workers.dispatch import Dispatcher

KIND = JOB_KIND
MAX_PRIORITY = 32_767
"""What every queue can order by."""
JOURNAL = ("records", "chain")
"""What `run_agent` says of the journal beside a status, and checks when the run goes on."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be made. `payload` is JSON, and what the program gave; `name` says which function of the app makes it.

    A higher `priority` goes first. `attempts` counts those that failed or whose worker died, and the one under way.
    `cancelled` is why the run must not go on. With a `version`, only a worker
    whose app has this version of the run makes it.
    """

    run_id: str
    name: str
    payload: Mapping[str, Any]
    run_at: datetime
    priority: int = 0
    tenant: str = ""
    attempts: int = 0
    error: str | None = None
    cancelled: str | None = None
    version: str | None = None

    @property
    def kind(self) -> str:
        """What a worker must be able to make."""
        return kind_of(self.name, self.version)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The job as plain JSON data."""
        return {
            "run_id": self.run_id,
            "name": self.name,
            "payload": dict(self.payload),
            "run_at": self.run_at.isoformat(),
            "priority": self.priority,
            "tenant": self.tenant,
            "attempts": self.attempts,
            "error": self.error,
            "cancelled": self.cancelled,
            "version": self.version,
        }

    def detail(self) -> dict[str, Any]:  # Any: JSON
        """What a listing of queued runs says of the job, so that a worker need not read each."""
        told = self.to_json()
        names = ("name", "version", "run_at", "priority", "tenant", "attempts")
        return {"job": {name: told[name] for name in names}}


def plain_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload as every store gives it back, so that the same one is known again. Raises `JobError`."""
    if not isinstance(payload, Mapping):
        raise JobError("bad_job", f"a payload is a JSON object, got `{type(payload).__name__}`")
    try:
        text = json.dumps(thaw(payload), allow_nan=False)
        plain: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise JobError("bad_job", f"a payload is JSON, and this one is not: {error}") from error
    if plain.keys() != payload.keys():
        raise JobError("bad_job", "the keys of a payload are strings")
    return plain


def _moment(run_at: datetime) -> datetime:
    if not isinstance(run_at, datetime) or run_at.tzinfo is None:
        raise JobError(
            "bad_job", f"run_at is a datetime with a time zone, such as `datetime.now(UTC)`, got `{run_at!r}`"
        )
    try:
        return run_at.astimezone(UTC)
    except OverflowError as error:
        raise JobError("bad_job", f"run_at is out of range: `{run_at.isoformat()}`") from error


def job_from_json(body: Mapping[str, Any]) -> Job:
    """The job of a document. Raises `JobError` (`damaged`) for what is none."""
    try:
        job = msgspec.convert(body, Job)
        return replace(job, payload=body["payload"], run_at=_moment(job.run_at))
    except (msgspec.ValidationError, ValueError, JobError) as error:
        raise JobError("damaged", f"a job of this store cannot be read: {str(error)[:200]}") from error


def kept_detail(run: RunSummary | None) -> dict[str, Any]:  # Any: JSON
    """What the last attempt of a run says of its journal."""
    return {} if run is None else {name: run.detail[name] for name in JOURNAL if name in run.detail}


async def say(
    store: DurableStore, run_id: str, status: RunStatus, *, expected: Collection[RunStatus], **detail: Any
) -> None:  # Any: JSON
    """Set the status of a run that nobody works on, if it is one of the `expected`; an unknown run becomes known.

    What its last attempt says of its journal stays. Raises `StatusConflict`.
    """
    kept = kept_detail(await store.run(run_id))
    await change_status(store, run_id, status, expected=expected, detail={**kept, **detail})


class Jobs:
    """The queue as a program sees it: put runs in, cancel them, take them up again."""

    def __init__(self, store: DurableStore, dispatcher: Dispatcher | None = None) -> None:
        if not isinstance(store, DurableStore):
            raise TypeError(f"jobs are kept in a DurableStore, such as SQLiteStore, got {type(store).__name__}")
        self._store = store
        self._dispatcher = dispatcher

    async def enqueue(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        run_id: str | None = None,
        priority: int = 0,
        run_at: datetime | None = None,
        tenant: str = "",
        version: str | None = None,
    ) -> Job:
        """Queue a run, to be made at `run_at` or as soon as may be.

        With a `run_id` of your own, doing so twice is doing so once. With a `version`, a worker makes it whose app has
        this version of the run. Raises `JobError`: `taken` when that id is another
        job's, `bad_job` for what is no job, such as a payload that is not JSON or a `run_at` without a time zone.
        """
        plain = plain_payload({} if payload is None else payload)
        at = await self._store.now() if run_at is None else _moment(run_at)
        for what, text in (("name", name), ("tenant", tenant), ("run id", "-" if run_id is None else run_id)):
            if not isinstance(text, str) or not (text or what == "tenant"):
                lack = "" if what == "tenant" else " that is not empty"
                raise JobError("bad_job", f"the {what} of a job is a string{lack}, got `{text!r}`")
        if version is not None and (not isinstance(version, str) or not version):
            raise JobError("bad_job", f"the version of a job is a string that is not empty, got `{version!r}`")
        if type(priority) is not int or abs(priority) > MAX_PRIORITY:
            raise JobError("bad_job", f"a priority is an integer up to {MAX_PRIORITY} either way, got `{priority!r}`")
        job = Job(uuid4().hex if run_id is None else run_id, name, plain, at, priority, tenant, version=version)
        try:
            await self._store.put(KIND, job.run_id, job.to_json(), expected=0)
        except VersionConflict:
            known = await self.get(job.run_id)
            if (known.kind, known.payload, known.tenant) != (job.kind, job.payload, tenant):
                raise JobError("taken", f"the run id `{job.run_id}` is another job's, `{known.kind}`") from None
            job = known
        if await self._store.run(job.run_id) is None:  # else it was queued, and may be anywhere by now
            with suppress(StatusConflict):  # somebody else queued it at this moment
                await self._queue(job, ())
        return job

    async def get(self, run_id: str) -> Job:
        """One job. Raises `JobError` (`unknown`)."""
        entry = await self._store.get(KIND, run_id)
        if entry is None:
            raise JobError("unknown", await self._unknown(run_id))
        return job_from_json(entry.body)

    async def _unknown(self, run_id: str) -> str:
        if await self._store.run(run_id) is None:
            return f"there is no job for a run `{run_id}` in this store"
        return f"the run `{run_id}` was not queued: the program that began it makes it go on, or not"

    async def cancel(self, run_id: str, *, reason: str = "cancelled by hand") -> RunSummary | None:
        """Have a run not go on; a worker that is at it stops within a moment. Its last known state.

        Raises `JobError` (`unknown`; `over` when it has ended, also when it ended at this moment).
        """
        asked = False
        while True:
            run = await self._store.run(run_id)
            if (
                run is not None
                and run.status in ("succeeded", "cancelled")
                and not (asked and run.status == "cancelled")
            ):
                if asked:
                    await self.change(run_id, cancelled=None)
                raise JobError("over", f"the run `{run_id}` is over ({run.status})")
            if not asked:
                await self.change(run_id, cancelled=reason)
                if self._dispatcher is not None:
                    await self._dispatcher.cancel(run_id)
                asked = True
                continue  # it may have ended before its worker could know
            if run is not None and run.status in ("running", "cancelled"):
                return run
            with suppress(StatusConflict):  # a worker took it, or it ended: look again
                expected = () if run is None else (run.status,)
                await say(self._store, run_id, "cancelled", expected=expected, error=f"cancelled: {reason}")

    async def resume(self, run_id: str) -> Job:
        """Queue a run that failed, was cancelled or is suspended, to go on where it stands.

        Raises `JobError` (`unknown`; `over` when it has succeeded).
        """
        while True:
            run = await self._store.run(run_id)
            if run is not None and run.status == "succeeded":
                raise JobError("over", f"the run `{run_id}` is over (succeeded)")
            job = await self.change(run_id, cancelled=None, attempts=0, run_at=await self._store.now())
            if run is not None and run.status == "running":  # somebody's, or it is found when its lease ends
                return job
            with suppress(StatusConflict):  # a worker took it, or it ended: look again
                await self._queue(job, () if run is None else (run.status,))
                return job

    async def change(self, run_id: str, **fields: Any) -> Job:  # Any: fields of a job
        """Replace fields of a job. Raises `JobError` (`unknown`)."""
        while True:
            entry = await self._store.get(KIND, run_id)
            if entry is None:
                raise JobError("unknown", await self._unknown(run_id))
            job = replace(job_from_json(entry.body), **fields)
            try:
                await self._store.put(KIND, run_id, job.to_json(), expected=entry.version)
            except VersionConflict:
                continue
            return job

    async def _queue(self, job: Job, expected: Collection[RunStatus]) -> None:
        await say(self._store, job.run_id, "queued", expected=expected, **job.detail())
        if self._dispatcher is not None:
            await self._dispatcher.enqueue(job)
