"""A worker of the crash campaign: it makes runs of three payments until all of them have succeeded, whatever happens.

`campaign_worker.py URL DIRECTORY NAME RUNS`. A payment is a line in the ledger of its run, on the disk before the tool
returns. A run that has succeeded is a file `DONE-<run id>`; any worker can make any run.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bobcat import FinalAnswer, Message, StoreError, ToolCall, run_agent
from bobcat.stores.urls import open_store
from kernel.crashing_process import POLICY, Payer, tools
from kernel.killed_workers import Ledger

LEASE_SECONDS = 3.0
AT_ONCE = 6
EFFECTS = (("keyed", False), ("unsafe", True), ("unsafe", False))
"""Effect of the tool, and whether it has a reconciler; run `r<number>` has the one at its number."""


def effect_of(run_id: str) -> tuple[str, bool]:
    """The effect of the tool of a run, and whether it has a reconciler."""
    return EFFECTS[int(run_id[1:]) % len(EFFECTS)]


class SlowPayer(Payer):
    """A model that takes a moment."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        await asyncio.sleep(random.random() * 0.15)
        return await super().step(conversation)


async def one(store: Any, directory: Path, run_id: str, name: str) -> bool:
    """One attempt at a run; true when it is over."""
    done = directory / f"DONE-{run_id}"
    if done.exists():
        return True
    effect, reconciled = effect_of(run_id)
    found = tools(Ledger(directory / f"{run_id}.ledger", once=effect == "keyed"), effect, reconciled=reconciled)
    result = await run_agent(
        SlowPayer(), "pay", tools=found, policy=POLICY, store=store, run_id=run_id, lease_seconds=LEASE_SECONDS
    )
    if result.status != "succeeded":
        print(name, run_id, result.status, result.error, flush=True)
        return False
    done.touch()
    return True


async def main(url: str, directory: Path, name: str, runs: int) -> None:
    """Work until every run is over."""
    left = [f"r{number}" for number in range(runs)]
    random.seed(name)
    store: Any = None

    async def work() -> None:
        while left:
            run_id = random.choice(left)
            if await one(store, directory, run_id, name):
                if run_id in left:
                    left.remove(run_id)
            else:
                await asyncio.sleep(0.1)

    while left:
        try:
            store = open_store(url)
            await store.now()
            await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        except (StoreError, OSError) as error:  # the server is away at the start, or its disk is full
            print(name, error, flush=True)
            await asyncio.sleep(0.2)
        finally:
            if store is not None:
                await store.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
