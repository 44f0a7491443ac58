"""A process that takes turns in one thread, and prints its resident memory in KiB beside the number of turns.

python soak_process.py STORE TURNS EVERY
"""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from thread_turns import Looker, take, talk


def resident() -> int:
    """Return the resident memory of this process in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


async def main(store: str, turns: int, every: int) -> None:
    """Take the turns."""
    async with talk(store, "soak", Looker(4)) as thread:
        for done in range(every, turns + 1, every):
            await take(thread, every)
            gc.collect()
            print(done, resident(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
