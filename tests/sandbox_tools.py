"""Tools for the sandbox's tests, in a module that a child process can import."""
# ruff: noqa: ASYNC220, ASYNC230, ASYNC251 - tools that block are what the sandbox is for

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any


async def echo(**args: Any) -> dict[str, Any]:
    return args


async def hostile_values() -> dict[str, Any]:
    return {"pair": (1, 2), "one": {1}, "bytes": b"x"}


async def unwritable() -> Any:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


async def fails() -> None:
    raise ValueError("no such account")


async def leaves(code: int) -> None:
    sys.exit(code)


async def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def spins() -> None:
    while True:
        pass


async def sleeps(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "slept"


async def blocks(started: str) -> None:
    with open(started, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(60)


async def spawns(seconds: float, pids: str, wait: bool) -> str:
    """Start a process that holds our standard output, and one that does not."""
    command = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    loud = subprocess.Popen(command)
    quiet = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(pids + ".part", "w") as file:
        file.write(f"{os.getpid()} {loud.pid} {quiet.pid}")
    os.rename(pids + ".part", pids)
    if wait:
        await asyncio.sleep(seconds)
    return "left them running"


async def lingers() -> str:
    threading.Thread(target=time.sleep, args=(60,)).start()
    return "returned"


async def prints(megabytes: int) -> str:
    for stream in (sys.stdout, sys.stderr):
        for _ in range(megabytes * 16):
            stream.write("x" * 65536)
        stream.flush()
    return "printed"


async def shouts(text: str) -> None:
    sys.stderr.write("y" * 5000 + text)
    sys.stderr.flush()
    os._exit(3)


async def grows(megabytes: int) -> int:
    return len(bytearray(megabytes * 1024 * 1024))


async def long_text(characters: int) -> str:
    return "z" * characters


async def surroundings() -> dict[str, Any]:
    return {"environment": dict(os.environ), "directory": os.getcwd(), "files": os.listdir(".")}


def plain() -> None: ...


class Unpicklable:
    def __reduce__(self) -> Any:
        raise RuntimeError("not me")
