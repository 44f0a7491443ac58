"""Triggers, consents and firings: the documents that the store keeps of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from bobcat.errors import TriggerError
from bobcat.model.decision import Principal
from bobcat.model.frozen import FrozenDict
from bobcat.model.plain_fields import fields_to_json
from bobcat.model.run import AuditEvent

KIND = "trigger"
FIRING_KIND = "trigger.firing"
QUOTA_KIND = "trigger.quota"

EVENT_BUNDLE = "trigger"
"""`bundle_id` of the audit events of triggers."""
MAX_CHANGES = 100
"""Most changes that a trigger keeps: the latest."""

When = Literal["at", "cron", "every", "when_changed"]
CatchUp = Literal["once", "skip", "all"]
State = Literal["proposed", "active", "paused", "withdrawn", "done", "deleted"]
LIVE: tuple[State, ...] = ("proposed", "active", "paused", "withdrawn")
"""States that count for the quota of triggers."""
CONSENTED: tuple[State, ...] = ("active", "paused", "done")
"""States in which a queued firing may run."""


@dataclass(frozen=True, slots=True)
class Consent:
    """The consent of a user, bound to the digests of what it permits."""

    by: Principal
    at: datetime
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a trigger: the event `kind` of its audit events, with their `seq`, and who made it."""

    seq: int
    kind: str
    at: datetime
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger. `name` is the run of the app, `expression` the time, cron fields or probe, `seconds` the interval.

    With a `thread`, each firing is a turn of that thread. `next` is the time of the next firing, or of the next call of
    the probe. `digests` are those of payload, schedule, tools and policy that an app had last, as people see them.
    `seen` is the digest of the probe's value. `decided` is the time at which a worker began to queue the firings
    from `next` on: one that continues its work decides as it did. `changes` are the latest ones.
    """

    id: str
    name: str
    payload: Mapping[str, Any]
    when: When
    expression: str
    by: Principal
    created: datetime
    seconds: float = 0.0
    timezone: str = "UTC"
    tenant: str = ""
    thread: str = ""
    catch_up: CatchUp = "once"
    state: State = "proposed"
    reason: str = ""
    consent: Consent | None = None
    next: datetime | None = None
    digests: Mapping[str, str] | None = None
    seen: str | None = None
    decided: datetime | None = None
    error: str = ""
    changes: tuple[Change, ...] = ()

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The trigger as plain JSON data."""
        return fields_to_json(self)

    def changed(self, kind: str, at: datetime, by: Principal | None = None, **fields: Any) -> Trigger:
        """The trigger with other fields, and a record of the change. Any: values of fields."""
        seq = self.changes[-1].seq + 1 if self.changes else 0
        name = "" if by is None else f"{by.kind}:{by.id}"
        change = Change(seq, f"trigger.{kind}", at, name, fields.get("reason", ""))
        return replace(self, changes=(*self.changes[1 - MAX_CHANGES :], change), **fields)


@dataclass(frozen=True, slots=True)
class Firing:
    """One time of a trigger: `queued` as the run `run_id`, or `skipped` for a reason."""

    trigger: str
    due: datetime
    outcome: Literal["queued", "skipped"]
    run_id: str = ""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The firing as plain JSON data."""
        return fields_to_json(self)


@dataclass(frozen=True, slots=True)
class Quotas:
    """Limits of each proposer: triggers that are not over, and firings on one day of UTC."""

    triggers: int = 20
    firings_per_day: int = 200

    def __post_init__(self) -> None:
        for limit in (self.triggers, self.firings_per_day):
            if type(limit) is not int or limit < 1:
                raise ValueError(f"a quota must be an integer of at least 1, got `{limit!r}`")


def events_of(trigger: Trigger) -> list[AuditEvent]:
    """The changes of a trigger as audit events."""
    name = f"trigger:{trigger.id}"
    about = {"trigger": trigger.id, "run": trigger.name}
    return [
        AuditEvent(
            name,
            EVENT_BUNDLE,
            each.seq,
            each.kind,
            each.at,
            FrozenDict({**about, "by": each.by, "reason": each.reason}),
        )
        for each in trigger.changes
    ]


def trigger_from_json(body: Mapping[str, Any]) -> Trigger:
    """Parse the trigger of a document. Raises `TriggerError` (`damaged`)."""
    try:
        trigger = msgspec.convert(body, Trigger)
    except msgspec.ValidationError as error:
        raise TriggerError("damaged", f"a trigger of this store cannot be read: {error}") from error
    times = {name: moment for name in ("created", "next", "decided") if (moment := getattr(trigger, name)) is not None}
    if any(moment.tzinfo is None for moment in times.values()):
        raise TriggerError("damaged", "a trigger of this store has a time without a zone")
    return replace(trigger, **{name: moment.astimezone(UTC) for name, moment in times.items()})


def firing_from_json(body: Mapping[str, Any]) -> Firing:
    """Parse the firing of a document. Raises `TriggerError` (`damaged`)."""
    try:
        return msgspec.convert(body, Firing)
    except msgspec.ValidationError as error:
        raise TriggerError("damaged", f"a firing of this store cannot be read: {error}") from error
