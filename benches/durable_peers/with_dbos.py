"""Durable runs of three steps by DBOS: an async workflow of three async steps. It runs in the environment of DBOS.

`with_dbos.py URL CONCURRENT SECONDS LABEL`
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from typing import Any

from durable_peers.clock import STEPS, count

dbos: Any = import_module("dbos")  # Any: it is not installed where types are checked


async def main(url: str, concurrent: str, seconds: str, label: str) -> None:
    """Count."""
    dbos.DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "log_level": "ERROR",
            "sys_db_pool_size": max(20, int(concurrent)),
        }
    )

    @dbos.DBOS.step()  # type: ignore[untyped-decorator]
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    @dbos.DBOS.workflow()  # type: ignore[untyped-decorator]
    async def payments() -> str:
        for amount in range(STEPS):
            await pay(amount)
        return "done"

    dbos.DBOS.launch()

    async def run(run_id: str) -> None:
        with dbos.SetWorkflowID(run_id):
            if await payments() != "done":
                raise RuntimeError(run_id)

    await count(run, label, concurrent=int(concurrent), seconds=float(seconds))
    dbos.DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
