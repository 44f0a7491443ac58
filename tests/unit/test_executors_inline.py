"""Executors: in place, with a timeout, and routed by isolation."""

from __future__ import annotations

import asyncio
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from bobcat import (
    ActionRequest,
    ActionResult,
    ExecutionContext,
    Principal,
    ToolDef,
    ToolError,
    inline_executor,
    route_executor,
    tool,
)

CONTEXT = ExecutionContext(Principal("user", "u"), "dev", ".", "c", 0, datetime(2026, 1, 31, tzinfo=UTC))


def make(fn: Any, **options: Any) -> ToolDef:
    found = tool(**options)(fn).__bobcat_meta__
    assert isinstance(found, ToolDef)
    return found


def execute(executor: Any, definition: ToolDef, **args: Any) -> ActionResult:
    request = ActionRequest(definition.name, args, definition.metadata, CONTEXT)
    result = asyncio.run(_call(executor, request, definition))
    assert isinstance(result, ActionResult)
    return result


async def _call(executor: Any, request: ActionRequest, definition: ToolDef) -> Any:
    return await executor(request, definition)


async def sleeps(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "slept"


async def raises(error: BaseException) -> None:
    raise error


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def test_a_value_comes_back_with_its_duration() -> None:
    result = execute(inline_executor(), make(sleeps, name="t1"), seconds=0.02)
    assert (result.ok, result.value, result.error) == (True, "slept", None)
    assert result.duration_ms >= 15


@pytest.mark.parametrize("timeout", [0.02, 0])
def test_a_timeout_is_a_failure_and_zero_means_zero(timeout: float) -> None:
    async def slow() -> None:
        await asyncio.sleep(60)

    result = execute(inline_executor(timeout_seconds=timeout), make(slow))
    assert (result.ok, result.error) == (False, f"TimeoutError: tool 'slow' timed out after {timeout}s")


@pytest.mark.parametrize(
    ("error", "starts"),
    [
        (ValueError("boom"), "ValueError: boom\n"),
        (TimeoutError("mine"), "TimeoutError: mine\n"),
        (SystemExit(3), "SystemExit: 3\n"),
        (Mute(), "Mute: <Mute that cannot be shown: ValueError>\n"),
    ],
)
@pytest.mark.parametrize("timeout", [None, 5])
def test_an_exception_is_a_failure_with_the_end_of_its_traceback(
    error: BaseException, starts: str, timeout: float | None
) -> None:
    async def fails() -> None:
        raise error

    result = execute(inline_executor(timeout_seconds=timeout), make(fails))
    assert result.ok is False
    assert result.error is not None
    assert result.error.startswith(starts)
    assert len(result.error) <= len(starts) + 500


def test_routes_pick_by_isolation_and_fail_closed() -> None:
    async def boxed(request: ActionRequest, definition: ToolDef) -> ActionResult:
        return ActionResult(True, "boxed")

    async def plain() -> str:
        return "plain"

    async def in_box() -> None: ...

    async def in_jail() -> None: ...

    routes = {None: inline_executor(), "box": boxed}
    executor = route_executor(routes)
    routes.clear()
    assert execute(executor, make(plain)).value == "plain"
    assert execute(executor, make(in_box, isolation="box")).value == "boxed"
    assert execute(executor, make(in_jail, isolation="jail")).error == (
        "no executor routed for isolation 'jail' (tool 'in_jail'); routes: ['(default)', 'box']"
    )

    async def homeless() -> None: ...

    assert execute(route_executor({"box": boxed}), make(homeless)).error == (
        "route_executor has no default (None) route for tool 'homeless'"
    )


def test_a_timeout_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a number, got NaN"):
        inline_executor(timeout_seconds=float("nan"))


def test_a_tool_error_is_its_text() -> None:
    async def refuse() -> None:
        raise ToolError("`a` is a directory; list it with `fs.list`", "directory")

    result = execute(inline_executor(), make(refuse))
    assert (result.ok, result.error) == (False, "`a` is a directory; list it with `fs.list`")
    copy = pickle.loads(pickle.dumps(ToolError("text", "code")))
    assert (str(copy), copy.code) == ("text", "code")
