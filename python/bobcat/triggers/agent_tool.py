"""The tool with which an agent proposes triggers. It cannot confirm them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from bobcat.errors import TriggerError
from bobcat.model.decision import Principal
from bobcat.model.run import ToolDef
from bobcat.tools import tool
from bobcat.tools.decorator import definition_of

Propose = Callable[..., Awaitable[str]]
"""`Triggers.propose`."""


def proposing_tool(
    propose: Propose, *, by: Principal, names: Collection[str], probes: Collection[str] | None, name: str,
    tenant: str, thread: str | None,
) -> ToolDef:  # fmt: skip
    """A tool that proposes runs of `names` as `by`, for the tenant and the thread of the host."""
    allowed = frozenset(names)

    @tool(name=name, effect="keyed")
    async def propose_trigger(
        run: str,
        payload: dict[str, Any],
        idempotency_key: str,
        at: str | None = None,
        cron: str | None = None,
        every: str | None = None,
        when_changed: str | None = None,
        timezone: str | None = None,
    ) -> str:
        """Propose to run something later; it starts only after a user has consented.

        Give one of: at (once; ISO 8601 time with offset, or a time from now such as "90m"), cron (five fields, in
        timezone or UTC), every (an interval such as "15m"), when_changed (the name of a probe; every is then the
        interval of its calls).
        """
        if run not in allowed:
            raise TriggerError("bad_trigger", f"no trigger may run `{run}`; known: {', '.join(sorted(allowed))}")
        if when_changed is not None and probes is not None and when_changed not in probes:
            known = ", ".join(sorted(probes)) or "none"
            raise TriggerError("bad_trigger", f"there is no probe `{when_changed}`; known: {known}")
        id = await propose(
            run, at=at, cron=cron, every=every, when_changed=when_changed, timezone=timezone, payload=payload, by=by,
            key=idempotency_key, tenant=tenant, thread=thread,
        )  # fmt: skip
        return f"proposed as {id}; it waits for the consent of a user"

    found = definition_of(propose_trigger)
    assert found is not None
    return found
