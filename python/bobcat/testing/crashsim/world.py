"""The world outside of the workers: the effects that really happened; no crash undoes them."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass

from bobcat.testing.crashsim.loop import SimLoop

ACTION: ContextVar[int | None] = ContextVar("crashsim_action", default=None)
"""The step of the action in progress: that of the last written intent."""


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect: `what` under `key`, with its worker and the step of the run."""

    what: str
    key: str
    worker: str
    step: int | None

    @property
    def name(self) -> str:
        """Return its name in a report."""
        return f"{self.what} {self.key}" if self.key else self.what


class World:
    """The world in which simulated tools act, in place of the bank, the mail server, the printer."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        """All effects in order."""
        self._once: set[tuple[str, str]] = set()
        self._highest: dict[str, int] = {}
        self._fences: dict[tuple[str, str], int] = {}

    def happen(self, what: str, key: object = "", *, once: str | None = None, fence: int | None = None) -> bool:
        """Record an effect at this instant. False if the receiver rejected it, or already had it.

        `key` identifies it in terms of the world: the invoice that is paid, not the attempt. `once` is the idempotency
        key, for a receiver that acts once on each; `fence` is the fence, for one that rejects a lower fence than the
        highest it has seen, and that replaces an effect that is repeated with a higher one.
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
        """Return true if it happened: the question of a reconciler to the bank."""
        return any((each.what, each.key) == (what, str(key)) for each in self.effects)

    def counts(self) -> Counter[str]:
        """Count the effects by name."""
        return Counter(effect.name for effect in self.effects)
