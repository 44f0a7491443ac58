"""Counts over runs of one principal: processes never pass a cap together, on any store, killed or not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import Budget, Policy, SQLiteStore, StepRecord, run_agent
from bobcat.runtime.scopes import TALLY
from stores.scope_payer import ANN, CAP, POLICY, Payer, tools

PAYER = Path(__file__).with_name("scope_payer.py")
pytestmark = pytest.mark.filterwarnings("ignore::bobcat.StoreWarning")


def start(spec: str, kind: str, name: str, count: int, effects: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(PAYER), spec, kind, name, str(count), str(effects)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def ended(running: list[subprocess.Popen[str]]) -> None:
    for each in running:
        _, errors = each.communicate(timeout=240)
        assert each.returncode == 0, errors


@pytest.fixture(params=["sqlite", "file", "postgres", "redis"])
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Names a store on a fresh storage."""
    if request.param == "postgres":
        return f"postgres:{request.getfixturevalue('postgres_url')}#{request.getfixturevalue('schema')}"
    if request.param == "redis":
        return f"redis:{request.getfixturevalue('redis_url')}#{request.getfixturevalue('prefix')}"
    return f"{request.param}:{tmp_path / 'runs'}"


def test_runs_and_guards_in_processes_never_pass_the_cap_together(spec: str, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    many = 20 if spec.startswith(("sqlite", "postgres")) else 4
    running = [start(spec, "guard" if at % 4 == 3 else "run", f"p{at}", 2, effects) for at in range(many)]
    ended(running)
    assert len(effects.read_text().splitlines()) == min(CAP, 2 * many)


def test_a_call_whose_process_was_killed_stays_counted_until_its_run_is_resumed(spec: str, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    for name in ("d1", "d2"):
        dying = start(spec, "dying", name, 1, effects)
        dying.communicate(timeout=120)
        assert dying.returncode == -9
    ended([start(spec, "run", "p", CAP, effects)])
    assert len(effects.read_text().splitlines()) == CAP - 2
    ended([start(spec, "run", name, 1, effects) for name in ("d1", "d2")])
    lines = effects.read_text().splitlines()
    assert len(lines) == CAP
    assert {"d1 0", "d2 0"} <= set(lines)


class Counting(SQLiteStore):
    """Counts the records that are read of scopes."""

    read = 0

    async def load_from(self, run_id: str, *, seq: int = 0, limit: int | None = None) -> Sequence[StepRecord]:
        page = await super().load_from(run_id, seq=seq, limit=limit)
        self.read += len(page) if run_id.startswith("scope:") else 0
        return page


def test_the_tally_of_a_scope_is_kept_so_that_few_records_are_read(tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    pay = tools("x", str(effects), dies=False)
    policy = Policy.compile(
        "rules: [{id: pay, match: {tool: pay, run.count.pay: {lt: 305, by: principal}}, decision: allow}]"
    )

    async def main() -> int:
        store = Counting(tmp_path / "runs.db")
        try:
            for name, count in (("first", 300), ("second", 10)):
                store.read = 0
                result = await run_agent(
                    Payer(count), "pay", tools=pay, policy=policy, store=store, run_id=name, principal=ANN,
                    budget=Budget(steps=400),
                )  # fmt: skip
                assert result.error is None, result.error
        finally:
            await store.aclose()
        return store.read

    assert asyncio.run(main()) < 300
    assert len(effects.read_text().splitlines()) == 305


def test_a_damaged_tally_is_not_used(tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    pay = tools("x", str(effects), dies=False)

    async def main() -> None:
        store = SQLiteStore(tmp_path / "runs.db")
        options: Any = {"tools": pay, "policy": POLICY, "store": store, "principal": ANN, "budget": Budget(steps=400)}
        try:
            await run_agent(Payer(20), "pay", run_id="a", **options)
            for entry in await store.scan(TALLY):
                await store.put(TALLY, entry.key, {"seq": 10**6, "open": {}, "tally": {}}, expected=entry.version)
            await run_agent(Payer(5), "pay", run_id="b", **options)
        finally:
            await store.aclose()

    asyncio.run(main())
    assert len(effects.read_text().splitlines()) == CAP
