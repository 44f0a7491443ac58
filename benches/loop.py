"""Steps per second of the run loop, beside lynx-agent 2.5: `python benches/loop.py` prints a table.

`python benches/loop.py --json > benches/loop_results.json` keeps the figures.

The agent and the tool do nothing, so what is measured is the loop: asking, judging, running, journaling, telling. Each
figure is the best of several runs, the two packages taking turns of a few runs each in one process. `kernel` is a step
of ours less what the agent and the tool cost when they are called by hand.

Stores: `none`; `dict`, the same store of two methods for both packages; `MemoryStore`, ours, with its leases, beside
lynx-agent with the dict, for it has none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import lynx
import lynx.durability

import bobcat
import bobcat.lynx

POLICY = "rules: [{id: noop, match: {tool: noop}, decision: allow}]"
STEPS = (100, 10_000)
TURNS = {100: 20, 10_000: 2}
RUNS_A_TURN = {100: 4, 10_000: 1}


class Agent:
    """Calls the tool a number of times. Looks at the length of the conversation only, as cheap agents do."""

    def __init__(self, api: ModuleType, steps: int) -> None:
        self._call = api.ToolCall("noop", {"text": "x"})
        self._final = api.FinalAnswer("done")
        self._left = steps

    async def step(self, conversation: Sequence[object]) -> object:
        if self._left:
            self._left -= 1
            return self._call
        return self._final


class Store:
    """A journal in a dict, the same for both packages."""

    def __init__(self) -> None:
        self._records: dict[int, Any] = {}

    async def append(self, record: Any) -> None:
        if record.seq in self._records:
            raise RuntimeError("taken")
        self._records[record.seq] = record

    async def load(self, run_id: str) -> list[Any]:
        return list(self._records.values())


def prepare(api: ModuleType) -> tuple[Any, Any]:
    """The tools and the policy of one package."""

    @api.tool()  # type: ignore[untyped-decorator]
    async def noop(text: str) -> str:
        return text

    compile_policy = getattr(api, "compile_policy")  # noqa: B009 - the packages have it in the same place
    return api.ToolSet.from_functions(noop), compile_policy(POLICY)


STORES: dict[str, tuple[Callable[[], Any] | None, Callable[[], Any] | None]] = {
    "none": (None, None),
    "dict": (Store, Store),
    "MemoryStore": (bobcat.MemoryStore, Store),
}
"""By name: ours, and what lynx-agent gets."""


def best_of(turn: int, measured: Callable[[], float]) -> float:
    """Seconds per step of the best run of a turn."""
    return min(measured() for _ in range(turn))


def seconds_per_step(api: ModuleType, steps: int, store: Callable[[], Any] | None) -> float:
    """One run."""
    tools, policy = prepare(api)
    agent = Agent(api, steps)
    budget = api.Budget(duration_seconds=None, steps=None)
    options: dict[str, Any] = {} if store is None else {"store": store(), "run_id": "r"}

    async def timed() -> float:
        started = time.perf_counter()
        result = await api.run_agent(agent, "task", tools=tools, policy=policy, budget=budget, **options)
        took = time.perf_counter() - started
        if result.final_answer != "done" or result.steps_taken != steps:
            raise RuntimeError(f"the run went wrong: {result}")
        return took / steps

    return asyncio.run(timed())


def floor(steps: int) -> float:
    """Seconds per step of the agent and the tool alone, called by hand."""
    tools, _ = prepare(bobcat)
    agent, tool = Agent(bobcat, steps), tools.get("noop")

    async def timed() -> float:
        started = time.perf_counter()
        for _ in range(steps):
            call: Any = await agent.step(())
            await tool.fn(**call.args)
        return (time.perf_counter() - started) / steps

    return asyncio.run(timed())


def measure() -> list[dict[str, Any]]:
    """Every figure, in microseconds per step."""
    rows = []
    for steps in STEPS:
        for name, (store, other_store) in STORES.items():
            ours: list[float] = []
            drop_in: list[float] = []
            theirs: list[float] = []
            idle: list[float] = []
            turn = RUNS_A_TURN[steps]
            for _ in range(TURNS[steps]):
                ours.append(best_of(turn, partial(seconds_per_step, bobcat, steps, store)))
                drop_in.append(best_of(turn, partial(seconds_per_step, bobcat.lynx, steps, store)))
                theirs.append(best_of(turn, partial(seconds_per_step, lynx, steps, other_store)))
                idle.append(best_of(turn, partial(floor, steps)))
            best, other, bare = min(ours) * 1e6, min(theirs) * 1e6, min(idle) * 1e6
            rows.append(
                {
                    "steps": steps,
                    "store": name,
                    "bobcat_us": round(best, 2),
                    "lynx_us": round(other, 2),
                    "ratio": round(other / best, 2),
                    "bobcat_lynx_us": round(min(drop_in) * 1e6, 2),
                    "kernel_us": round(best - bare, 2),
                    "steps_per_second": round(1e6 / best),
                }
            )
    return rows


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Measure the run loop beside lynx-agent 2.5.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    rows = measure()
    if parser.parse_args().json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(
            f"{row['steps']:>6} steps, store {row['store']:<11}  bobcat {row['bobcat_us']:>8} us  "
            f"lynx {row['lynx_us']:>8} us  x{row['ratio']:<6} kernel {row['kernel_us']:>7} us  "
            f"bobcat.lynx {row['bobcat_lynx_us']:>8} us"
        )


if __name__ == "__main__":
    main()
