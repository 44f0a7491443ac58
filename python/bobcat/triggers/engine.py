"""`WorkerTriggers`: the triggers of a worker's app. Workers queue due firings, and check the consent to each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bobcat.errors import JobError, TriggerError
from bobcat.logs import logger
from bobcat.model.run import RunResult
from bobcat.stores.protocol import DurableStore, Entry, RestorableStore, VersionConflict
from bobcat.text.json_text import format_exception
from bobcat.triggers.binding import changes, digests_of, is_complete, payload_digest
from bobcat.triggers.documents import count_firing, read, record, update
from bobcat.triggers.model import CONSENTED, KIND, Consent, Firing, Quotas, Trigger, trigger_from_json
from bobcat.triggers.probes import PROBE_SECONDS, Probe, Probes
from bobcat.triggers.times import next_time, times_to_fire
from bobcat.triggers.turns import end_turn, run_turn
from bobcat.workers.job import Job
from bobcat.workers.jobs import Jobs
from bobcat.workers.registry import FIRING, Attempt, Workers

log = logger("triggers")
PROBES_WAIT_SECONDS = 1.0
"""Time that a worker waits for probes before it looks for other work; slower ones go on in the background."""


class WorkerTriggers:
    """The triggers of an app: its probes and its quotas. `Workers` executes no firing without it.

    `probe_seconds` is the time limit of a probe.
    """

    def __init__(self, workers: Workers, *, quotas: Quotas | None = None, probe_seconds: float = PROBE_SECONDS) -> None:
        if workers.triggers is not None:
            raise ValueError("this app has its triggers already")
        self.workers = workers
        self.quotas = quotas or Quotas()
        self._probes = Probes(probe_seconds)
        self._probing: dict[str, asyncio.Task[None]] = {}
        self._compared: set[object] = set()
        """The triggers whose digests this process has compared, by what they consist of."""
        workers.triggers = self

    def probe(self, name: str) -> Callable[[Probe], Probe]:
        """Register a function whose value `when_changed=name` compares: JSON, cheap to get, without a model call."""
        if not isinstance(name, str) or not name:
            raise ValueError("the name of a probe must be a non-empty string")
        if name in self._probes.known:
            raise ValueError(f"two probes are named `{name}`")

        def register(probe: Probe) -> Probe:
            self._probes.known[name] = probe
            return probe

        return register

    def probe_name(self, probe: object) -> str | None:
        """The name under which a function is registered."""
        return next((name for name, known in self._probes.known.items() if known is probe), None)

    @property
    def probes(self) -> tuple[str, ...]:
        """The names of the probes."""
        return tuple(sorted(self._probes.known))

    async def digests(self, trigger: Trigger) -> dict[str, str]:
        """The digests of a trigger with this app's tools and policy. Raises `JobError`, and errors of the app."""
        moment = trigger.next or trigger.created
        job = Job(
            run_id(trigger, moment), trigger.name, trigger.payload, moment, tenant=trigger.tenant,
            thread=trigger.thread,
        )  # fmt: skip
        return digests_of(trigger, await self.workers.make(job))

    async def queue_due(self, store: DurableStore, jobs: Jobs) -> None:
        """Queue the firings of due triggers. A failing trigger does not block the others."""
        now = await store.now()
        page = await store.scan(KIND)
        while page:
            for entry in page:
                await self._try(store, jobs, entry, now)
            page = await store.scan(KIND, after=page[-1].key)
        waiting = [task for task in self._probing.values() if not task.done()]
        if waiting:
            await asyncio.wait(waiting, timeout=PROBES_WAIT_SECONDS)

    async def _try(self, store: DurableStore, jobs: Jobs, entry: Entry, now: datetime) -> None:
        try:
            trigger = trigger_from_json(entry.body)
            if trigger.id != entry.key:
                raise TriggerError("damaged", f"the trigger `{entry.key}` names another id")
            if trigger.name not in self.workers.makers:
                return
            trigger, version = await self._compare(store, trigger, entry.version)
            if trigger.state != "active" or trigger.next is None or trigger.next > now:
                return
            if trigger.when != "when_changed":
                await self._fire(store, jobs, trigger, version)
            elif trigger.expression in self._probes.known:
                self._begin(store, jobs, trigger, version)
        except VersionConflict:
            return  # another worker was first, or the trigger changed
        except Exception as error:
            log.warning("the trigger %s failed: %s", entry.key, format_exception(error))

    async def _compare(self, store: DurableStore, trigger: Trigger, version: int) -> tuple[Trigger, int]:
        """Compare a trigger with this app, once in each process: a person sees a change before the next firing."""
        key = (trigger.id, payload_digest(trigger), trigger.state, trigger.consent and trigger.consent.at)
        if trigger.state in ("done", "deleted") or key in self._compared:
            return trigger, version
        try:
            present = await self.digests(trigger)
        except Exception as error:  # of the app: the next firing, or a person, gets it again
            self._compared.add(key)
            log.warning("the trigger %s cannot be compared: %s", trigger.id, format_exception(error))
            return trigger, version
        now, compared = await store.now(), trigger
        if trigger.consent is not None:
            compared = bound(trigger, present, now)
        elif trigger.digests != present:
            compared = replace(trigger, digests=present)
        if compared != trigger:
            version = (await store.put(KIND, trigger.id, compared.to_json(), expected=version)).version
            report(compared)
        self._compared.add(key)
        return compared, version

    def _begin(self, store: DurableStore, jobs: Jobs, trigger: Trigger, version: int) -> None:
        """Call the probe of a trigger in the background, unless it is being called."""
        last = self._probing.get(trigger.id)
        if last is not None and not last.done():
            return

        async def probe() -> None:
            try:
                await self._fire(store, jobs, trigger, version)
            except VersionConflict:
                return
            except Exception as error:
                log.warning("the trigger %s failed: %s", trigger.id, format_exception(error))

        self._probing[trigger.id] = asyncio.create_task(probe())

    async def _fire(self, store: DurableStore, jobs: Jobs, trigger: Trigger, version: int) -> None:
        """Queue what is due, then record the next time: a worker that dies in between repeats it with the same ids."""
        assert trigger.next is not None
        due, fires, after = trigger.next, True, replace(trigger, error="", decided=None)
        if trigger.when == "when_changed" and trigger.decided is None:
            fires, after = await self._probe(trigger, after)
        now = await store.now()
        if fires:
            present = await self.digests(trigger)
            compared = bound(trigger, present, now)
            if compared.state != "active":
                await store.put(KIND, trigger.id, compared.to_json(), expected=version)
                report(compared)
                return
            after = replace(after, consent=compared.consent, changes=compared.changes)
            if trigger.decided is None and (trigger.when == "when_changed" or trigger.catch_up != "once"):
                begun = replace(after, decided=now)
                version = (await store.put(KIND, trigger.id, begun.to_json(), expected=version)).version
            await self._queue(store, jobs, trigger, due, trigger.decided or now)
        if trigger.when == "at":
            after = after.changed("done", now, state="done", next=None)
        else:
            after = replace(after, next=next_time(trigger, due, now))
        await store.put(KIND, trigger.id, after.to_json(), expected=version)

    async def _probe(self, trigger: Trigger, after: Trigger) -> tuple[bool, Trigger]:
        """Call the probe: true when its value has changed, and the trigger with the value or the error."""
        try:
            seen = await self._probes.digest(trigger.expression)
        except Exception as error:
            log.warning("the probe %s failed: %s", trigger.expression, format_exception(error))
            return False, replace(after, error=format_exception(error))
        return trigger.seen not in (None, seen), replace(after, seen=seen)

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
                await jobs.enqueue(
                    trigger.name, trigger.payload, run_id=id, run_at=moment, tenant=trigger.tenant,
                    thread=trigger.thread,
                )  # fmt: skip
                await record(store, Firing(trigger.id, moment, "queued", id))
                continue
            await record(store, Firing(trigger.id, moment, "skipped", reason=reason))

    async def check(self, attempt: Attempt) -> None:
        """Check a firing against its consent, with the tools and policy that it will run with. Raises `JobError`.

        A turn that a firing without consent has begun is ended.
        """
        try:
            await self._check(attempt.store, attempt.job, attempt.arguments)
        except JobError as error:
            if attempt.job.thread:
                await end_turn(attempt, str(error))
            raise

    async def run_turn(self, attempt: Attempt) -> RunResult:
        """Send the task of a firing to its thread, once, and execute the turn. Raises `JobError` when it failed."""
        return await run_turn(attempt)

    async def _check(self, store: DurableStore, job: Job, arguments: Mapping[str, Any]) -> None:
        id = job.run_id.removeprefix(FIRING).partition("@")[0]
        try:
            trigger, _ = await read(store, id)
        except TriggerError as error:
            raise JobError("no_consent", f"the firing has no consent: {error}") from error
        if trigger.consent is None or trigger.state not in CONSENTED:
            raise JobError("no_consent", f"the trigger `{id}` is {trigger.state}: its firing has no consent")
        consented = trigger.consent.digests
        if consented.get("payload") != payload_digest(job):
            raise JobError("no_consent", f"the payload of this firing is not the one of the trigger `{id}`")
        differing = changes(consented, digests_of(trigger, arguments))
        if differing:
            now = await store.now()
            found = await update(
                store, id, lambda known: withdrawn(known, differing, now) if known == trigger else known
            )
            report(found)
            raise JobError("no_consent", f"the consent to the trigger `{id}` is withdrawn: {reason_for(differing)}")


