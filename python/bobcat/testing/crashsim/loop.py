"""The event loop of one simulated worker: sequential steps in simulated time, and termination.

Its driver (`process`) decides when the next step runs, so a worker can be stopped between any two steps and
resume later, or never. It reads no clock, opens no socket and starts no thread: executor work runs inline.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from itertools import count
from types import coroutine
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from bobcat.testing.crashsim.clock import Clock
from bobcat.testing.crashsim.errors import Died, SimulationError, Unsupported

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_log = logging.getLogger("asyncio")

_OUTSIDE = (
    "add_reader", "add_signal_handler", "add_writer", "connect_accepted_socket", "connect_read_pipe",
    "connect_write_pipe", "create_connection", "create_datagram_endpoint", "create_server", "create_unix_connection",
    "create_unix_server", "getaddrinfo", "getnameinfo", "remove_reader", "remove_signal_handler", "remove_writer",
    "run_forever", "run_until_complete", "sendfile", "sock_accept", "sock_connect", "sock_recv", "sock_recv_into",
    "sock_recvfrom", "sock_recvfrom_into", "sock_sendall", "sock_sendfile", "sock_sendto", "start_tls",
    "subprocess_exec", "subprocess_shell",
)  # fmt: skip
"""Unsupported methods of asyncio loops, which raise: the outside world has no simulated time."""

CLOSINGS = 100
"""Maximum attempts to close a coroutine that awaits during its close."""


@coroutine
def _suspended() -> Generator[None, None, None]:
    yield


async def point(label: str = "") -> None:
    """Mark a point at which a worker can be killed or stopped. Outside of a simulation, it does nothing.

    Every `await` that suspends is such a point already: use this between two effects.
    """
    loop = asyncio.get_running_loop()
    if isinstance(loop, SimLoop):
        await loop.at(label or "crashsim.point()")


# Any: a loop carries callbacks and results of every kind.
class SimLoop(asyncio.BaseEventLoop):
    """One worker's loop. After a kill, `dead` is true and none of its code runs any more."""

    def __init__(self, clock: Clock, worker: str) -> None:
        super().__init__()
        self.worker = worker
        self.dead = False
        self.in_tools = 0
        """Tool calls in progress."""
        self._clock = clock
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = count()
        self._labels: dict[object, str] = {}
        self._generators: set[asyncio.Task[Any]] = set()
        """Async generators that are being closed."""

    async def at(self, label: str) -> None:
        """End a step here, under this name. Raises `Died` in the remaining code of a dead worker."""
        self.check_alive()
        task = asyncio.current_task(self)
        self._labels[task] = label
        try:
            await _suspended()
        finally:
            self._labels.pop(task, None)
        self.check_alive()

    def check_alive(self) -> None:
        """Raise `Died` in the remaining code of a dead worker: clean-up that a real process would not have reached."""
        if self.dead:
            raise Died

    def next_step(self) -> asyncio.Handle | None:
        """Return the handle of the next step, if any is due at this time."""
        while self._timers and (self._timers[0][2].cancelled() or self._timers[0][0] <= self._clock.seconds):
            self._ready.append(heapq.heappop(self._timers)[2])
        while self._ready and self._ready[0].cancelled():
            self._ready.popleft()
        return self._ready[0] if self._ready else None

    def step(self) -> None:
        """Run the next step."""
        self._ready.popleft()._run()

    def next_time(self) -> float | None:
        """Return the due time of the next timer, in simulated seconds."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def label_of(self, task: object) -> str | None:
        """Return the name of a task's point, if it has one."""
        return self._labels.get(task)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make this loop the running one in the block."""
        hooks = sys.get_asyncgen_hooks()
        asyncio._set_running_loop(self)
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._finalize)
        try:
            yield
        finally:
            sys.set_asyncgen_hooks(*hooks)
            asyncio._set_running_loop(None)

    def die(self) -> None:
        """Drop everything. Python runs the clean-up of dropped objects; it cannot await, write or act any more."""
        self.dead = True
        self._ready.clear()
        self._timers.clear()
        with self.running():
            for task in asyncio.all_tasks(self):
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # like asyncio's own `gather`
                _close(task.get_coro())

    def _finalize(self, generator: Any) -> None:
        if not self.dead:
            self._generators.add(self.create_task(generator.aclose()))

    def time(self) -> float:
        """Return simulated seconds."""
        return self._clock.seconds

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Schedule the callback as a later step."""
        handle = asyncio.Handle(callback, args, self, context)
        if not self.dead:
            self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # a kill switch uses this name, also from the loop's own thread

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Schedule the callback at a simulated time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if not self.dead:
            heapq.heappush(self._timers, (when, next(self._order), handle))
        return handle

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run the function inline, as a separate step: for any executor, no other code runs meanwhile."""
        future: asyncio.Future[T] = self.create_future()

        def work() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except BaseException as error:
                future.set_exception(error)

        self.call_soon(work)
        return future

    def is_running(self) -> bool:
        """Return true if the current step belongs to this loop."""
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        """Return true if the worker is dead."""
        return self.dead

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report an unhandled exception. Exceptions of a dead worker's remaining code are ignored."""
        if not self.dead:
            super().call_exception_handler(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Log the exception, like asyncio."""
        _log.error("%s in a simulated worker", context.get("message"), exc_info=context.get("exception"))

    def close(self) -> None:
        """Do nothing: the driver closes the loop."""


def here() -> SimLoop:
    """Return the loop of the worker that is executing a step. Raises `SimulationError` outside of a simulation, and
    `Died` if the worker is dead.
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, SimLoop):
        raise SimulationError("a simulated store is used outside of its simulation")
    loop.check_alive()
    return loop


def _unsupported(name: str) -> Callable[..., NoReturn]:
    def refuse(self: SimLoop, *args: Any, **options: Any) -> NoReturn:
        raise Unsupported(
            f"`loop.{name}` was called in a simulation, which has no sockets, processes or threads: "
            "use an agent and tools without them"
        )

    refuse.__name__ = name
    return refuse


for _name in _OUTSIDE:
    setattr(SimLoop, _name, _unsupported(_name))


def _close(found: Coroutine[Any, Any, Any] | Generator[Any, Any, Any] | None) -> None:
    """Close a coroutine, even if it resists."""
    for _ in range(CLOSINGS):
        try:
            if found is not None:
                found.close()
        except RuntimeError as error:
            if "ignored GeneratorExit" in str(error):
                continue
        except (Exception, Died):
            pass
        return
