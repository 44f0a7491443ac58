"""Journals in one SQLite file: the embedded default.

async with contextlib.aclosing(SQLiteStore("runs.db")) as store:
    await run_agent(agent, task, tools=tools, policy=policy, store=store, run_id="nightly")
"""

from bobcat.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