def run_id(trigger: Trigger, moment: datetime) -> str:
    """The id of the run of a trigger at a time."""
    return f"{FIRING}{trigger.id}@{moment.isoformat()}"


def reason_for(differing: list[str]) -> str:
    """The reason for a withdrawal, in words."""
    return f"changed since the consent: {', '.join(differing)}"


def bound(trigger: Trigger, present: Mapping[str, str], now: datetime) -> Trigger:
    """The trigger after a comparison of its consent with the present digests: with it, or withdrawn.

    A consent that was given without an app is bound to the first tools and policy that a worker has.
    """
    consented = {} if trigger.consent is None else dict(trigger.consent.digests)
    incomplete = trigger.consent is not None and not is_complete(consented)
    if incomplete:
        consented = {**present, **consented}
    differing = changes(consented, present)
    if differing:
        return replace(withdrawn(trigger, differing, now), digests=dict(present))
    if incomplete and trigger.consent is not None:
        consent = Consent(trigger.consent.by, trigger.consent.at, consented)
        return trigger.changed("bound", now, consent=consent, digests=consented)
    return trigger


def withdrawn(trigger: Trigger, differing: list[str], now: datetime) -> Trigger:
    """The trigger without its consent."""
    return trigger.changed(
        "withdrawn", now, state="withdrawn", reason=reason_for(differing), consent=None, next=None, decided=None
    )


def report(trigger: Trigger) -> None:
    """Log the withdrawal of a consent."""
    if trigger.state == "withdrawn":
        log.warning("the consent to the trigger %s is withdrawn: %s", trigger.id, trigger.reason)
