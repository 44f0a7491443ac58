"""Tables of calls for providers: escapes, which must not execute, and look-alikes, which must.

`escapes_NAME.yaml` beside this file has two lists of rows. A row has an `id` and a `call` (tool, arguments); the rest
is the provider's: `world` makes what a row needs, as a context manager of the tools and of a function that describes
everything the call might change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from bobcat import Guard, Outcome, Policy, ToolSet

HERE = Path(__file__).parent
SECONDS = 20
"""Time for one call: a provider must not wait on a FIFO or a device."""
Row: TypeAlias = dict[str, Any]


@dataclass
class World:
    """What a row runs in: its tools, its policy, and everything that its call could change or give away."""

    tools: ToolSet
    policy: Policy
    state: Callable[[], Any]
    secrets: tuple[str, ...] = ()
    fill: Callable[[Any], Any] = lambda value: value


MakeWorld: TypeAlias = Callable[[Row], AbstractContextManager[World]]


def rows(name: str, kind: str) -> list[Row]:
    """The rows of a table: `kind` is escapes or lookalikes."""
    found = yaml.safe_load((HERE / f"escapes_{name}.yaml").read_text())[kind]
    assert len({row["id"] for row in found}) == len(found), "an id stands twice"
    return list(found)


def submitted(world: World, row: Row) -> Outcome:
    """Take the call of a row through a guard."""
    tool, args = row["call"]

    async def main() -> Outcome:
        async with Guard(world.policy, world.tools) as guard:
            return await asyncio.wait_for(guard.submit(tool, world.fill(args)), SECONDS)

    return asyncio.run(main())


def check_escape(row: Row, make: MakeWorld) -> Outcome:
    """The call is refused, nothing has changed, and the outcome gives nothing away."""
    with make(row) as world:
        before = world.state()
        outcome = submitted(world, row)
        assert outcome.status in ("denied", "failed", "invalid"), outcome
        assert world.state() == before
        shown = repr(outcome)
        assert not any(secret in shown for secret in world.secrets), shown
        return outcome


def check_lookalike(row: Row, make: MakeWorld) -> Outcome:
    """The call is executed."""
    with make(row) as world:
        outcome = submitted(world, row)
        assert outcome.status == "ok", outcome
        return outcome
