"""One tool call in a separate process: a fresh interpreter with limits on time, memory, output and environment.

It bounds the harm that a trusted but buggy tool can do to this process. It is NOT a security boundary: the tool runs as
the same user, with the same files and the same network. For a boundary, write an executor over containers or machines.

POSIX only. Called by `subprocess_executor`. Every failure is a `SandboxError`. No process that it starts outlives it,
except one that entered a session of its own.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Self

from bobcat.executors.sandbox_child import LOADING
from bobcat.text.json_text import format_exception

ENV_ALLOWLIST = ("PATH", "HOME", "USER", "LANG", "LC_ALL")
MAX_RESULT_BYTES = 64 * 1024 * 1024
"""Maximum length of a value as JSON. A tool that returns more has failed."""
STDERR_CHARS = 1000
"""Length of a failing tool's standard error in the error text, taken from its end."""
_STDERR_BYTES = 8 * STDERR_CHARS
_READ_BYTES = 64 * 1024
_READS = 16
_DEATH_SECONDS = 2.0
_POLL_SECONDS = 0.01
_CHILD = os.path.join(os.path.dirname(__file__), "sandbox_child.py")
_ENDINGS = {
    "SIGXCPU": "it reached its limit of CPU time",
    "SIGKILL": "it was killed: at a limit, or by another process",
    "SIGSEGV": "it crashed",
}


class SandboxError(RuntimeError):
    """A sandboxed call without a value. The message gives the reason."""

    uncertain = False
    """True when the call was started and did not end by itself: it may have taken effect."""


def _uncertain(message: str) -> SandboxError:
    error = SandboxError(message)
    error.uncertain = True
    return error


# Any: arguments and results of tools have any type.
async def run_in_subprocess(
    fn: Callable[..., Awaitable[Any]],
    args: Mapping[str, Any],
    *,
    cpu_seconds: int = 30,
    max_memory_mb: int = 512,
    workspace: str | None = None,
    timeout_seconds: float = 60.0,
    env_allowlist: tuple[str, ...] = ENV_ALLOWLIST,
) -> Any:
    """Run `await fn(**args)` in a fresh interpreter, and return its value after a JSON round trip.

    A value without a JSON form comes back as its `str`. `fn` must be an async function that can be imported: of a
    module, or of the main program. `workspace` is the working directory; the default is an empty directory that is
    removed afterwards. Of the environment only `env_allowlist` is passed on, and `PYTHONPATH` as this process imports.
    Standard output is discarded.

    At `timeout_seconds` (wall clock), and when the calling task is cancelled, the process and all processes that it
    started in its group are killed. Raises `SandboxError`, and `TypeError` or `ValueError` for invalid limits.
    """
    check_limits(cpu_seconds, max_memory_mb, timeout_seconds, env_allowlist)
    payload = _payload(fn, args)
    _check_workspace(workspace)
    late = f"sandbox timeout after {timeout_seconds}s"
    if timeout_seconds <= 0:
        raise SandboxError(late)
    import tempfile  # PERF: 5 ms that only a sandboxed call pays; every run imports this module

    with tempfile.TemporaryDirectory(prefix="bobcat-", ignore_cleanup_errors=True) as scratch:
        path = _write(scratch, payload)
        limits = [str(math.ceil(cpu_seconds)), str(max_memory_mb * 1024 * 1024)]
        with _Child(path, limits, workspace or scratch, _environment(env_allowlist)) as child:
            try:
                async with asyncio.timeout(timeout_seconds) as clock:
                    await child.exited()
            except TimeoutError:
                if clock.expired():
                    raise _uncertain(late) from None
                raise
            return _value(*child.end())


def check_limits(cpu_seconds: object, max_memory_mb: object, timeout_seconds: object, env_allowlist: object) -> None:
    """Raise for limits under which a call would not be bounded as written."""
    for name, limit in (("cpu_seconds", cpu_seconds), ("timeout_seconds", timeout_seconds)):
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            raise TypeError(f"{name} must be a number, got {limit!r}")
        if not 0 <= limit < math.inf:
            raise ValueError(f"{name} must be a finite number, at least 0, got {limit!r}")
    if isinstance(max_memory_mb, bool) or not isinstance(max_memory_mb, int):
        raise TypeError(f"max_memory_mb must be an integer, got {max_memory_mb!r}")
    if max_memory_mb < 1:
        raise ValueError(f"max_memory_mb must be at least 1, got {max_memory_mb!r}")
    if isinstance(env_allowlist, str):  # else `"PATH"` would allow `P`, `A`, `PAT` and so on
        raise TypeError(f"env_allowlist must be a tuple of names, got the string {env_allowlist!r}")


def _check_workspace(workspace: str | None) -> None:
    if workspace is not None and not os.path.isdir(workspace):
        raise SandboxError(f"workspace {workspace!r} is not a directory")


