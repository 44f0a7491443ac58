"""A process that purges a store: `python purge_process.py STORE AT` kills itself before its `AT`th store operation."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from bobcat.stores.urls import open_store
from bobcat.threads import Threads
from thread_conversations import InterruptedStore

STORE, AT = sys.argv[1], int(sys.argv[2])


async def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    await Threads(InterruptedStore(open_store(STORE), AT, die)).purge()  # type: ignore[arg-type]


asyncio.run(main())
