"""Digests that a consent is bound to: payload, schedule, tools and policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bobcat.errors import JobError
from bobcat.tools import ToolSet
from bobcat.tools.digest import exact_digest, tools_digest
from bobcat.triggers.model import Trigger
from bobcat.workers.job import Job

PARTS = ("payload", "schedule", "tools", "policy")


def payload_digest(run: Trigger | Job) -> str:
    """Digest of what a firing runs, and of the thread that it is a turn of."""
    return exact_digest([run.name, run.payload, run.tenant, run.thread])


def own_digests(trigger: Trigger) -> dict[str, str]:
    """The digests of the payload and the schedule."""
    when = [trigger.when, trigger.expression, trigger.seconds, trigger.timezone, trigger.catch_up]
    return {"payload": payload_digest(trigger), "schedule": exact_digest(when)}


def digests_of(trigger: Trigger, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The digests of a trigger with the tools and the policy of a worker. Raises `JobError` (`not_a_run`)."""
    tools, policy = arguments.get("tools"), getattr(arguments.get("policy"), "id", None)
    if not isinstance(tools, ToolSet) or not isinstance(policy, str):
        raise JobError("not_a_run", f"the run `{trigger.name}` has no tools or no policy that consent can be bound to")
    return {**own_digests(trigger), "tools": tools_digest(tools), "policy": policy}


def known_digests(trigger: Trigger) -> dict[str, str]:
    """The present digests as far as the store knows them: those of tools and policy only once an app has seen it."""
    return {**(trigger.digests or {}), **own_digests(trigger)}


def is_complete(digests: Mapping[str, str]) -> bool:
    """Return true for digests of all four parts."""
    return all(part in digests for part in PARTS)


def changes(consented: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """The parts that differ from those that a user has consented to."""
    return [part for part, value in present.items() if consented.get(part) != value]
