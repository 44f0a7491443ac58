"""Spend from a shared ledger until it is exhausted: `python spender.py STORE ROUNDS`. Prints the number of calls made.

With `kill`, the process reserves, makes the call, and kills itself before it commits.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys

from bobcat import Cap, Ledger, LedgerError

CAP, WORST = 200, 150


async def spend(store: str, rounds: int) -> int:
    made = 0
    async with Ledger(store, [Cap("tenant", usd=CAP)]) as ledger:
        for _ in range(rounds):
            try:
                reservation = await ledger.reserve(usd=WORST, tenant="acme", run=f"run-{os.getpid()}")
            except LedgerError as error:
                if error.code != "exhausted":
                    raise
                await asyncio.sleep(random.random() / 100)
                continue
            if random.random() < 0.8:
                await ledger.release(reservation)
            else:
                await ledger.commit(reservation, usd=2)
            made += 1
    return made


async def die(store: str) -> None:
    async with Ledger(store, [Cap("tenant", usd=CAP)]) as ledger:
        await ledger.reserve(usd=WORST, tenant="acme", run="killed")
        print("replied", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[2] == "kill":
        asyncio.run(die(sys.argv[1]))
    else:
        print(asyncio.run(spend(sys.argv[1], int(sys.argv[2]))))
