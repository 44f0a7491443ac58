"""Workers in processes of their own, killed and stopped at every write of a run.

`python killed_workers.py HOW STORE DIRECTORY PREFIX`. HOW is `kill` (SIGKILL), `kill_some` (every second one), `stop`
(SIGSTOP, and SIGCONT when another worker has finished the run) or `freeze` (SIGSTOP inside the tool, for two effects);
STORE the URL of a store, PREFIX what run ids begin with. Prints one JSON object: what was paid in each run, and what
became of the workers. The processes are forks of this one, which has imported everything and started no thread.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bobcat.stores.urls import open_store
from kernel.crashing_process import AMOUNTS, Bank, CrashingStore, attempt, tools, writes_of_a_run

PREFIX = sys.argv[4] if len(sys.argv) > 4 else ""
LEASE_SECONDS = 8.0
"""Long enough for many workers on a machine that has other work, short enough to be waited for once."""
PR_SET_PDEATHSIG = 1


class Ledger(Bank):
    """Payments in a file: they outlive their worker."""

    def __init__(self, path: Path, *, once: bool) -> None:
        self._path = path
        super().__init__(once)

    @property
    def paid(self) -> list[tuple[str, int]]:  # type: ignore[override]
        if not self._path.exists():
            return []
        return [(line.split()[0], int(line.split()[1])) for line in self._path.read_text().splitlines()]

    @paid.setter
    def paid(self, value: object) -> None:
        """A ledger begins as what is in the file."""

    def pay(self, key: str, amount: int) -> None:
        if self.once and key in dict(self.paid):
            return
        with self._path.open("a") as file:
            file.write(f"{key} {amount}\n")
            file.flush()
            os.fsync(file.fileno())


class Signalled(CrashingStore):
    """Sends its own process a signal before or after write `at`."""

    def __init__(self, inner: Any, at: int, *, after: bool, number: signal.Signals) -> None:
        super().__init__(inner)
        self._when, self._late, self._number = at, after, number

    async def _write(self, call: Any, *args: Any, **options: Any) -> Any:
        self.writes += 1
        if self.writes == self._when and not self._late:
            strike(self._number)
        value = await call(*args, **options)
        if self.writes == self._when and self._late:
            strike(self._number)
        return value


def strike(number: signal.Signals) -> None:
    """Send a signal to this process, and do nothing until it has come."""
    os.kill(os.getpid(), number)
    time.sleep(0.2)


def fork(main: Callable[[], Any]) -> int:
    """Run `main` in a process of its own; its exit status is 0 when nothing was raised."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # no other process would wake a stopped one
    try:
        main()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def work(url: str, run_id: str, ledger: Path, owner: str, **options: Any) -> str:
    """One attempt, and its status."""
    effect, how = options.pop("effect", "unsafe"), options.pop("signalled", None)
    bank = Ledger(ledger, once=effect == "keyed")
    found = tools(bank, effect, reconciled=options.pop("reconciled", True), run_id=run_id)
    freeze = options.pop("freeze", False)
    if freeze:
        pay = bank.pay

        def frozen(key: str, amount: int) -> None:
            strike(signal.SIGSTOP)
            pay(key, amount)

        bank.pay = frozen  # type: ignore[method-assign]

    async def go() -> str:
        inner = open_store(url)
        store = CrashingStore(inner) if how is None else Signalled(inner, how[0], after=how[1], number=how[2])
        try:
            return (await attempt(store, run_id, found, owner=owner, **options)).status
        finally:
            await inner.aclose()

    status = asyncio.run(go())
    (ledger.parent / f"{run_id}.{owner}").write_text(status)
    return status


def finish(url: str, run_id: str, ledger: Path, name: str = "b", **options: Any) -> None:
    """Work as another worker would: again and again, until the run is its own."""
    until = time.monotonic() + 60
    while work(url, run_id, ledger, name, **options) == "superseded":
        if time.monotonic() > until:
            raise TimeoutError(run_id)
        time.sleep(0.1)


def wait_for(pids: list[int], check: Callable[[int], bool], options: int = 0) -> None:
    for pid in pids:
        _, status = os.waitpid(pid, options)
        if not check(status):
            raise RuntimeError(f"process {pid} ended with status {status}")


