"""A store of every kind that a URL names, an app for it, and `bobcat` on both."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import redis

from bobcat.stores.urls import open_store
from unit.cli_runner import Done, Run, runner

T = TypeVar("T")
APP = Path(__file__).with_name("operated_app.py")
KINDS = ("sqlite", "file", "postgres", "redis")


@dataclass
class Site:
    """A store by its URL, and the command line on it."""

    url: str
    run: Run

    def bobcat(self, *args: str) -> Done:
        return self.run(*args, "--store", self.url)

    def work(self) -> None:
        """Execute everything there is to do now, in a process: failed runs log their tracebacks."""
        command = [sys.executable, "-m", "bobcat", "worker", str(APP), "--store", self.url, "--dispatcher", "store"]
        done = subprocess.run([*command, "--until-idle"], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    def with_store(self, work: Callable[[Any], Awaitable[T]]) -> T:
        async def main() -> T:
            async with aclosing(open_store(self.url)) as store:
                return await work(store)

        return asyncio.run(main())

    def queue(self, name: str, run_id: str, *options: str) -> None:
        done = self.bobcat("runs", "queue", name, "--run-id", run_id, *options)
        assert done.code == 0, done.err

    def ids(self, *options: str) -> list[str]:
        done = self.bobcat("runs", "list", "--format", "json", *options)
        assert done.code == 0, done.err
        return [run["run_id"] for run in done.json()]


def url_of(kind: str, path: Path, request: pytest.FixtureRequest) -> str:
    """The URL of a new store."""
    match kind:
        case "sqlite":
            return f"sqlite:////{str(path / 'runs.db').lstrip('/')}"
        case "file":
            return f"file:{path / 'journals'}"
        case "postgres":
            return str(request.getfixturevalue("database"))
        case _:
            url = str(request.getfixturevalue("own_redis").url)
            with redis.Redis.from_url(url) as client:
                client.flushall()
            return url


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, tmp_path, request)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


@pytest.fixture
def site(url: str, run: Run) -> Site:
    return Site(url, run)


@pytest.fixture
def fleet(site: Site) -> Iterator[Any]:
    """A `Fleet`: its worker processes end with the test."""
    from operations.worker_fleet import Fleet

    made = Fleet(site)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)
