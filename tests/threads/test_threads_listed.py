"""`bobcat runs list` shows the turns of a thread, and not the journal of the thread itself."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from click.testing import CliRunner

from bobcat import SQLiteStore
from bobcat.cli.runs import runs
from thread_conversations import Ledger, collect, thread


def test_a_thread_is_not_listed_as_a_suspended_run(tmp_path: Path) -> None:
    path = tmp_path / "threads.db"

    async def talk() -> None:
        async with thread(SQLiteStore(path), Ledger()) as talking:
            await collect(talking.send("10"))
            await collect(talking.send("20"))

    asyncio.run(talk())
    listed = ["list", "--store", f"sqlite:///{path}", "--format", "json"]
    found = json.loads(CliRunner().invoke(runs, listed).output)
    assert [(run["run_id"], run["status"]) for run in found] == [
        ("thread:acme/42#2", "succeeded"),
        ("thread:acme/42#1", "succeeded"),
    ]
    assert len(json.loads(CliRunner().invoke(runs, [*listed, "--limit", "1"]).output)) == 1
    assert json.loads(CliRunner().invoke(runs, [*listed, "--status", "suspended"]).output) == []
