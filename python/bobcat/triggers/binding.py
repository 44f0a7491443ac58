"""Digests that a consent is bound to: payload, schedule, tools and policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from bobcat.errors import JobError
from bobcat.model.frozen import thaw
from bobcat.model.plain_fields import fields_to_json
from bobcat.model.run import ToolDef
from bobcat.tools import ToolSet
from bobcat.tools.schema import tooldef_to_json_schema
from bobcat.triggers.model import Trigger


def digest(value: Any) -> str:  # Any: JSON
    """SHA-256 of a JSON value, its keys sorted. Raises `TypeError` or `ValueError` for another value."""
    text = json.dumps(thaw(value), sort_keys=True, allow_nan=False, separators=(",", ":"))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def payload_digest(name: str, payload: Mapping[str, Any], tenant: str) -> str:
    """Digest of what a firing runs."""
    return digest([name, payload, tenant])


def digests_of(trigger: Trigger, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The digests of a trigger with the tools and the policy of a worker. Raises `JobError` (`not_a_run`)."""
    tools, policy = arguments.get("tools"), getattr(arguments.get("policy"), "id", None)
    if not isinstance(tools, ToolSet) or not isinstance(policy, str):
        raise JobError("not_a_run", f"the run `{trigger.name}` has no tools or no policy that consent can be bound to")
    when = [trigger.when, trigger.expression, trigger.seconds, trigger.timezone, trigger.catch_up]
    return {
        "payload": payload_digest(trigger.name, trigger.payload, trigger.tenant),
        "schedule": digest(when),
        "tools": digest([_tool(tools.get(name)) for name in sorted(tools.names())]),
        "policy": policy,
    }


def changes(consented: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """The parts that differ from those that a user has consented to."""
    return [part for part, value in present.items() if consented.get(part) != value]


def _tool(tool: ToolDef) -> list[Any]:  # Any: JSON
    return [
        tool.name, tool.description, tool.definition, fields_to_json(tool.metadata), tooldef_to_json_schema(tool),
    ]  # fmt: skip
