"""`Triggers`: client of a store's triggers. Agents propose, users confirm."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, get_args
from uuid import uuid4

from bobcat.errors import JobError, TriggerError
from bobcat.model.decision import Principal
from bobcat.model.run import ToolDef
from bobcat.stores.protocol import DurableStore, VersionConflict
from bobcat.tools import tool
from bobcat.tools.decorator import definition_of
from bobcat.triggers.binding import digest
from bobcat.triggers.documents import count_trigger, read, update
from bobcat.triggers.engine import WorkerTriggers
from bobcat.triggers.model import (
    FIRING_KIND,
    KIND,
    CatchUp,
    Consent,
    Firing,
    Quotas,
    State,
    Trigger,
    firing_from_json,
    trigger_from_json,
)
from bobcat.triggers.times import first_time, schedule_of
from bobcat.workers.job import plain_payload

ACTIVE: tuple[State, ...] = ("active",)
PAUSED: tuple[State, ...] = ("paused",)


class Triggers:
    """Client of the triggers in a store. `app` is needed to confirm: consent is bound to its tools and policy.

    With `self_approval=False` a user cannot confirm a trigger of their own.
    """

    def __init__(
        self,
        store: DurableStore,
        app: WorkerTriggers | None = None,
        *,
        quotas: Quotas | None = None,
        self_approval: bool = True,
    ) -> None:
        if not isinstance(store, DurableStore):
            raise TypeError(f"triggers need a DurableStore, such as SQLiteStore, got {type(store).__name__}")
        self._store, self._app, self._self_approval = store, app, self_approval
        self._quotas = quotas or (Quotas() if app is None else app.quotas)

    async def propose(
        self,
        name: str,
        *,
        by: Principal,
        at: datetime | None = None,
        cron: str | None = None,
        every: float | timedelta | None = None,
        when_changed: str | None = None,
        payload: Mapping[str, Any] | None = None,
        timezone: str = "UTC",
        tenant: str = "",
        catch_up: CatchUp = "once",
        confirmed_by: Principal | None = None,
        key: str | None = None,
    ) -> str:
        """Propose runs of the app's `name`; return the trigger's id. It fires after `confirm` only.

        `every` is in seconds. With a `key`, a second call has no effect. Raises `TriggerError`: `bad_trigger`, `quota`,
        `taken`, and those of `confirm` with `confirmed_by`.
        """
        when, expression, seconds = schedule_of(at, cron, every, when_changed, timezone)
        if not isinstance(by, Principal) or not isinstance(name, str) or not name or not isinstance(tenant, str):
            raise TriggerError("bad_trigger", "a trigger needs the name of a run, and the principal who proposes it")
        if catch_up not in get_args(CatchUp):
            raise TriggerError("bad_trigger", f"catch_up must be once, skip or all, got `{catch_up!r}`")
        id = uuid4().hex[:16] if key is None else digest([by.kind, by.id, key])[:16]
        trigger = Trigger(
            id, name, _payload(payload), when, expression, by, await self._store.now(), seconds, timezone, tenant,
            catch_up,
        )  # fmt: skip
        if when == "at":
            first_time(trigger, trigger.created)
        await count_trigger(self._store, trigger, self._quotas.triggers)
        try:
            await self._store.put(KIND, id, trigger.to_json(), expected=0)
        except VersionConflict:
            known = await self.get(id)
            same = (known.name, known.payload, known.when, known.expression, known.tenant)
            if same != (name, trigger.payload, when, expression, tenant):
                raise TriggerError("taken", f"the key `{key}` belongs to another trigger, `{id}`") from None
        if confirmed_by is not None:
            await self.confirm(id, by=confirmed_by)
        return id

    async def digest(self, id: str) -> str:
        """The digest that `confirm` binds a consent to, of payload, schedule, tools and policy."""
        return digest(await self._digests(await self.get(id)))

    async def confirm(self, id: str, *, by: Principal, digest_shown: str | None = None) -> Trigger:
        """Consent to a trigger. With `digest_shown`, only while it is the present one.

        Raises `TriggerError`: `not_a_user`, `self_approval`, `no_app`, `state`, `past`, `changed`, `quota`.
        """
        trigger, version = await read(self._store, id)
        if not isinstance(by, Principal) or by.kind != "user":
            raise TriggerError("not_a_user", "only a user can consent to a trigger, not an agent or a service")
        if by.id == trigger.by.id and (trigger.by.kind != "user" or not self._self_approval):
            raise TriggerError("self_approval", f"`{by.id}` cannot consent to a trigger of their own")
        if trigger.state not in ("proposed", "withdrawn"):
            raise TriggerError("state", f"the trigger `{id}` is {trigger.state}: there is nothing to confirm")
        digests = await self._digests(trigger)
        if digest_shown is not None and digest_shown != digest(digests):
            raise TriggerError("changed", f"the trigger `{id}` differs from what was shown: read it again")
        await count_trigger(self._store, trigger, self._quotas.triggers)
        now = await self._store.now()
        confirmed = replace(
            trigger, state="active", reason="", error="", consent=Consent(by, now, digests), seen=None,
            next=first_time(trigger, now),
        )  # fmt: skip
        try:
            await self._store.put(KIND, id, confirmed.to_json(), expected=version)
        except VersionConflict:
            raise TriggerError("changed", f"the trigger `{id}` changed at this moment: read it again") from None
        return confirmed

    async def change(self, id: str, *, payload: Mapping[str, Any]) -> Trigger:
        """Replace the payload. A consent is withdrawn."""
        plain = _payload(payload)

        def changed(known: Trigger) -> Trigger:
            if known.state in ("done", "deleted"):
                raise TriggerError("state", f"the trigger `{id}` is {known.state}")
            if known.consent is None or known.payload == plain:
                return replace(known, payload=plain)
            reason = "changed since the consent: payload"
            return replace(known, payload=plain, state="withdrawn", reason=reason, consent=None, next=None)

        return await update(self._store, id, changed)

    async def get(self, id: str) -> Trigger:
        """One trigger. Raises `TriggerError` (`unknown`)."""
        return (await read(self._store, id))[0]

    async def list(self, *, state: State | None = None) -> list[Trigger]:
        """The triggers, without deleted ones unless `state` names them."""
        found: list[Trigger] = []
        page = await self._store.scan(KIND)
        while page:
            found += [trigger_from_json(entry.body) for entry in page]
            page = await self._store.scan(KIND, after=page[-1].key)
        return [each for each in found if (each.state == state if state else each.state != "deleted")]

    async def pause(self, id: str) -> Trigger:
        """Queue no further firings until `resume`."""
        return await self._move(id, ACTIVE, "paused")

    async def resume(self, id: str) -> Trigger:
        """Continue a paused trigger, from now on."""
        now = await self._store.now()

        def resumed(known: Trigger) -> Trigger:
            _require(known, PAUSED)
            return replace(known, state="active", reason="", next=first_time(known, now))

        return await update(self._store, id, resumed)

    async def withdraw(self, id: str, *, reason: str = "withdrawn by hand") -> Trigger:
        """Take back the consent: queued firings do not run either."""
        return await self._move(id, ("proposed", "active", "paused", "done"), "withdrawn", reason)

    async def delete(self, id: str) -> Trigger:
        """Delete a trigger: queued firings do not run either. Its history remains."""
        return await self._move(id, ("proposed", "active", "paused", "withdrawn", "done"), "deleted")

    async def history(self, id: str) -> Sequence[Firing]:
        """The times of a trigger that were queued or skipped, oldest first."""
        prefix, found = f"{(await self.get(id)).id}@", []
        page = await self._store.scan(FIRING_KIND, after=prefix)
        while page and page[0].key.startswith(prefix):
            found += [firing_from_json(entry.body) for entry in page if entry.key.startswith(prefix)]
            page = await self._store.scan(FIRING_KIND, after=page[-1].key)
        return found

    def tool(self, *, by: Principal, names: Collection[str], name: str = "propose_trigger") -> ToolDef:
        """A tool with which the agent `by` proposes runs of `names`. What it proposes fires after consent only."""
        if by.kind != "agent":
            raise ValueError(
                "the principal of the tool must be of kind agent: its proposals need the consent of a user"
            )
        allowed = frozenset(names)

        @tool(name=name, effect="keyed")
        async def propose_trigger(run: str, cron: str, payload: dict[str, Any], idempotency_key: str) -> str:
            """Propose to run something on a cron schedule (UTC). It starts only after a user has consented."""
            if run not in allowed:
                raise TriggerError("bad_trigger", f"no trigger may run `{run}`; known: {', '.join(sorted(allowed))}")
            id = await self.propose(run, cron=cron, payload=payload, by=by, key=idempotency_key)
            return f"proposed as {id}; it waits for the consent of a user"

        found = definition_of(propose_trigger)
        assert found is not None
        return found

    async def _digests(self, trigger: Trigger) -> dict[str, str]:
        if self._app is None:
            raise TriggerError("no_app", "consent is bound to tools and policy: pass the WorkerTriggers of the app")
        return await self._app.digests(trigger)

    async def _move(self, id: str, expected: Collection[State], state: State, reason: str = "") -> Trigger:
        def moved(known: Trigger) -> Trigger:
            _require(known, expected)
            consent = known.consent if state == "paused" else None
            return replace(known, state=state, reason=reason, consent=consent, next=None)

        return await update(self._store, id, moved)


def _require(trigger: Trigger, expected: Collection[State]) -> None:
    if trigger.state not in expected:
        raise TriggerError("state", f"the trigger `{trigger.id}` is {trigger.state}")


def _payload(payload: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        return plain_payload({} if payload is None else payload)
    except JobError as error:
        raise TriggerError("bad_trigger", str(error)) from error
