"""PostgreSQL and Redis for tests: a server that is named, one that answers, or one that is started here.

In this order: the URL in the environment; the default port of this machine; the installed binaries, in a temporary
directory, stopped at the end of the session. Where none of that works a test is skipped with the reason, or fails with
it when `BOBCAT_REQUIRE_SERVICES` is set, as `.ci/run` does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

POSTGRES_URL = "BOBCAT_TEST_POSTGRES_URL"
REDIS_URL = "BOBCAT_TEST_REDIS_URL"
REQUIRED = "BOBCAT_REQUIRE_SERVICES"

PATIENCE = 60.0
"""Seconds that a server has to answer."""

_PR_SET_PDEATHSIG = 1

_SPAWNING = ThreadPoolExecutor(1)
"""The thread that starts servers. It lives as long as the tests do: a server ends with the thread that started it."""


class Unavailable(Exception):
    """There is no such server here; the text says why."""


class Server:
    """A server of ours, in a directory of its own. `url` names it."""

    url: str
    stop_signal: signal.Signals

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="bobcat-server-"))
        self.port = _free_port()
        self._user = _unprivileged_user()
        if self._user is not None:
            shutil.chown(self.directory, self._user)
        self._process: subprocess.Popen[bytes] | None = None
        self.log = self.directory / "log"

    def command(self) -> list[str]:
        """The command that starts it."""
        raise NotImplementedError

    def answers(self) -> bool:
        """True if it can be used."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it, and wait until it answers. Again when it ends: the rests of a killed one can be in its way."""
        until = time.monotonic() + PATIENCE
        while True:
            with self.log.open("ab") as log:
                self._process = self._spawn(self.command(), log)
            while self._process.poll() is None:
                if self.answers():
                    return
                if time.monotonic() > until:
                    self.stop()
                    break
                time.sleep(0.05)
            if time.monotonic() > until:
                raise Unavailable(f"{self.command()[0]} does not start: {self._last_words()}")
            time.sleep(0.2)

    def _spawn(self, command: list[str], log: object) -> subprocess.Popen[bytes]:
        user = {} if self._user is None else {"user": self._user, "group": _group(self._user)}
        start = partial(
            subprocess.Popen, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory,
            preexec_fn=_die_with_parent(self.stop_signal), **user,
        )  # fmt: skip
        return _SPAWNING.submit(start).result()

    def run(self, command: list[str]) -> None:
        """Run a program as the server's user, to its end."""
        with self.log.open("ab") as log:
            if self._spawn(command, log).wait(PATIENCE):
                raise Unavailable(f"{command[0]} failed: {self._last_words()}")

    def kill(self) -> None:
        """End it as a power cut would, for its process."""
        self.end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as its manual says."""
        self.end(self.stop_signal)

    def end(self, how: signal.Signals) -> None:
        """End it by a signal."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(how)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def crash(self) -> None:
        """Kill it and start it again on what it had written."""
        self.kill()
        self.start()

    def close(self) -> None:
        """Stop it, and remove what it wrote."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-3:]) or "it says nothing"


class PostgresServer(Server):
    """PostgreSQL as it is delivered: `fsync` is on."""

    stop_signal = signal.SIGINT

    def __init__(self) -> None:
        initdb, self._postgres = _binary("initdb"), _binary("postgres")
        super().__init__()
        self.url = f"postgresql://bobcat@127.0.0.1:{self.port}/postgres"
        data = str(self.directory / "data")
        try:
            self.run([initdb, "-D", data, "-U", "bobcat", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"])
        except BaseException:
            self.close()
            raise

    def command(self) -> list[str]:
        data = str(self.directory / "data")
        return [
            self._postgres, "-D", data, "-p", str(self.port), "-k", str(self.directory),
            "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "shared_buffers=16MB",
        ]  # fmt: skip

    def answers(self) -> bool:
        return _postgres_answers(self.url) is None


class RedisServer(Server):
    """Redis as a store wants it: what was acknowledged is on the disk."""

    stop_signal = signal.SIGTERM

    def __init__(self, *settings: str) -> None:
        self._redis = _binary("redis-server")
        self._settings = settings or ("--appendonly", "yes", "--appendfsync", "always")
        super().__init__()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        return [
            self._redis, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory),
            "--save", "", *self._settings,
        ]  # fmt: skip

    def answers(self) -> bool:
        return _redis_answers(self.url) is None


def _die_with_parent(how: signal.Signals) -> Callable[[], None] | None:
    """On Linux a server ends with the tests, even when these are killed."""
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (AttributeError, OSError):
        return None
    return lambda: prctl(_PR_SET_PDEATHSIG, int(how))


def _binary(name: str) -> str:
    found = shutil.which(name)
    if found is None:  # where Debian keeps PostgreSQL's
        found = next((str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        raise Unavailable(f"`{name}` is not installed, no server answers on the default port, and none is named")
    return found


def _unprivileged_user() -> str | None:
    """The user for a server that refuses to run as root."""
    if os.geteuid() != 0:
        return None
    import pwd  # Windows has no such module, and starts no server

    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def _group(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _postgres_answers(url: str) -> str | None:
    """Why it does not answer, or None."""
    import psycopg

    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.Error as error:
        return str(error)
    return None


def _redis_answers(url: str) -> str | None:
    import redis

    try:
        with redis.Redis.from_url(url, socket_timeout=2) as client:
            client.ping()
    except redis.RedisError as error:
        return str(error)
    return None


def _found(variable: str, default: str, answers: Callable[[str], str | None]) -> str | None:
    named = os.environ.get(variable)
    if named:
        if why := answers(named):
            raise Unavailable(f"`{variable}` is set, and its server does not answer: {why}")
        return named
    return default if answers(default) is None else None


def absent(reason: str) -> NoReturn:
    """Skip, or fail where a skip is not allowed."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{reason} ({REQUIRED} is set)", pytrace=False)
    pytest.skip(reason)


def _running(kind: Callable[[], Server]) -> Iterator[Server]:
    server: Server | None = None
    try:
        server = kind()
        server.start()
    except Unavailable as reason:
        if server is not None:
            server.close()
        absent(str(reason))
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def own_postgres() -> Iterator[Server]:
    """A PostgreSQL that tests may kill."""
    yield from _running(PostgresServer)


@pytest.fixture(scope="session")
def own_redis() -> Iterator[Server]:
    """A Redis that tests may kill."""
    yield from _running(RedisServer)


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> str:
    """The URL of a PostgreSQL in which tests may make schemas."""
    try:
        found = _found(POSTGRES_URL, "postgresql://postgres@127.0.0.1:5432/postgres", _postgres_answers)
    except Unavailable as reason:
        absent(str(reason))
    url: str = found or request.getfixturevalue("own_postgres").url
    return url


@pytest.fixture(scope="session")
def redis_url(request: pytest.FixtureRequest) -> str:
    """The URL of a Redis in which tests may make keys that begin with `bobcat-test`."""
    try:
        found = _found(REDIS_URL, "redis://127.0.0.1:6379/0", _redis_answers)
    except Unavailable as reason:
        absent(str(reason))
    url: str = found or request.getfixturevalue("own_redis").url
    return url


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """The URL of a new database on the server of `postgres_url`, dropped after the test."""
    name = f"bobcat_test_{uuid.uuid4().hex[:12]}"
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    parts = conninfo_to_dict(postgres_url)
    user = f"{parts['user']}:{parts['password']}" if parts.get("password") else parts.get("user", "postgres")
    yield f"postgresql://{user}@{parts['host']}:{parts.get('port', 5432)}/{name}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
