"""Bobcat without what only POSIX has: `without_posix.py CHECK...` takes it away, then runs the checks.

It shows on Linux what an import or a call would miss on Windows: modules, functions, flags, signals. It is no Windows:
paths, locks of open files and consoles are tried by the matrix of `.github/workflows/ci.yml`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "bobcat"
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
OS_NAMES = (
    "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "fchmod", "fchown", "fork", "geteuid",
    "getuid", "killpg", "mkfifo", "pidfd_open", "pread", "pwrite", "sched_getaffinity", "setsid", "sync",
)  # fmt: skip
SIGNALS = ("SIGALRM", "SIGHUP", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGXCPU", "pthread_sigmask", "setitimer")
# They look at the platform when they are imported, and belong to no check.
FIRST = (
    "click", "multiprocessing.connection", "multiprocessing.context", "re2", "rich.console", "socketserver", "sqlite3",
    "ssl", "subprocess", "sysconfig", "uvicorn", "uvicorn.loops.auto", "uvloop", "yaml", "zoneinfo",
)  # fmt: skip
FOR_IMPORTS = (
    "anthropic", "celery", "croniter", "cryptography", "django", "fastapi", "flask", "httpx", "langgraph.graph",
    "mcp.server", "openai", "opentelemetry.sdk.trace", "procrastinate", "psycopg", "psycopg_pool", "pytest",
    "redis.asyncio", "starlette.testclient", "trio",
)  # fmt: skip


def take_away(packages: tuple[str, ...]) -> None:
    """Remove what Windows does not have, after the packages that look at the platform are imported."""
    for name in packages:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    asyncio.new_event_loop().close()  # since CPython 3.14 asyncio looks at the platform here
    # Windows has pairs of sockets, too: of another family.
    socket.socketpair = functools.partial(socket.socketpair, socket.AF_UNIX)  # type: ignore[assignment]
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for owner, names in ((os, OS_NAMES), (signal, SIGNALS), (socket, ("AF_UNIX",)), (time, ("CLOCK_BOOTTIME",))):
        for name in names:
            with contextlib.suppress(AttributeError):
                delattr(owner, name)
    os.supports_dir_fd = set()
    # The standard library chose at its import what it calls of these names; on Windows it chooses otherwise.
    os.process_cpu_count = os.cpu_count  # type: ignore[attr-defined] # since CPython 3.13
    shutil._use_fd_functions = False  # type: ignore[attr-defined]
    shutil._rmtree_impl = shutil._rmtree_unsafe  # type: ignore[attr-defined] # since CPython 3.14
    sys.platform = "win32"
    assert not [name for name in sys.modules if name.startswith("bobcat")]


def imports() -> None:
    """Import every module; one that lacks a package from elsewhere is left out."""
    count = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] == "__main__" or "starter" in parts:
            continue
        try:
            importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package in ("", "bobcat", *sys.stdlib_module_names):
                raise
        else:
            count += 1
    assert count > 500, count


POLICY = """\
rules:
  - {id: reads, match: {tool: read, args.path.path.within: /srv/data}, decision: allow}
"""


def decides_and_runs() -> None:
    """Compile, save, load, decide, and run an agent on SQLite."""
    from bobcat import FinalAnswer, Policy, SQLiteStore, ToolCall, ToolSet, run_agent, tool

    @tool
    async def read(path: str) -> str:
        return path

    steps = iter([ToolCall("read", {"path": "/srv/data/a"}), FinalAnswer("done")])

    class Scripted:
        async def step(self, conversation: object) -> object:
            return next(steps)

    async def run(path: Path, policy: Policy) -> str | None:
        async with contextlib.aclosing(SQLiteStore(path)) as store:
            tools = ToolSet.from_functions(read)
            result = await run_agent(Scripted(), "look", tools=tools, policy=policy, store=store, run_id="one")
            return result.final_answer

    with tempfile.TemporaryDirectory() as directory:
        bundle = Path(directory, "policy.bobcat")
        Policy.compile(POLICY).save(bundle)
        assert asyncio.run(run(Path(directory, "runs.db"), Policy.load(bundle))) == "done"


@contextlib.contextmanager
def _refused(kind: type[Exception], text: str) -> Iterator[None]:
    reason = None
    try:
        yield
    except kind as error:
        reason = str(error)
    assert reason is not None, f"no {kind.__name__}"
    assert text in reason, reason


def refuses() -> None:
    """What needs POSIX is refused with the reason, and nothing is executed without its lock or its containment."""
    from bobcat import FileStore
    from bobcat.decision_log.jsonl import JsonlLog
    from bobcat.distribution.lock import locked
    from bobcat.errors import DecisionLogError, SourceError, StoreError
    from bobcat.providers import files, processes

    with tempfile.TemporaryDirectory() as directory:
        with _refused(StoreError, "`flock`"):
            asyncio.run(FileStore(Path(directory, "store")).acquire("one", owner="me", seconds=5))
        with _refused(SourceError, "`flock`"), locked(Path(directory, "one.bundle")):
            pass
        with _refused(DecisionLogError, "`flock`"):
            JsonlLog(Path(directory, "log.jsonl"))
        with _refused(NotImplementedError, "on Linux and macOS only"):
            files(directory)
        with _refused(ValueError, "needs Linux"):
            processes(["true"])


def ends() -> None:
    """Signals reach an event loop that has no handlers for them; a process is ended without a group."""
    from bobcat.aio.signals import END_SIGNALS, end_group, on_signals

    async def check() -> None:
        def unsupported(*_: object) -> None:
            raise NotImplementedError

        asyncio.get_running_loop().add_signal_handler = unsupported  # type: ignore[method-assign]
        names: asyncio.Queue[str] = asyncio.Queue()
        on_signals((*END_SIGNALS, "SIGHUP"), names.put_nowait)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
            assert await names.get() == number.name
        for kill in (False, True):
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")
            end_group(process, kill=kill)
            assert await process.wait() != 0
            end_group(process, kill=kill)  # it is gone

    asyncio.run(check())


def reads_a_pipe() -> None:
    """The proxy reads standard input in a thread, to its end."""
    from bobcat.proxy import stdio_front

    async def check(reading: Awaitable[asyncio.StreamReader]) -> bytes:
        return await (await reading).read()

    read, write = os.pipe()
    os.write(write, b"one\ntwo\n")
    os.close(write)
    os.dup2(read, 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    assert asyncio.run(check(stdio_front._reader())) == b"one\ntwo\n"


CHECKS = {check.__name__: check for check in (imports, decides_and_runs, refuses, ends, reads_a_pipe)}


if __name__ == "__main__":
    take_away((*FIRST, *FOR_IMPORTS) if "imports" in sys.argv else FIRST)
    for each in sys.argv[1:]:
        CHECKS[each]()
        print(each)
