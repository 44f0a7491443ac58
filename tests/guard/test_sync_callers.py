"""Synchronous callers, functions that are guarded, and event loops other than the guard's."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bobcat import ActionBlocked, Guard, Policy
from bobcat.errors import ActionFailed
from guard.gated import Tools, policy

ALLOW = Policy.compile({"rules": [{"match": {"tool.starts_with": "t."}, "decision": "allow"}]})


def test_synchronous_tools_run_beside_each_other() -> None:
    barrier = threading.Barrier(4, timeout=20)

    def meet() -> int:
        return barrier.wait()

    policy_ = Policy.compile({"rules": [{"match": {"tool": "meet"}, "decision": "allow"}]})
    with Guard(policy_, [meet]) as guard, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: guard.submit_sync("meet", {}), range(4)))
    assert sorted(each.value for each in found) == [0, 1, 2, 3]


def test_a_decorated_function_is_submitted() -> None:
    guard, ran = Guard(ALLOW), list[int]()

    @guard.tool(name="t.add", effect="idempotent")
    def add(one: int, other: int = 2) -> int:
        """Add."""
        ran.append(one)
        return one + other

    @guard.tool
    def refused() -> None:
        ran.append(0)

    with guard:
        assert (add(1), add(one=1, other=5), add.__name__, add.__doc__) == (3, 6, "add", "Add.")
        assert list(inspect.signature(add).parameters) == ["one", "other"]
        with pytest.raises(ActionBlocked):
            refused()
        with pytest.raises(ActionBlocked):
            add("1")
    assert ran == [1, 1]


def test_an_async_function_that_is_decorated_stays_async() -> None:
    guard = Guard(ALLOW)

    @guard.tool(name="t.fail")
    async def fail(*, text: str) -> str:
        raise ValueError(text)

    async def main() -> None:
        async with guard:
            with pytest.raises(ActionFailed, match="no luck"):
                await fail(text="no luck")

    asyncio.run(main())


def test_guarded_functions_have_no_way_around_the_guard() -> None:
    guard = Guard(policy(), Tools().toolset())
    for fn in guard.tools().values():
        assert not hasattr(fn, "__wrapped__")
        assert not hasattr(fn, "__bobcat_meta__")
        assert not hasattr(fn, "__lynx_meta__")
        assert "idempotency_key" not in inspect.signature(fn).parameters


def test_tools_are_chosen_by_prefix() -> None:
    tools = Tools()

    async def main() -> Any:
        async with Guard(policy(), tools.toolset()) as guard:
            assert sorted(guard.tools("de")) == ["delete", "deploy"]
            return await guard.tools("ec")["echo"](text="a")

    assert asyncio.run(main()) == "a"


def test_a_tool_of_the_same_name_is_refused() -> None:
    guard = Guard(policy(), Tools().toolset())
    with pytest.raises(ValueError, match="already contains a tool named 'echo'"):
        guard.tool(name="echo")(lambda: None)


def test_one_guard_serves_threads_and_the_loop_that_opened_it() -> None:
    tools = Tools()

    async def main() -> list[str]:
        async with Guard(policy(), tools.toolset()) as guard:
            with pytest.raises(RuntimeError, match="own event loop"):
                guard.submit_sync("echo", {"text": "a"})
            other = asyncio.to_thread(guard.submit_sync, "echo", {"text": "b"})
            loop = asyncio.to_thread(lambda: asyncio.run(guard.submit("echo", {"text": "c"})))
            return [str(each.value) for each in await asyncio.gather(guard.submit("echo", {"text": "a"}), other, loop)]

    assert asyncio.run(main()) == ["a", "b", "c"]


def test_a_guard_outlives_the_loop_that_used_it() -> None:
    guard = Guard(policy(), Tools().toolset())
    for _ in range(2):
        assert asyncio.run(guard.submit("echo", {"text": "a"})).ok
    assert guard.submit_sync("echo", {"text": "a"}).ok
    guard.close()
    guard.close()
