"""`WorkerTriggers`: the triggers of a worker's app. Workers queue due firings, and check the consent to each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from inspect import isawaitable
from typing import Any

from bobcat.errors import JobError, TriggerError
from bobcat.logs import logger
from bobcat.stores.protocol import DurableStore, Entry, RestorableStore, VersionConflict
from bobcat.text.json_text import format_exception
from bobcat.triggers.binding import changes, digest, digests_of, payload_digest
from bobcat.triggers.documents import count_firing, read, record, update
from bobcat.triggers.model import CONSENTED, KIND, Firing, Quotas, Trigger, trigger_from_json
from bobcat.triggers.times import next_time, times_to_fire
from bobcat.workers.job import Job
from bobcat.workers.jobs import Jobs
from bobcat.workers.registry import FIRING, Workers

log = logger("triggers")
PROBE_TIMEOUT = 30.0

Probe = Callable[[], Any]  # Any: a JSON value, or an awaitable of one


class WorkerTriggers:
    """The triggers of an app: its probes and its quotas. `Workers` executes no firing without it."""

    def __init__(self, workers: Workers, *, quotas: Quotas | None = None) -> None:
        if workers.triggers is not None:
            raise ValueError("this app has its triggers already")
        self.workers = workers
        self.quotas = quotas or Quotas()
        self.probes: dict[str, Probe] = {}
        workers.triggers = self

    def probe(self, name: str) -> Callable[[Probe], Probe]:
        """Register a function whose value `when_changed=name` compares: JSON, cheap to get, without a model call."""
        if name in self.probes:
            raise ValueError(f"two probes are named `{name}`")

        def register(probe: Probe) -> Probe:
            self.probes[name] = probe
            return probe

        return register

    async def digests(self, trigger: Trigger) -> dict[str, str]:
        """The digests of a trigger with this app's tools and policy. Raises `JobError`, and errors of the app."""
        moment = trigger.next or trigger.created
        job = Job(run_id(trigger, moment), trigger.name, trigger.payload, moment, tenant=trigger.tenant)
        return digests_of(trigger, await self.workers.make(job))

    async def queue_due(self, store: DurableStore, jobs: Jobs) -> None:
        """Queue the firings of due triggers. A failing trigger does not block the others."""
        now = await store.now()
        page = await store.scan(KIND)
        while page:
            for entry in page:
                await self._try(store, jobs, entry, now)
            page = await store.scan(KIND, after=page[-1].key)

    async def _try(self, store: DurableStore, jobs: Jobs, entry: Entry, now: datetime) -> None:
        try:
            trigger = trigger_from_json(entry.body)
            if trigger.id != entry.key:
                raise TriggerError("damaged", f"the trigger `{entry.key}` names another id")
            if self._is_due(trigger, now):
                await self._fire(store, jobs, trigger, entry.version, now)
        except VersionConflict:
            return  # another worker was first, or the trigger changed
        except Exception as error:
            log.warning("the trigger %s failed: %s", entry.key, format_exception(error))

    def _is_due(self, trigger: Trigger, now: datetime) -> bool:
        mine = trigger.name in self.workers.makers and (
            trigger.when != "when_changed" or trigger.expression in self.probes
        )
        return mine and trigger.state == "active" and trigger.next is not None and trigger.next <= now

    async def _fire(self, store: DurableStore, jobs: Jobs, trigger: Trigger, version: int, now: datetime) -> None:
        """Queue what is due, then record the next time: a worker that dies in between repeats it with the same ids."""
        assert trigger.next is not None
        due = trigger.next
        after = replace(trigger, error="")
        fires = True
        if trigger.when == "when_changed":
            try:
                seen = await self._probe(trigger.expression)
                fires, after = trigger.seen not in (None, seen), replace(after, seen=seen)
            except Exception as error:
                fires, after = False, replace(after, error=format_exception(error))
                log.warning("the probe %s failed: %s", trigger.expression, format_exception(error))
        if fires:
            differing = changes(trigger.consent.digests if trigger.consent else {}, await self.digests(trigger))
            if differing:
                await store.put(KIND, trigger.id, withdrawn(trigger, differing).to_json(), expected=version)
                return
            await self._queue(store, jobs, trigger, due, now)
        if trigger.when == "at":
            after = replace(after, state="done", next=None)
        else:
            after = replace(after, next=next_time(trigger, due, now))
        await store.put(KIND, trigger.id, after.to_json(), expected=version)

    async def _queue(self, store: DurableStore, jobs: Jobs, trigger: Trigger, due: datetime, now: datetime) -> None:
        restored = await store.restored_at() if isinstance(store, RestorableStore) else None
        moments = times_to_fire(trigger, due, now)
        if not moments:
            await record(store, Firing(trigger.id, due, "skipped", reason="no worker ran at this time"))
        for moment in moments:
            id = run_id(trigger, moment)
            if restored is not None and moment < restored:
                reason = "it may have run before the restore of the store"
            elif not await count_firing(store, trigger, id, self.quotas.firings_per_day, now):
                reason = f"{self.quotas.firings_per_day} firings on this day are the limit"
            else:
                await jobs.enqueue(trigger.name, trigger.payload, run_id=id, run_at=moment, tenant=trigger.tenant)
                await record(store, Firing(trigger.id, moment, "queued", id))
                continue
            await record(store, Firing(trigger.id, moment, "skipped", reason=reason))

    async def _probe(self, name: str) -> str:
        async with asyncio.timeout(PROBE_TIMEOUT):
            value = await asyncio.to_thread(self.probes[name])
            return digest(await value if isawaitable(value) else value)

    async def check(self, store: DurableStore, job: Job, arguments: Mapping[str, Any]) -> None:
        """Check a firing against its consent, with the tools and policy that it will run with. Raises `JobError`."""
        id = job.run_id.removeprefix(FIRING).partition("@")[0]
        try:
            trigger, _ = await read(store, id)
        except TriggerError as error:
            raise JobError("no_consent", f"the firing has no consent: {error}") from error
        if trigger.consent is None or trigger.state not in CONSENTED:
            raise JobError("no_consent", f"the trigger `{id}` is {trigger.state}: its firing has no consent")
        consented = trigger.consent.digests
        if consented.get("payload") != payload_digest(job.name, job.payload, job.tenant):
            raise JobError("no_consent", f"the payload of this firing is not the one of the trigger `{id}`")
        differing = changes(consented, digests_of(trigger, arguments))
        if differing:
            await update(store, id, lambda known: withdrawn(known, differing) if known == trigger else known)
            raise JobError("no_consent", f"the consent to the trigger `{id}` is withdrawn: {reason_for(differing)}")


def run_id(trigger: Trigger, moment: datetime) -> str:
    """The id of the run of a trigger at a time."""
    return f"{FIRING}{trigger.id}@{moment.isoformat()}"


def reason_for(differing: list[str]) -> str:
    """The reason for a withdrawal, in words."""
    return f"changed since the consent: {', '.join(differing)}"


def withdrawn(trigger: Trigger, differing: list[str]) -> Trigger:
    """The trigger without its consent."""
    return replace(trigger, state="withdrawn", reason=reason_for(differing), consent=None, next=None)