def count_writes(url: str) -> int:
    async def go() -> int:
        inner = open_store(url)
        try:
            return await writes_of_a_run(inner, run_id=f"{PREFIX}whole")
        finally:
            await inner.aclose()

    counted = os.pipe()
    pid = fork(lambda: os.write(counted[1], str(asyncio.run(go())).encode()))
    wait_for([pid], lambda status: status == 0)
    return int(os.read(counted[0], 100))


def kill(url: str, directory: Path) -> dict[str, Any]:
    """Every worker dies at one write; another one finishes its run."""
    return _signalled(url, directory, signal.SIGKILL)


def kill_some(url: str, directory: Path) -> dict[str, Any]:
    """`kill`, for a store to which every process makes a slow connection."""
    return _signalled(url, directory, signal.SIGKILL, every=2)


def stop(url: str, directory: Path) -> dict[str, Any]:
    """Every worker is stopped at one write, and goes on when another one has finished its run."""
    return _signalled(url, directory, signal.SIGSTOP)


def _signalled(url: str, directory: Path, number: signal.Signals, *, every: int = 1) -> dict[str, Any]:
    every_point = [(at, after) for at in range(1, count_writes(url) + 1) for after in (False, True)]
    # Both sides of writes are among every second point: before the first, after the second, before the third.
    points = [each for number, each in enumerate(every_point) if (number + number // 2) % every == 0]
    runs = {f"{PREFIX}w{at}{'after' if after else 'before'}": (at, after, number) for at, after in points}
    first: dict[str, int] = {}
    for run_id, how in runs.items():
        ledger = directory / f"{run_id}.ledger"
        first[run_id] = fork(
            lambda run_id=run_id, ledger=ledger, how=how: work(
                url, run_id, ledger, "a", signalled=how, lease_seconds=LEASE_SECONDS
            )
        )
    if number is signal.SIGKILL:
        wait_for(list(first.values()), lambda s: os.WIFSIGNALED(s) and os.WTERMSIG(s) == signal.SIGKILL)
    else:
        wait_for(list(first.values()), os.WIFSTOPPED, os.WUNTRACED)
    if number is signal.SIGSTOP:
        time.sleep(LEASE_SECONDS)
    name = "b" if number is signal.SIGSTOP else "a"  # the worker that was killed starts again under its name
    second = [fork(lambda run_id=run_id: finish(url, run_id, directory / f"{run_id}.ledger", name)) for run_id in runs]
    wait_for(second, lambda status: status == 0)
    if number is signal.SIGSTOP:
        for pid in first.values():
            os.kill(pid, signal.SIGCONT)
        wait_for(list(first.values()), lambda status: status == 0)
    return {run_id: outcome(directory, run_id) for run_id in runs}


def freeze(url: str, directory: Path) -> dict[str, Any]:
    """A worker is stopped inside its tool, before it pays, and goes on when another one has finished the run."""
    effects, frozen = ("unsafe", "keyed"), {}
    for effect in effects:
        ledger = directory / f"{effect}.ledger"
        frozen[effect] = fork(
            lambda effect=effect, ledger=ledger: work(
                url, f"{PREFIX}{effect}", ledger, "a", effect=effect, freeze=True, lease_seconds=LEASE_SECONDS
            )
        )
    wait_for(list(frozen.values()), os.WIFSTOPPED, os.WUNTRACED)
    time.sleep(LEASE_SECONDS)
    for effect in effects:
        ledger = directory / f"{effect}.ledger"
        finish_it = partial(finish, url, f"{PREFIX}{effect}", ledger, effect=effect)
        wait_for([fork(finish_it)], lambda status: status == 0)
    for pid in frozen.values():
        os.kill(pid, signal.SIGCONT)
    wait_for(list(frozen.values()), lambda status: status == 0)
    return {effect: outcome(directory, f"{PREFIX}{effect}", f"{effect}.ledger") for effect in effects}


def outcome(directory: Path, run_id: str, ledger: str | None = None) -> dict[str, Any]:
    """The number of payments by amount, and the end of each worker; None for one without a message."""
    paid = Counter(amount for _, amount in Ledger(directory / (ledger or f"{run_id}.ledger"), once=False).paid)
    ends = {
        owner: path.read_text() if (path := directory / f"{run_id}.{owner}").exists() else None for owner in ("a", "b")
    }
    return {"paid": [paid[amount] for amount in AMOUNTS], **ends}


HOW = {"kill": kill, "kill_some": kill_some, "stop": stop, "freeze": freeze}

if __name__ == "__main__":
    print(json.dumps(HOW[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))))
