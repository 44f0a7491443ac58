"""Writes what this release keeps into `tests/stores/released`: once, when a schema is released.

    python tests/stores/make_released.py POSTGRES_URL

A file that is there is never written again: it is what users have on their disks.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bobcat import FileStore, PostgresStore, SQLiteStore, StepRecord
from bobcat.stores.file.store import FORMAT
from bobcat.stores.postgres import schema as postgres
from bobcat.stores.sqlite import schema as sqlite

RELEASED = Path(__file__).parent / "released"

BODIES: tuple[dict[str, Any], ...] = (
    {"task": "pay", "bundle_id": "0" * 64},
    {"step": 0, "type": "tool_call", "tool": "pay", "args": {"text": "é \ud800 \0 🐈", "n": 2**70, "f": -0.0}},
    {"step": 0, "ok": True},
)
KINDS = ("run.started", "model.output", "action.result")
SCHEMA = "bobcat_released"


def records(run_id: str) -> list[StepRecord]:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    key = "0123456789abcdef0123456789abcdef"
    entries = enumerate(zip(KINDS, BODIES, strict=True))
    return [StepRecord(run_id, seq, kind, key if seq else "", body, moment) for seq, (kind, body) in entries]


async def fill(store: Any) -> None:
    """Every kind of thing that a store keeps."""
    async with aclosing(store):
        lease = await store.acquire("leased", owner="worker é", seconds=0.001)
        for record in records("plain"):
            await store.append(record)
        await store.set_status("plain", "succeeded", detail={"answer": "done"})
        await store.set_status("waiting", "suspended", detail={"approvals": ["a1"]})
        await store.put("approval", "a1", {"granted": None}, expected=0)
        await store.put("approval", "a1", {"granted": True, "by": "é\ud800"}, expected=1)
        assert lease.fence == 1


def main(url: str) -> None:
    RELEASED.mkdir(exist_ok=True)
    target = RELEASED / f"sqlite-v{len(sqlite.MIGRATIONS)}.db"
    if not target.exists():
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "runs.db"
            asyncio.run(fill(SQLiteStore(path)))
            connection = sqlite3.connect(path)
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("VACUUM")
            connection.close()
            shutil.copy(path, target)
    target = RELEASED / f"postgres-v{len(postgres.MIGRATIONS)}.sql"
    if not target.exists():
        asyncio.run(fill(PostgresStore(url, schema=SCHEMA, durability="warn")))
        command = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", "--schema", SCHEMA, url]
        dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # Settings of one release of PostgreSQL, and commands of its client.
        kept = [line for line in dump.splitlines() if not line.startswith(("--", "SET ", "SELECT pg_catalog.", "\\"))]
        target.write_text("\n".join(line for line in kept if line) + "\n")
    target = RELEASED / f"files-v{FORMAT}"
    if not target.exists():
        asyncio.run(fill(FileStore(target)))


if __name__ == "__main__":
    main(sys.argv[1])
