"""A thread that calls a method of an object again and again, until the object is gone. A forked child has one, too."""

from __future__ import annotations

import os
import random
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
JITTER = 0.1
"""Part of the interval by which it varies, so that many workers do not ask at the same time."""


class Poller:
    """Calls `check(owner)` every `seconds` in a daemon thread. The owner is held weakly."""

    def __init__(self, owner: T, check: Callable[[T], object], seconds: float) -> None:
        self._owner = weakref.ref(owner)
        self._check, self._seconds = check, seconds
        self._start()
        if hasattr(os, "register_at_fork"):  # threads do not survive a fork
            again = weakref.WeakMethod(self._start_in_child)
            os.register_at_fork(after_in_child=lambda: _call(again))

    def stop(self) -> None:
        """End the thread soon."""
        self._ended.set()

    def _start(self) -> None:
        self._ended = threading.Event()
        ended, owner, check, seconds = self._ended, self._owner, self._check, self._seconds

        def poll() -> None:
            while not ended.wait(seconds * random.uniform(1 - JITTER, 1 + JITTER)):
                found = owner()
                if found is None:
                    return
                check(found)
                del found

        threading.Thread(target=poll, name="bobcat-policy", daemon=True).start()

    def _start_in_child(self) -> None:
        if not self._ended.is_set() and self._owner() is not None:
            self._start()


def _call(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    found = method()
    if found is not None:
        found()
