"""An app with triggers, a store whose clock the test sets, and principals."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat import Principal
from bobcat.stores import SQLiteStore
from bobcat.triggers import Triggers
from bobcat.workers import Runner, StoreDispatcher

APP = Path(__file__).parent / "trigger_app.py"
ALICE, BOT = Principal("user", "alice"), Principal("agent", "bot")


class ClockStore(SQLiteStore):
    """A store whose clock is the one that the test has set."""

    def __init__(self, path: Path) -> None:
        self.moment = datetime(2026, 3, 28, 12, tzinfo=UTC)
        super().__init__(path, clock=lambda: self.moment)

    def forward(self, **units: float) -> None:
        self.moment += timedelta(**units)


class Place:
    def __init__(self, path: Path) -> None:
        spec = importlib.util.spec_from_file_location("trigger_app", APP)
        assert spec is not None
        assert spec.loader is not None
        self.app: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.app)
        self.path = path
        self.store = ClockStore(path / "runs.db")
        self.triggers = Triggers(self.store, self.app.triggers)
        self.effects_file = path / "effects"
        self.effects_file.touch()

    @property
    def effects(self) -> int:
        return len(self.effects_file.read_text().splitlines())

    async def sweep(self) -> None:
        await Runner(self.app.workers, self.store).sweep()

    async def work(self) -> None:
        runner = Runner(self.app.workers, self.store)
        async with asyncio.timeout(60):
            await StoreDispatcher(until_idle=True).work(runner, concurrency=2, stop=asyncio.Event(), grace_seconds=0)

    async def outcomes(self, id: str) -> list[str]:
        return [firing.outcome for firing in await self.triggers.history(id)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("EFFECTS", str(tmp_path / "effects"))
    monkeypatch.delenv("CRASH", raising=False)
    return Place(tmp_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the coroutine tests of this directory."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
