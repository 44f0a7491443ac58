"""Wrappers of the user's agent and tools, with a point at each call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from bobcat.model.agent import Agent
from bobcat.model.run import Message, ToolDef
from bobcat.runtime.resume_check import agent_identity
from bobcat.testing.crashsim.loop import here
from bobcat.tools.toolset import ToolSet


class SimAgent:
    """Wrapper of an agent with the agent's identity."""

    def __init__(self, inner: Agent) -> None:
        self._inner = inner
        self.identity = agent_identity(inner)

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: what an agent returns
        """`Agent.step`."""
        await here().at("in agent.step")
        return await self._inner.step(conversation)


def with_points(tools: ToolSet) -> ToolSet:
    """Return the same tools, with a point before and after each, and before a reconciler."""
    return ToolSet({name: _tool(definition) for name, definition in tools.tools.items()})


def _tool(definition: ToolDef) -> ToolDef:
    act, asked = definition.fn, definition.reconcile_fn

    @functools.wraps(act)
    async def acting(*args: Any, **given: Any) -> Any:
        loop = here()
        loop.in_tools += 1
        try:
            await loop.at(f"in {definition.name}, before it begins")
            value = await act(*args, **given)
            await loop.at(f"in {definition.name}, after its end")
            return value
        finally:
            loop.in_tools -= 1

    with suppress(TypeError, ValueError):  # without a signature, it accepts any arguments, like the tool itself
        acting.__signature__ = inspect.signature(act, follow_wrapped=False)  # type: ignore[attr-defined]
    if asked is None:
        return replace(definition, fn=acting)
    return replace(definition, fn=acting, reconcile_fn=_reconciler(definition.name, asked))


def _reconciler(name: str, asked: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def asking(*args: Any) -> Any:
        await here().at(f"before the reconciler of {name}")
        answer = await asked(*args)
        await here().at(f"after the reconciler of {name}")
        return answer

    return asking
