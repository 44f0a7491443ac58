"""`Triggers`: client of a store's triggers. Agents propose, users confirm."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

from bobcat.aio.closing import Closing
from bobcat.bundle import Policy
from bobcat.errors import JobError, TriggerError
from bobcat.model.decision import Principal
from bobcat.model.run import AuditEvent, ToolDef
from bobcat.stores.protocol import DurableStore, VersionConflict
from bobcat.text.json_text import format_exception
from bobcat.threads.opening import checked_id, opened
from bobcat.tools import ToolSet
from bobcat.tools.digest import exact_digest
from bobcat.triggers.agent_tool import proposing_tool
from bobcat.triggers.binding import digests_of, is_complete, known_digests, own_digests
from bobcat.triggers.documents import count_trigger, firings, read, update
from bobcat.triggers.engine import WorkerTriggers
from bobcat.triggers.model import (
    KIND,
    CatchUp,
    Consent,
    Firing,
    Quotas,
    State,
    Trigger,
    events_of,
    trigger_from_json,
)
from bobcat.triggers.payload import checked_payload, checked_texts
from bobcat.triggers.spelling import ANONYMOUS, bad, principal_of
from bobcat.triggers.times import first_time, schedule_of
from bobcat.workers.registry import Workers

ACTIVE: tuple[State, ...] = ("active",)
PAUSED: tuple[State, ...] = ("paused",)

By = Principal | str


class Triggers(Closing):
    """Client of the triggers in a store, which may be a `DurableStore`, or a URL or path as `Thread` takes.

    Consent is bound to the tools and the policy of `app`, the `WorkerTriggers` or `Workers` of the workers, or to
    `tools` and `policy`. Without them it is bound to those that a worker has recorded for the trigger, or else to those
    of the first worker that sees it. With `self_approval=False` a user cannot confirm a trigger of their own.
    """

    def __init__(
        self,
        store: DurableStore | str | Path,
        app: WorkerTriggers | Workers | None = None,
        *,
        tools: ToolSet | None = None,
        policy: Policy | None = None,
        quotas: Quotas | None = None,
        self_approval: bool = True,
    ) -> None:
        engine = app.triggers if isinstance(app, Workers) else app
        if not isinstance(engine, WorkerTriggers | None) or (app is not None and engine is None):
            raise TypeError(f"app must be WorkerTriggers, or Workers that have one, got {type(app).__name__}")
        if (tools is None) != (policy is None) or (tools is not None and engine is not None):
            raise TypeError("pass the app, or tools and policy together")
        self._own_store = isinstance(store, str | Path)
        self._store = opened(store)
        self._app, self._self_approval = engine, self_approval
        self._arguments = None if tools is None else {"tools": tools, "policy": policy}
        self._quotas = quotas or (Quotas() if engine is None else engine.quotas)

    async def aclose(self) -> None:
        """Close a store that was opened from a URL or path."""
        if self._own_store:
            await self._store.aclose()

    async def propose(
        self,
        name: str,
        *,
        at: datetime | timedelta | str | None = None,
        cron: str | None = None,
        every: float | timedelta | str | None = None,
        when_changed: Any = None,  # Any: the name of a probe, or the registered function
        payload: Mapping[str, Any] | None = None,
        by: By = ANONYMOUS,
        timezone: str | None = None,
        tenant: str = "",
        thread: str | None = None,
        catch_up: CatchUp = "once",
        confirmed_by: By | None = None,
        key: str | None = None,
    ) -> str:
        """Propose runs of the app's `name`; return the trigger's id. It fires after `confirm` only.

        `at` is a datetime, ISO 8601 text, or the time from now as a timedelta or `5m`; `every` seconds, a timedelta or
        `5m`. `timezone` is that of `cron` (UTC by default), or of an `at` without an offset. With a `thread`, each
        firing is a turn of that thread. With a `key`, a second call has no effect. Raises `TriggerError`:
        `bad_trigger`, `too_large`, `past`, `quota`, `taken`, and those of `confirm` with `confirmed_by`.
        """
        checked_texts(name=name, tenant=tenant, key=key)
        proposer, plain = principal_of(by, "by"), checked_payload(payload)
        if catch_up not in get_args(CatchUp):
            raise bad(f"catch_up must be once, skip or all, got `{catch_up!r}`")
        self._check_name(name)
        if callable(when_changed):
            when_changed = None if self._app is None else self._app.probe_name(when_changed)
            if when_changed is None:
                raise bad("when_changed must be the name of a probe: register the function with `WorkerTriggers.probe`")
        id = uuid4().hex[:16] if key is None else exact_digest([proposer.kind, proposer.id, key])[:16]
        known = None if key is None else await self._find(id)
        now = await self._store.now() if known is None else known.created
        when, expression, seconds = schedule_of(at, cron, every, when_changed, timezone=timezone, now=now)
        trigger = Trigger(
            id, name, plain, when, expression, proposer, now, seconds, timezone or "UTC", tenant, _thread(thread),
            catch_up,
        )  # fmt: skip
        if known is None:
            if when == "at":
                first_time(trigger, now)
            with suppress(Exception):  # the app may not be able to make this run now: a worker compares again
                trigger = replace(trigger, digests=await self._digests(trigger))
            await count_trigger(self._store, trigger, self._quotas.triggers)
            try:
                await self._store.put(KIND, id, trigger.changed("proposed", now, proposer).to_json(), expected=0)
            except VersionConflict:
                known = await self.get(id)
        if known is not None and (own_digests(known), known.catch_up) != (own_digests(trigger), catch_up):
            raise TriggerError("taken", f"the key `{key}` belongs to another trigger, `{id}`")
        if confirmed_by is not None and (known is None or known.state == "proposed"):
            await self.confirm(id, by=confirmed_by)
        return id

    async def digest(self, id: str) -> str | None:
        """The digest of the payload, schedule, tools and policy of a trigger, as `confirm` compares it.

        None without an app, when no worker has seen the trigger yet. Raises `TriggerError` (`unknown`).
        """
        return digest_of(await self._digests(await self.get(id)))

    async def digests(self, id: str) -> dict[str, str]:
        """The digests of the payload, schedule, tools and policy, as far as they are known."""
        return await self._digests(await self.get(id))

    async def confirm(self, id: str, *, by: By, digest: str | None = None) -> Trigger:
        """Consent to a trigger. With the `digest` that the user saw, only while it is the present one.

        Raises `TriggerError`: `not_a_user`, `self_approval`, `no_app`, `app_failed`, `state`, `past`, `changed`,
        `quota`.
        """
        trigger, version = await read(self._store, id)
        user = principal_of(by, "by") if isinstance(by, str) else by
        if not isinstance(user, Principal) or user.kind != "user":
            raise TriggerError("not_a_user", "only a user can consent to a trigger, not an agent or a service")
        if user.id == trigger.by.id and (trigger.by.kind != "user" or not self._self_approval):
            raise TriggerError("self_approval", f"`{user.id}` cannot consent to a trigger of their own")
        if trigger.state not in ("proposed", "withdrawn"):
            raise TriggerError("state", f"the trigger `{id}` is {trigger.state}: there is nothing to confirm")
        digests = await self._digests(trigger)
        if digest is not None and not is_complete(digests):
            raise TriggerError("no_app", f"no worker has seen the trigger `{id}` yet: its tools and policy are unknown")
        if digest is not None and digest != digest_of(digests):
            raise TriggerError("changed", f"the trigger `{id}` differs from what was shown: read it again")
        await count_trigger(self._store, trigger, self._quotas.triggers)
        now = await self._store.now()
        confirmed = trigger.changed(
            "confirmed", now, user, state="active", reason="", error="", consent=Consent(user, now, digests),
            digests=digests, seen=None, decided=None, next=first_time(trigger, now),
        )  # fmt: skip
        try:
            await self._store.put(KIND, id, confirmed.to_json(), expected=version)
        except VersionConflict:
            raise TriggerError("changed", f"the trigger `{id}` changed at this moment: read it again") from None
        return confirmed

    async def change(self, id: str, *, payload: Mapping[str, Any], by: By | None = None) -> Trigger:
        """Replace the payload. A consent is withdrawn. Raises `TriggerError`: `bad_trigger`, `too_large`, `state`."""
        plain, who, now = checked_payload(payload), _who(by), await self._store.now()

        def changed(known: Trigger) -> Trigger:
            if known.state in ("done", "deleted"):
                raise TriggerError("state", f"the trigger `{id}` is {known.state}")
            if known.payload == plain:
                return known
            new = known.changed("changed", now, who, payload=plain)
            if known.consent is None:
                return new
            reason = "changed since the consent: payload"
            return new.changed(
                "withdrawn", now, who, state="withdrawn", reason=reason, consent=None, next=None, decided=None
            )

        return await update(self._store, id, changed)

    async def get(self, id: str) -> Trigger:
        """One trigger. Raises `TriggerError` (`unknown`)."""
        return (await read(self._store, id))[0]

    async def list(self, *, state: State | None = None) -> list[Trigger]:
        """The triggers, without deleted ones unless `state` names them."""
        if state is not None and state not in get_args(State):
            raise bad(f"state must be one of {', '.join(get_args(State))}, got `{state!r}`")
        found: list[Trigger] = []
        page = await self._store.scan(KIND)
        while page:
            found += [trigger_from_json(entry.body) for entry in page]
            page = await self._store.scan(KIND, after=page[-1].key)
        return [each for each in found if (each.state == state if state else each.state != "deleted")]

    async def pause(self, id: str, *, by: By | None = None) -> Trigger:
        """Queue no further firings until `resume`."""
        return await self._move(id, ACTIVE, "paused", by)

    async def resume(self, id: str, *, by: By | None = None) -> Trigger:
        """Continue a paused trigger, from now on."""
        now, who = await self._store.now(), _who(by)

        def resumed(known: Trigger) -> Trigger:
            _require(known, PAUSED)
            return known.changed("resumed", now, who, state="active", reason="", next=first_time(known, now))

        return await update(self._store, id, resumed)

    async def withdraw(self, id: str, *, by: By | None = None, reason: str = "withdrawn by hand") -> Trigger:
        """Take back the consent: queued firings do not run either."""
        return await self._move(id, ("proposed", "active", "paused", "done"), "withdrawn", by, reason)

    async def delete(self, id: str, *, by: By | None = None) -> Trigger:
        """Delete a trigger: queued firings do not run either. Its history remains."""
        return await self._move(id, ("proposed", "active", "paused", "withdrawn", "done"), "deleted", by)

    async def history(self, id: str) -> Sequence[Firing]:
        """The times of a trigger that were queued or skipped, oldest first."""
        return await firings(self._store, (await self.get(id)).id)

    async def events(self, id: str) -> Sequence[AuditEvent]:
        """The latest changes of a trigger as audit events, oldest first."""
        return events_of(await self.get(id))

    def tool(
        self,
        *,
        by: By,
        names: Collection[str],
        name: str = "propose_trigger",
        tenant: str = "",
        thread: str | None = None,
    ) -> ToolDef:
        """A tool with which the agent `by` proposes runs of `names`. What it proposes fires after consent only.

        Firings belong to the `tenant`, and are turns of the `thread`: the agent chooses neither.
        """
        agent = principal_of(by, "by")
        if agent.kind != "agent":
            raise ValueError(
                "the principal of the tool must be of kind agent: its proposals need the consent of a user"
            )
        probes = None if self._app is None else self._app.probes
        return proposing_tool(
            self.propose, by=agent, names=names, probes=probes, name=name, tenant=tenant, thread=_thread(thread) or None
        )

    def _check_name(self, name: str) -> None:
        if self._app is not None and name not in self._app.workers.makers:
            raise bad(self._app.workers.missing_kind(name))

    async def _find(self, id: str) -> Trigger | None:
        entry = await self._store.get(KIND, id)
        return None if entry is None else trigger_from_json(entry.body)

    async def _digests(self, trigger: Trigger) -> dict[str, str]:
        """The digests of a trigger. Raises `TriggerError` (`bad_trigger`, `app_failed`). Without an app, those on
        record, perhaps not all.
        """
        if self._arguments is not None:
            return digests_of(trigger, self._arguments)
        if self._app is None:
            return known_digests(trigger)
        try:
            return await self._app.digests(trigger)
        except JobError as error:
            raise bad(str(error)) from error
        except Exception as error:
            problem = f"the app cannot make the run `{trigger.name}`: {format_exception(error)}"
            raise TriggerError("app_failed", problem) from error

    async def _move(
        self, id: str, expected: Collection[State], state: State, by: By | None, reason: str = ""
    ) -> Trigger:
        now, who = await self._store.now(), _who(by)

        def moved(known: Trigger) -> Trigger:
            _require(known, expected)
            consent = known.consent if state == "paused" else None
            return known.changed(state, now, who, state=state, reason=reason, consent=consent, next=None, decided=None)

        return await update(self._store, id, moved)


def digest_of(digests: Mapping[str, str]) -> str | None:
    """One digest of all four parts; None where a part is unknown."""
    return exact_digest(dict(digests)) if is_complete(digests) else None


def _who(by: By | None) -> Principal | None:
    return None if by is None else principal_of(by, "by")


def _require(trigger: Trigger, expected: Collection[State]) -> None:
    if trigger.state not in expected:
        raise TriggerError("state", f"the trigger `{trigger.id}` is {trigger.state}")


def _thread(thread: str | None) -> str:
    try:
        return "" if thread is None else checked_id(thread)
    except (TypeError, ValueError) as error:
        raise bad(str(error)) from error