def _payload(fn: Callable[..., Awaitable[Any]], args: Mapping[str, Any]) -> bytes:
    if sys.platform == "win32":
        raise SandboxError("the subprocess sandbox needs a POSIX system")
    if not inspect.iscoroutinefunction(fn):
        raise SandboxError("subprocess sandbox supports async tools only")
    name = getattr(fn, "__qualname__", repr(fn))
    if os.environ.get(LOADING):
        raise SandboxError(
            f"cannot sandbox {name!r} while the main program is being loaded for another call; "
            'put its code under `if __name__ == "__main__":`'
        )
    try:
        function = pickle.dumps(fn)
    except Exception as error:
        raise SandboxError(
            f"cannot pickle tool function {name!r}: {error}. "
            "The subprocess sandbox requires a top-level async function."
        ) from error
    try:
        arguments = pickle.dumps(dict(args))
    except Exception as error:
        raise SandboxError(
            f"cannot pickle the arguments of tool function {name!r}: {format_exception(error)}"
        ) from error
    main = _main_program(name) if b"__main__" in function + arguments else None
    return pickle.dumps((main, sys.argv)) + function + arguments


def _write(directory: str, payload: bytes) -> str:
    path = os.path.join(directory, "payload")
    with open(path, "wb") as file:
        file.write(payload)
    return path


def _main_program(name: str) -> tuple[str, str]:
    """The file and the package of the main program, where the child finds its definitions."""
    module = sys.modules.get("__main__")
    path = getattr(module, "__file__", None)
    if not path or not os.path.isfile(path):
        raise SandboxError(
            f"cannot sandbox {name!r}: it is defined in an interactive __main__ with no file. "
            "Move it into a module or a script."
        )
    return os.path.abspath(path), getattr(module, "__package__", None) or ""


def _environment(allowed: tuple[str, ...]) -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if name in allowed}
    paths = [os.path.abspath(entry or ".") for entry in sys.path]
    found["PYTHONPATH"] = os.pathsep.join(path for path in paths if os.pathsep not in path)
    return found


def _value(code: int, result: bytes, stderr: str) -> Any:
    if code != 0:
        text = f"sandbox exited {code}: {stderr or _ending(code)}"
        raise _uncertain(text) if code < 0 else SandboxError(text)
    try:
        return json.loads(result)["value"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SandboxError(f"sandbox produced no result: {error}") from error


def _ending(code: int) -> str:
    """Reason for the end of a process that wrote no standard error."""
    name = signal.Signals(-code).name if -code in {*signal.Signals} else ""
    return _ENDINGS.get(name, "no output")


class _Child:
    """A process that leads its own group, and the pipes to it. Leaving the context kills the group in every case."""

    def __init__(self, payload: str, limits: list[str], cwd: str, env: dict[str, str]) -> None:
        self._result = bytearray()
        self._stderr = bytearray()
        self._too_much = False
        self._wake = asyncio.Event()
        self._outcome: tuple[int, bytes, str] | None = None
        result_read, result_write = os.pipe()
        lifeline_read, lifeline_write = os.pipe()
        stderr_read, stderr_write = os.pipe()
        self._parent_ends = (result_read, lifeline_write, stderr_read)
        self._pipes = {result_read: self._take_result, stderr_read: self._take_stderr}
        child_ends = (result_write, lifeline_read)
        command = [sys.executable or "", "-P", _CHILD, payload, *map(str, child_ends), *limits]
        try:
            self._process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr_write,
                pass_fds=child_ends, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            for descriptor in self._parent_ends:
                os.close(descriptor)
            raise SandboxError(f"the sandbox cannot be started: {format_exception(error)}") from error
        finally:
            for descriptor in (*child_ends, stderr_write):
                os.close(descriptor)

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for descriptor, take in self._pipes.items():
            os.set_blocking(descriptor, False)
            loop.add_reader(descriptor, self._read, descriptor, take)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    async def exited(self) -> None:
        """Wait until the process has ended. Raises `SandboxError` when its result grows past the limit."""
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):  # not Linux, or a Linux without it
            while self._process.poll() is None and not self._too_much:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(_POLL_SECONDS)
        else:
            loop = asyncio.get_running_loop()
            loop.add_reader(descriptor, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                loop.remove_reader(descriptor)
                os.close(descriptor)
        if self._too_much:
            raise _uncertain(f"sandbox result is longer than {MAX_RESULT_BYTES} bytes")

    def end(self) -> tuple[int, bytes, str]:
        """Kill the rest of the group and reap the process: its exit code, its result, the end of its stderr."""
        if self._outcome is None:
            # INVARIANT: the group is killed before its leader is reaped, where the system supports it; its number
            # cannot be reused before.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            try:
                code = self._process.wait(_DEATH_SECONDS)
            except subprocess.TimeoutExpired:  # it is stuck in the kernel: reaped when it comes out
                threading.Thread(target=self._process.wait, daemon=True).start()
                code = -signal.SIGKILL
            loop = asyncio.get_running_loop()
            for descriptor, take in self._pipes.items():
                self._read(descriptor, take)
                loop.remove_reader(descriptor)
            for descriptor in self._parent_ends:
                os.close(descriptor)
            stderr = self._stderr.decode("utf-8", "replace")[-STDERR_CHARS:]
            self._outcome = code, bytes(self._result), stderr
        return self._outcome

    def _read(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        """Read the pipe's present content, a bounded amount at a time: an endless writer must not block the reader."""
        for _ in range(_READS):
            try:
                data = os.read(descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                asyncio.get_running_loop().remove_reader(descriptor)
                return
            take(data)

    def _take_result(self, data: bytes) -> None:
        if len(self._result) + len(data) > MAX_RESULT_BYTES:
            self._too_much = True
            self._wake.set()
        else:
            self._result += data

    def _take_stderr(self, data: bytes) -> None:
        self._stderr += data
        del self._stderr[:-_STDERR_BYTES]
