"""Windows on top of others: with a summary, with pinned turns, with shorter results, with facts.

Each takes another window as its first part, so that they combine:
`Pinned(Compressed(Summary(summarise), truncate_compressor()))`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeAlias

from bobcat.aio.tasks import being_cancelled
from bobcat.compression import Compressor
from bobcat.compression.protocol import compress
from bobcat.logs import logger
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata
from bobcat.model.run import ActionResult, Message, ToolDef
from bobcat.text.json_text import format_exception
from bobcat.threads.blocks import whole_turn
from bobcat.threads.history import Choice, History, Shown, Window
from bobcat.threads.reading import LoadedHistory
from bobcat.threads.recent import Recent
from bobcat.tools.toolset import ToolSet

log = logger("threads")

FACTS_SECONDS = 30.0
_OK = "[ok] "
_UNDECLARED = ToolMetadata("low", False, ())
_NOWHERE = ExecutionContext(Principal("user", "anonymous"), "dev", ".", "", 0, datetime.fromtimestamp(0, UTC))

Provider: TypeAlias = Callable[[Message], Awaitable[str | None]]
"""Gives the facts for a message, or None for none."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """Show the pinned turns as well, whole, each in its place. They count for no bound of `window`."""

    window: Window = field(default_factory=Recent)

    async def choose(self, history: History, message: Message) -> Choice:
        """Return the choice of `window` with the pinned turns."""
        choice = await self.window.choose(history, message)
        waiting = {turn.number: whole_turn(turn) for turn in await history.pinned()}
        found: list[Shown | Message] = []
        for each in choice:
            if isinstance(each, Shown):
                for number in [number for number in waiting if number <= each.turn]:
                    found += waiting.pop(number)
                if any(
                    isinstance(other, Shown) and other.turn == each.turn and _covers(other, each) for other in found
                ):
                    continue
            found.append(each)
        for turn in waiting.values():
            found += turn
        return found


@dataclass(frozen=True, slots=True)
class Compressed:
    """Shorten the texts of tool results with `compressor`, except in the last `keep` turns.

    With `tools`, `route_compressor` knows what each tool declares. A result whose compressor fails is shown whole, and
    a warning is logged.
    """

    window: Window
    compressor: Compressor
    keep: int = 1
    tools: ToolSet | None = None

    async def choose(self, history: History, message: Message) -> Choice:
        """Return the choice of `window` with shorter results."""
        loaded = LoadedHistory(history)
        found: list[Shown | Message] = []
        for each in await self.window.choose(loaded, message):
            if isinstance(each, Shown) and each.turn <= history.turns - self.keep:
                found += await self._shortened(each, (await loaded.turn(each.turn)).messages)
            else:
                found.append(each)
        return found

    async def _shortened(self, shown: Shown, messages: tuple[Message, ...]) -> list[Shown | Message]:
        found: list[Shown | Message] = []
        first = shown.first
        for position in range(shown.first, shown.last + 1):
            shorter = await self._shorter(messages[position])
            if shorter is None:
                continue
            if first < position:
                found.append(Shown(shown.turn, first, position - 1))
            found.append(shorter)
            first = position + 1
        return [*found, Shown(shown.turn, first, shown.last)] if first <= shown.last else found

    async def _shorter(self, message: Message) -> Message | None:
        if message.role != "tool" or not message.content.startswith(_OK):
            return None
        name = message.name or ""
        tool = None if self.tools is None else self.tools.tools.get(name)
        if tool is None:
            tool = ToolDef(name, "", _not_a_tool, None, _UNDECLARED)
        request = ActionRequest(name, {}, tool.metadata, _NOWHERE)
        result = ActionResult(True, message.content.removeprefix(_OK))
        done = await compress(self.compressor, result, request, tool)
        if done.error is not None:
            log.warning("the result of %s is shown whole: the compressor failed: %s", name, done.error)
        return None if done.text is None else replace(message, content=_OK + done.text)


@dataclass(frozen=True, slots=True)
class Facts:
    """Put the text that `provider` gives for the new message right before it; None is no text.

    Where it fails, or takes longer than `seconds`, the model reads that the facts are missing.
    """

    window: Window
    provider: Provider
    seconds: float = FACTS_SECONDS

    async def choose(self, history: History, message: Message) -> Choice:
        """Return the choice of `window`, and the facts."""
        choice = await self.window.choose(history, message)
        try:
            async with asyncio.timeout(self.seconds):
                facts: object = await self.provider(message)
            if facts is not None and not isinstance(facts, str):
                raise TypeError(f"a provider of facts must return a string or None, got {type(facts).__name__}")
        except asyncio.CancelledError as error:
            if being_cancelled():
                raise
            return [*choice, _missing(error)]
        except Exception as error:
            return [*choice, _missing(error)]
        return [*choice, Message("user", f"[Facts]\n{facts}")] if facts else choice


async def _not_a_tool() -> None:
    """Stand in for the function of a tool that is known by name only."""


def _covers(other: Shown, each: Shown) -> bool:
    return other.first <= each.first and each.last <= other.last


def _missing(error: BaseException) -> Message:
    log.warning("the facts for a message are missing: %s", format_exception(error))
    return Message("user", "[The facts for this message could not be obtained.]")
