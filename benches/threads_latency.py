"""The latency of the first delta: a vendor's SDK alone, and our agent in a run and in a thread, in turn in one run."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anthropic
import openai

import bobcat
from bobcat.adapters import ClaudeAgent, OpenAIAgent
from bobcat.model.deltas import TextDelta
from bobcat.threads import LastMessages, Thread, ThreadText

WARM_UP = 5
TOOLS = bobcat.ToolSet.from_functions()
POLICY = bobcat.Policy.compile("rules: []")
TALK: Any = [
    {"role": "user", "content": "how do you do"},
    {"role": "assistant", "content": "word " * 20},
    {"role": "user", "content": "how do you do"},
]
"""The conversation that every side sends: one earlier turn, and a message."""

Side = Callable[[], Awaitable[float]]
"""Asks the model once, and returns the seconds to its first text."""


@contextmanager
def server() -> Iterator[str]:
    """The URL of a streaming server in another process."""
    program = [sys.executable, str(Path(__file__).with_name("streaming_server.py"))]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


async def anthropic_alone(client: Any) -> float:
    """The Messages API without Bobcat."""
    first, began = 0.0, time.perf_counter()
    async with client.messages.stream(model="claude-opus-5", max_tokens=1000, messages=TALK) as stream:
        async for event in stream:
            if event.type == "text" and not first:
                first = time.perf_counter() - began
    return first


async def openai_alone(client: Any) -> float:
    """The Chat Completions API without Bobcat."""
    first, began = 0.0, time.perf_counter()
    stream = await client.chat.completions.create(
        model="gpt-5", messages=TALK, stream=True, stream_options={"include_usage": True}
    )  # fmt: skip
    async for chunk in stream:
        if not first and chunk.choices and chunk.choices[0].delta.content:
            first = time.perf_counter() - began
    return first


async def in_a_run(agent: Any) -> float:
    """Our agent in `run_agent`."""
    first, began = 0.0, time.perf_counter()

    def show(event: object) -> None:
        nonlocal first
        if isinstance(event, TextDelta) and not first:
            first = time.perf_counter() - began

    result = await bobcat.run_agent(agent, "how do you do", tools=TOOLS, policy=POLICY, on_delta=show)
    assert result.final_answer, result
    return first


async def in_a_thread(thread: Thread) -> float:
    """Our agent in `Thread.send`."""
    first, began = 0.0, time.perf_counter()
    async for event in thread.send("how do you do"):
        if isinstance(event, ThreadText) and not first:
            first = time.perf_counter() - began
    return first


FLOOR = "one durable record"


async def append(store: Any, numbers: Iterator[int]) -> float:
    """One record of a run without a lease: the price of a durable write."""
    record = bobcat.StepRecord("floor", next(numbers), "model.output", "0" * 32, {"text": "x" * 200}, datetime.now(UTC))
    began = time.perf_counter()
    await store.append(record)
    return time.perf_counter() - began


async def measure(stores: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, Any]:
    """Milliseconds to the first delta: medians, 99th percentiles, and what each side adds to those of the SDK."""
    with server() as url:
        async with AsyncExitStack() as stack:
            claude = await stack.enter_async_context(anthropic.AsyncAnthropic(base_url=url, api_key="k"))
            gpt = await stack.enter_async_context(openai.AsyncOpenAI(base_url=url, api_key="k"))
            agents: dict[str, Any] = {
                "Anthropic": ClaudeAgent(
                    tools=TOOLS, model="claude-opus-5", max_tokens=1000, cache_prompt=False, client=claude
                ),
                "OpenAI": OpenAIAgent(tools=TOOLS, model="gpt-5", client=gpt),
            }
            sides: dict[tuple[str, str], Side] = {
                ("Anthropic", "SDK alone"): partial(anthropic_alone, claude),
                ("OpenAI", "SDK alone"): partial(openai_alone, gpt),
            }
            for vendor, agent in agents.items():
                sides[vendor, "run_agent"] = partial(in_a_run, agent)
                for name, make in stores.items():
                    store = make()
                    stack.push_async_callback(store.aclose)
                    thread = Thread(
                        store, f"latency-{vendor}", agent=agent, tools=TOOLS, policy=POLICY, window=LastMessages(2)
                    )
                    stack.push_async_callback(thread.aclose)
                    sides[vendor, f"Thread, {name}"] = partial(in_a_thread, thread)
            for name, make in stores.items():
                if name != "memory":
                    store = make()
                    stack.push_async_callback(store.aclose)
                    sides[FLOOR, name] = partial(append, store, count())
            times: dict[tuple[str, str], list[float]] = {side: [] for side in sides}
            for number in range(WARM_UP + rounds):
                for key, ask in sides.items():
                    took = await ask()
                    assert took > 0, key
                    if number >= WARM_UP:
                        times[key].append(took * 1000)
                    await asyncio.sleep(0)
    return {"rounds": rounds, "sides": summarised(times)}


def summarised(times: Mapping[tuple[str, str], list[float]]) -> list[dict[str, Any]]:
    """A row for each side."""
    found: list[dict[str, Any]] = []
    alone: dict[str, tuple[float, float]] = {}
    for (vendor, side), measured in times.items():
        median, p99 = statistics.median(measured), statistics.quantiles(measured, n=100)[98]
        base = (0.0, 0.0) if vendor == FLOOR else alone.setdefault(vendor, (median, p99))
        row = {"median_ms": median, "p99_ms": p99, "added_median_ms": median - base[0], "added_p99_ms": p99 - base[1]}
        found.append({"vendor": vendor, "side": side, **{name: round(value, 3) for name, value in row.items()}})
    return sorted(found, key=lambda row: row["vendor"])
