"""Journals in PostgreSQL, for runs on many machines. Needs `pip install 'bobcat[postgres]'`.

async with contextlib.aclosing(PostgresStore("postgresql://bobcat@db/agents")) as store:
    await run_agent(agent, task, tools=tools, policy=policy, store=store, run_id="nightly")
"""

from bobcat.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
