"""The world outside of the workers: what really happened, which no crash undoes."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass

from bobcat.testing.crashsim.loop import SimLoop

ACTION: ContextVar[int | None] = ContextVar("crashsim_action", default=None)
"""The step of the run whose action is in progress: that of the last intent that was written."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that happened: `what` under `key`, by which worker, on account of which step of the run."""

    what: str
    key: str
    worker: str
    step: int | None

    @property
    def name(self) -> str:
        """How a report calls it."""
        return f"{self.what} {self.key}" if self.key else self.what


class World:
    """Where tools act in a simulation, in place of the bank, the mail server, the printer."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        """All that happened, in order."""
        self._once: set[tuple[str, str]] = set()
        self._highest: dict[str, int] = {}
        self._fences: dict[tuple[str, str], int] = {}

    def happen(self, what: str, key: object = "", *, once: str | None = None, fence: int | None = None) -> bool:
        """Have an effect, at this instant. False when whoever receives it refused it, or had it already.

        `key` says which one it is, in the terms of the world: the invoice that is paid, not the attempt at it. `once`
        is the idempotency key, for a receiver that acts once on each; `fence` the fence, for one that refuses a lower
        fence than the highest it has seen, and that replaces what was done when it is repeated under a higher one.
        """
        loop = asyncio._get_running_loop()
        worker = ""
        if isinstance(loop, SimLoop):
            loop.check_alive()
            worker = loop.worker
        name = what, str(key)
        if once is not None:
            if (what, once) in self._once:
                return False
            self._once.add((what, once))
        if fence is not None:
            if fence < self._highest.get(what, fence):
                return False
            self._highest[what] = fence
            before, self._fences[name] = self._fences.get(name), fence
            if before is not None and before < fence:
                return True  # it replaces what was done
        self.effects.append(Effect(*name, worker, ACTION.get()))
        return True

    def happened(self, what: str, key: object = "") -> bool:
        """Whether it did: what a reconciler would ask the bank."""
        return any((each.what, each.key) == (what, str(key)) for each in self.effects)

    def counts(self) -> Counter[str]:
        """How often each effect happened, by its name."""
        return Counter(effect.name for effect in self.effects)
