"""`python killed_worker.py STORE DIRECTORY CATCH_UP TARGET FIRST STEP`: kill a worker at its store operations.

For each point FIRST, FIRST+STEP, ... a trigger is due, a worker is killed before or after the store operation with that
number, and two workers continue. A line of JSON shows what has happened. Ends at the first worker that outlives its
point. Effects are files named by the idempotency key of the tool's call.
"""

# ruff: noqa: ASYNC110 - processes communicate by the store here

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from bobcat import FinalAnswer, ToolCall, ToolSet, Triggers, WorkerTriggers, compile_policy, tool
from bobcat.stores.urls import open_store
from bobcat.threads.journal import ThreadJournal
from bobcat.workers import Job, Runner, StoreDispatcher, Workers

URL, DIRECTORY, CATCH_UP, TARGET = sys.argv[1:5]
FIRST, STEP = map(int, sys.argv[5:7])
PAST = {"once": 1500, "all": 1500, "skip": 605}
EXPECTED = {"once": 1, "all": 3, "skip": 1}
LEASE = 0.4


@tool(effect="keyed")
async def note(text: str, idempotency_key: str) -> str:
    """Note a text."""
    (Path(DIRECTORY) / idempotency_key.replace("/", "_")).touch()
    return "noted"


class Once:
    async def step(self, conversation: Any) -> Any:
        if conversation[-1].role == "user":
            return ToolCall("note", {"text": conversation[-1].content})
        return FinalAnswer("done")


workers = Workers(max_attempts=20, backoff_seconds=0.01)
triggers = WorkerTriggers(workers)
TOOLS = ToolSet.from_functions(note)
POLICY = compile_policy("rules: [{id: any, match: {tool: note}, decision: allow}]")


@workers.run("note")
def a_note(job: Job) -> dict[str, Any]:
    return {"agent": Once(), "task": "fired", "tools": TOOLS, "policy": POLICY}


class Killed:
    """Kills the process before or after an operation of a store."""

    def __init__(self, store: Any, at: int) -> None:
        self._left = at
        for name in dir(type(store)):
            method = getattr(store, name)
            if not name.startswith("_") and name != "aclose" and asyncio.iscoroutinefunction(method):
                setattr(store, name, self._killing(method))

    def _killing(self, method: Any) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            self._point()
            result = await method(*args, **options)
            self._point()
            return result

        return call

    def _point(self) -> None:
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def work(at: int | None, id: str) -> None:
    """Work until the firings have ended, or the process is killed."""
    store: Any = open_store(URL, must_exist=True)
    if at is not None:
        Killed(store, at)
    runner = Runner(workers, store, lease_seconds=LEASE)
    stop = asyncio.Event()
    dispatcher: Any = StoreDispatcher(poll_seconds=0.02)
    if URL.startswith("postgres"):
        from bobcat.workers import ProcrastinateDispatcher

        dispatcher = ProcrastinateDispatcher(URL, sweep_seconds=0.1)
        runner = Runner(workers, store, dispatcher=dispatcher, lease_seconds=LEASE)
    working = asyncio.create_task(dispatcher.work(runner, concurrency=2, stop=stop, grace_seconds=1))
    plain: Any = open_store(URL, must_exist=True)
    async with asyncio.timeout(300):
        while not await is_over(plain, id):
            await asyncio.sleep(0.05)
    stop.set()
    with suppress(asyncio.CancelledError):
        await working


async def is_over(store: Any, id: str) -> bool:
    trigger = await Triggers(store).get(id)
    if trigger.next is None or trigger.next <= await store.now():
        return False
    runs = await store.runs(limit=500)
    mine = [run for run in runs if run.run_id.startswith(f"trigger:{id}@")]
    return bool(mine) and all(run.status in ("succeeded", "failed", "cancelled") for run in mine)


async def prepare(point: int) -> str:
    """A confirmed trigger whose times have passed."""
    store: Any = open_store(URL, must_exist=False)
    client = Triggers(store, triggers)
    thread = f"t{point}" if TARGET == "thread" else None
    id = await client.propose("note", every=600, catch_up=CATCH_UP, thread=thread, payload={"point": point})  # type: ignore[arg-type]
    confirmed = await client.confirm(id, by="alice")
    entry = await store.get("trigger", id)
    due = await store.now() - timedelta(seconds=PAST[CATCH_UP])
    body = {**confirmed.to_json(), "next": due.isoformat()}
    await store.put("trigger", id, body, expected=entry.version)
    await store.aclose()
    return id


async def outcome(id: str, point: int, killed: bool) -> dict[str, Any]:
    store: Any = open_store(URL, must_exist=True)
    runs = [run for run in await store.runs(limit=500) if run.run_id.startswith(f"trigger:{id}@")]
    turns = 0
    if TARGET == "thread":
        last = await ThreadJournal(store, f"t{point}").last_turn()
        turns = 0 if last is None else last.number
    history = await Triggers(store).history(id)
    await Triggers(store).delete(id)
    await store.aclose()
    return {
        "point": point,
        "killed": killed,
        "runs": sorted(run.status for run in runs),
        "turns": turns,
        "history": sorted(each.outcome for each in history),
        "effects": len(os.listdir(DIRECTORY)),
    }


def fork(main: Callable[[], Any]) -> int:
    """Run in a process of its own, without the cost of its imports."""
    child = os.fork()
    if child:
        return child
    code = 1
    with suppress(BaseException):
        asyncio.run(main())
        code = 0
    os._exit(code)


def wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    point, killed = FIRST, True
    while killed:
        id = asyncio.run(prepare(point))
        code = wait(fork(lambda: work(point, id)))  # noqa: B023 - called at once
        killed = code == -signal.SIGKILL
        both = [fork(lambda: work(None, id)) for _ in range(2)]  # noqa: B023 - as above
        codes = [wait(child) for child in both]
        time.sleep(0.05)
        found = asyncio.run(outcome(id, point, killed))
        for each in os.listdir(DIRECTORY):
            (Path(DIRECTORY) / each).unlink()
        print(json.dumps({**found, "codes": codes}), flush=True)
        point += STEP


if __name__ == "__main__":
    main()
