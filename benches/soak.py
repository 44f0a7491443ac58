"""The memory of a process over many durable runs, and what suspended runs cost. Prints one JSON object.

    python benches/soak.py STORE [--runs 20000] [--suspended 10000]

`resident` has the resident KiB by the number of runs made, `slope` the growth in bytes per run over the second half.
Suspended runs wait for an approval: of them `resident` is the growth of the process that suspended them, `tasks` and
`leases` what is left in it, and `held` the leases in the store.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, durable_approvals, run_agent, tool
from bobcat.stores.heartbeat import lease_thread, renewals_of
from bobcat.stores.protocol import DurableStore
from bobcat.stores.urls import open_store

STEPS = 3
CONCURRENT = 16
SAMPLES = 8
ALLOWED = Policy.compile("rules: [{id: pay, match: {tool: pay}, decision: allow}]")
ASKED = Policy.compile("rules: [{id: pay, match: {tool: pay}, decision: approve_required}]")


@tool
async def pay(amount: int) -> str:
    """The step."""
    return f"paid {amount}"


class Payer:
    """Calls the tool, and answers."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        """The next call."""
        done = sum(message.role == "tool" for message in conversation)
        return ToolCall("pay", {"amount": done}) if done < STEPS else FinalAnswer("done")


def resident() -> int:
    """The resident memory of this process in KiB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


async def make(store: DurableStore, label: str, runs: range, **options: Any) -> list[str]:  # Any: of `run_agent`
    """Make the runs, some at a time; return their statuses."""
    numbers, statuses, tools = iter(runs), list[str](), ToolSet.from_functions(pay)

    async def work() -> None:
        for number in numbers:
            run_id = f"{label}-{number}"
            result = await run_agent(Payer(), "pay", tools=tools, store=store, run_id=run_id, **options)
            statuses.append(result.status)

    await asyncio.gather(*(work() for _ in range(CONCURRENT)))
    return statuses


async def soak(url: str, runs: int, suspended: int) -> dict[str, Any]:
    """All figures of a store."""
    label, sizes = os.urandom(4).hex(), dict[str, int]()
    async with aclosing(open_store(url)) as store:
        await make(store, f"{label}-warm", range(50), policy=ALLOWED)
        for part in range(SAMPLES):
            share = range(runs * part // SAMPLES, runs * (part + 1) // SAMPLES)
            if set(await make(store, label, share, policy=ALLOWED)) != {"succeeded"}:
                raise RuntimeError("a run has not succeeded")
            sizes[str(share.stop)] = resident()
        known = list(sizes.values())
        slope = (known[-1] - known[SAMPLES // 2 - 1]) * 1024 / (runs / 2)
        before, asked = resident(), durable_approvals(store)
        statuses = await make(store, f"{label}-asks", range(suspended), policy=ASKED, on_approval=asked)
        await asyncio.sleep(0)
        renewals = renewals_of(store)
        listed = await store.runs(status="suspended", limit=suspended + 1)
        return {
            "resident": sizes,
            "slope": slope,
            "suspended": {
                "runs": statuses.count("suspended"),
                "listed": sum(run.run_id.startswith(label) for run in listed),
                "held": sum(bool(run.held) for run in listed),
                "resident": resident() - before,
                "tasks": len(asyncio.all_tasks()) - 1,
                "leases": 0 if renewals is None else len(lease_thread().of(renewals)),
            },
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("store")
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--suspended", type=int, default=10_000)
    given = parser.parse_args()
    print(json.dumps(asyncio.run(soak(given.store, given.runs, given.suspended)), indent=2))


if __name__ == "__main__":
    main()
