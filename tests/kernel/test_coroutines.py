"""Coroutines that have begun: awaiting the rest of one is awaiting all of it."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest

from bobcat._core import first_step
from bobcat.runtime.coroutine import await_started

Body = Callable[[list[str]], Awaitable[Any]]


async def whole(body: Body, log: list[str]) -> Any:
    return await body(log)


async def in_two_parts(body: Body, log: list[str]) -> Any:
    writing = body(log)
    waits = first_step(writing)
    if waits is None:
        return None
    return await (await_started(writing, waits[0]) if waits else writing)


async def at_once(log: list[str]) -> None:
    log.append("ran")


async def at_once_raises(log: list[str]) -> None:
    log.append("ran")
    raise ValueError("no")


async def sleeps(log: list[str]) -> str:
    for turn in range(3):
        log.append(f"turn {turn}")
        await asyncio.sleep(0)
    await asyncio.sleep(0.001)
    return "slept"


async def waits_for_a_future(log: list[str]) -> str:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, "set")
    log.append("waits")
    result: str = await future
    return result


async def raises_later(log: list[str]) -> None:
    await asyncio.sleep(0)
    log.append("later")
    raise ValueError("no")


async def gives_up_by_itself(log: list[str]) -> str:
    try:
        async with asyncio.timeout(0.001):
            await asyncio.sleep(60)
    except TimeoutError:
        log.append("timed out")
    return "gave up"


async def runs_a_thread(log: list[str]) -> str:
    return await asyncio.to_thread(lambda: "thread")


async def cancels_itself(log: list[str]) -> None:
    await asyncio.sleep(0)
    raise asyncio.CancelledError("by hand")


class Custom:
    """An awaitable that is no coroutine."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def __await__(self) -> Generator[Any, None, str]:
        self._log.append("custom")
        yield from asyncio.sleep(0).__await__()
        return "custom"


@types.coroutine
def old_style(log: list[str]) -> Generator[Any, Any, str]:
    log.append("generator")
    yield from asyncio.sleep(0).__await__()
    return "old"


BODIES: list[Any] = [
    at_once, at_once_raises, sleeps, waits_for_a_future, raises_later, gives_up_by_itself, runs_a_thread,
    cancels_itself, Custom, old_style,
]  # fmt: skip


def outcome(take: Any, body: Body) -> tuple[Any, list[str]]:
    log: list[str] = []

    async def run() -> Any:
        try:
            return await take(body, log)
        except (ValueError, asyncio.CancelledError) as error:
            return repr(error)

    return asyncio.run(run()), log


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_two_parts_are_the_whole(body: Body) -> None:
    assert outcome(in_two_parts, body) == outcome(whole, body)


@pytest.mark.parametrize("take", [whole, in_two_parts])
def test_cancelling_the_task_reaches_what_has_begun(take: Any) -> None:
    log: list[str] = []

    async def body(log: list[str]) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError as error:
            log.append(f"cancelled {error}")
            await asyncio.sleep(0)
            log.append("cleaned up")
            raise

    async def run() -> None:
        task = asyncio.ensure_future(take(body, log))
        await asyncio.sleep(0)
        task.cancel("now")
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert log == ["cancelled now", "cleaned up"]


@pytest.mark.parametrize("take", [whole, in_two_parts])
def test_closing_closes_what_has_begun(take: Any) -> None:
    log: list[str] = []

    async def body(log: list[str]) -> None:
        try:
            await asyncio.sleep(0)
        finally:
            log.append("closed")

    running = take(body, log)
    running.send(None)
    running.close()
    assert log == ["closed"]


def test_a_non_coroutine_is_left_alone() -> None:
    log: list[str] = []
    assert first_step(Custom(log)) == ()
    assert first_step(old_style(log)) == ()
    assert log == []


def test_a_coroutine_begins_once() -> None:
    writing = at_once([])
    assert first_step(writing) is None
    with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
        first_step(writing)
