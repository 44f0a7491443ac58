"""Jobs: the run to start, with its input, its time and its tenant. One document of the store for each.

The progress of the run is the store's own status of it: `queued`, `running`, `suspended` and so on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from bobcat.approvals.waking import JOB_KIND
from bobcat.errors import JobError
from bobcat.model.frozen import thaw
from bobcat.model.plain_fields import fields_to_json
from bobcat.stores.protocol import QueueEntry, RunSummary
from bobcat.text.shortening import shortened

KIND = JOB_KIND
JOURNAL = ("records", "chain")
"""Keys of a status detail in which `run_agent` records the journal's extent, checked when the run resumes."""


def kind_of(name: str, version: str | None) -> str:
    """The kind that a worker must support: the runs of a name, or those of one version of it."""
    return name if version is None else f"{name}@{version}"


@dataclass(frozen=True, slots=True)
class Job:
    """One run to execute. `payload` is the program's JSON input; `name` selects the function of the app that builds it.

    A higher `priority` goes first. `attempts` counts those that failed or whose worker died, and the one in progress;
    it, the time and the priority are those of the run's entry in the queue.
    `cancelled` is the reason why the run must not continue. With a `version`, only a worker whose app has this version
    of the run takes it. With a `thread`, the run is a turn of that thread.
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
    thread: str = ""

    @property
    def kind(self) -> str:
        """The kind of run that a worker must support."""
        return kind_of(self.name, self.version)

    @property
    def entry(self) -> QueueEntry:
        """The entry of the run in the queue of its store, before any worker has begun it."""
        return QueueEntry(self.kind, self.run_at, self.tenant, self.priority, self.attempts)

    def with_entry(self, entry: QueueEntry | None) -> Job:
        """The job as its entry has it now."""
        if entry is None:
            return self
        return replace(self, run_at=entry.run_at, priority=entry.priority, attempts=entry.attempts)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The job as plain JSON data."""
        return fields_to_json(self)

    def detail(self) -> dict[str, Any]:  # Any: JSON
        """Summary of the job in a listing of queued runs."""
        body = self.to_json()
        names = ("name", "version", "run_at", "priority", "tenant", "attempts")
        return {"job": {name: body[name] for name in names}}


def plain_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload after a JSON round trip, as every store returns it. Raises `JobError`."""
    if not isinstance(payload, Mapping):
        raise JobError("bad_job", f"a payload must be a JSON object, got `{type(payload).__name__}`")
    try:
        text = json.dumps(thaw(payload), allow_nan=False)
        plain: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise JobError("bad_job", f"a payload must be JSON: {error}") from error
    if plain.keys() != payload.keys():
        raise JobError("bad_job", "the keys of a payload must be strings")
    return plain


def utc_time(run_at: datetime) -> datetime:
    """Convert the time of a job to UTC. Raises `JobError` (`bad_job`) for a time without a zone."""
    if not isinstance(run_at, datetime) or run_at.tzinfo is None:
        raise JobError(
            "bad_job", f"run_at must be a datetime with a time zone, such as `datetime.now(UTC)`, got `{run_at!r}`"
        )
    try:
        return run_at.astimezone(UTC)
    except OverflowError as error:
        raise JobError("bad_job", f"run_at is out of range: `{run_at.isoformat()}`") from error


def job_from_json(body: Mapping[str, Any]) -> Job:
    """Parse the job of a document. Raises `JobError` (`damaged`) for an invalid one."""
    try:
        job = msgspec.convert(body, Job)
        return replace(job, payload=body["payload"], run_at=utc_time(job.run_at))
    except (msgspec.ValidationError, ValueError, JobError) as error:
        raise JobError("damaged", f"a job of this store cannot be read: {shortened(str(error), 200)}") from error


def journal_detail(run: RunSummary | None) -> dict[str, Any]:  # Any: JSON
    """The journal's extent according to the last attempt of a run."""
    return {} if run is None else {name: run.detail[name] for name in JOURNAL if name in run.detail}
