"""Reserve in the ledger at `argv[1]` until files cannot grow: prints the code, and the number of reservations made."""

from __future__ import annotations

import asyncio
import resource
import sys

from bobcat import Cap, Ledger, LedgerError

GROWTH = 60_000


async def main(path: str) -> None:
    made = 0
    async with Ledger(path, [Cap("tenant", usd=1_000_000)]) as ledger:
        await ledger.reserve(usd=1, tenant="acme")
        resource.setrlimit(resource.RLIMIT_FSIZE, (GROWTH, GROWTH))
        try:
            while True:
                made += 1
                await ledger.reserve(usd=1, tenant="acme", run="r" * 500)
        except LedgerError as error:
            print(error.code, made)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
