"""A tool call in a process of its own: what comes back, what is bounded, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import functools
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sandbox_tools as tools
from bobcat.executors import sandbox
from bobcat.executors.sandbox import SandboxError, run_in_subprocess


def run(fn: Any, args: dict[str, Any] | None = None, **options: Any) -> Any:
    return asyncio.run(run_in_subprocess(fn, args or {}, **options))


def error_of(fn: Any, args: dict[str, Any] | None = None, **options: Any) -> str:
    with pytest.raises(SandboxError) as caught:
        run(fn, args, **options)
    return str(caught.value)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def soon_dead(*pids: int) -> bool:
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(alive, pids))


def read_pids(path: Path) -> list[int]:
    return [int(pid) for pid in path.read_text().split()]


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """No open descriptor, no process and no zombie after any of these tests that was not there before."""
    before, processes = set(os.listdir("/proc/self/fd")), _children()
    yield
    assert set(os.listdir("/proc/self/fd")) <= before
    assert _children() <= processes


def _children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has just ended
            found.update((task / "children").read_text().split())
    return found


def test_a_value_comes_back_as_json_carries_it() -> None:
    assert run(tools.echo, {"a": 1, "b": [None, "ü", 1.5, True]}) == {"a": 1, "b": [None, "ü", 1.5, True]}
    assert run(tools.hostile_values) == {"pair": [1, 2], "one": "{1}", "bytes": "b'x'"}


def test_long_arguments_and_long_values_pass() -> None:
    text = "é" * 3_000_000
    assert run(tools.echo, {"text": text}) == {"text": text}


def test_an_exception_is_an_error_with_the_end_of_its_traceback() -> None:
    text = error_of(tools.fails)
    assert text.startswith("sandbox exited 1: ")
    assert text.rstrip().endswith("ValueError: no such account")


def test_only_the_end_of_standard_error_is_shown() -> None:
    assert error_of(tools.shouts, {"text": "the end"}) == f"sandbox exited 3: {'y' * 993}the end"


def test_a_tool_that_leaves_the_interpreter_gave_no_result() -> None:
    assert error_of(tools.leaves, {"code": 0}).startswith("sandbox produced no result: ")
    assert error_of(tools.leaves, {"code": 7}).startswith("sandbox exited 7: ")
    assert error_of(tools.dies) == "sandbox exited -9: it was killed: at a limit, or by another process"


def test_a_value_that_has_no_json_is_an_error() -> None:
    assert "Circular reference" in error_of(tools.unwritable)


# lynx-agent defect 73
def test_the_timeout_holds_when_a_grandchild_keeps_the_output_open(tmp_path: Path) -> None:
    started = time.monotonic()
    text = error_of(
        tools.spawns, {"seconds": 60, "pids": str(tmp_path / "pids"), "wait": True}, timeout_seconds=3, workspace="."
    )
    assert text == "sandbox timeout after 3s"
    assert time.monotonic() - started < 8
    assert soon_dead(*read_pids(tmp_path / "pids"))


# lynx-agent defect 73
def test_what_a_finished_tool_left_running_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    assert run(tools.spawns, {"seconds": 0, "pids": str(pids), "wait": False}) == "left them running"
    assert soon_dead(*read_pids(pids))


# lynx-agent defect 74
def test_output_is_not_kept_in_this_process() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert run(tools.prints, {"megabytes": 60}) == "printed"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 1024


# lynx-agent defect 75
def test_a_missing_workspace_is_a_sandbox_error(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    assert error_of(tools.echo, workspace=missing) == f"workspace {missing!r} is not a directory"
    (tmp_path / "file").touch()
    assert "is not a directory" in error_of(tools.echo, workspace=str(tmp_path / "file"))


def test_a_blocking_tool_is_ended_at_the_timeout(tmp_path: Path) -> None:
    started = tmp_path / "started"
    assert error_of(tools.blocks, {"started": str(started)}, timeout_seconds=2.5) == "sandbox timeout after 2.5s"
    assert soon_dead(*read_pids(started))


def test_a_thread_that_lingers_does_not_outlast_the_timeout() -> None:
    assert error_of(tools.lingers, timeout_seconds=2) == "sandbox timeout after 2s"


def test_a_timeout_of_zero_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("started"))
    assert error_of(tools.echo, timeout_seconds=0) == "sandbox timeout after 0s"


def test_cpu_time_is_bounded() -> None:
    assert error_of(tools.spins, cpu_seconds=1) == "sandbox exited -24: it reached its limit of CPU time"


def test_memory_is_bounded() -> None:
    assert "MemoryError" in error_of(tools.grows, {"megabytes": 400}, max_memory_mb=300)
    assert run(tools.grows, {"megabytes": 50}, max_memory_mb=300) == 50 * 1024 * 1024


def test_a_result_that_is_too_long_is_refused_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_RESULT_BYTES", 200_000)
    assert error_of(tools.long_text, {"characters": 5_000_000}) == "sandbox result is longer than 200000 bytes"


def test_only_the_listed_part_of_the_environment_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_SECRET", "s3cr3t")
    monkeypatch.setenv("CITY", "Bern")
    found = run(tools.surroundings, env_allowlist=("CITY",))["environment"]
    assert found.pop("PYTHONPATH")
    assert {name for name in found if not name.startswith(("LC_", "__"))} == {"CITY"}


def test_the_working_directory_is_the_workspace_or_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    assert run(tools.surroundings, workspace=str(tmp_path))["files"] == ["here"]
    scratch = run(tools.surroundings)
    assert scratch["files"] == ["payload"]
    assert not Path(scratch["directory"]).exists()


def test_cancellation_kills_the_process_and_what_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async def main() -> None:
        args = {"seconds": 60, "pids": str(pids), "wait": True}
        task = asyncio.create_task(run_in_subprocess(tools.spawns, args))
        while not pids.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert soon_dead(*read_pids(pids))


def test_the_event_loop_runs_on_while_a_tool_does() -> None:
    async def main() -> int:
        task = asyncio.create_task(run_in_subprocess(tools.sleeps, {"seconds": 0.5}))
        ticks = 0
        while not task.done():
            await asyncio.sleep(0.02)
            ticks += 1
        assert await task == "slept"
        return ticks

    assert asyncio.run(main()) >= 10


def test_calls_run_side_by_side_and_in_a_loop_of_another_thread() -> None:
    async def both() -> list[Any]:
        calls = (run_in_subprocess(tools.echo, {"n": n}) for n in range(3))
        return await asyncio.gather(*calls)

    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(asyncio.run(both())))
    thread.start()
    thread.join()
    assert found == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_system_that_cannot_wait_for_a_process_is_polled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    pids = tmp_path / "pids"
    assert run(tools.spawns, {"seconds": 0, "pids": str(pids), "wait": False}) == "left them running"
    assert soon_dead(*read_pids(pids))


def test_functions_that_cannot_be_sent_are_refused_before_anything_starts() -> None:
    async def local() -> None: ...

    @functools.wraps(tools.echo)
    async def wrapper() -> None: ...

    for fn in (local, wrapper):
        text = error_of(fn)
        assert text.startswith("cannot pickle tool function ")
        assert text.endswith(". The subprocess sandbox requires a top-level async function.")
    assert error_of(tools.plain) == "subprocess sandbox supports async tools only"
    text = error_of(tools.echo, {"it": tools.Unpicklable()})
    assert text == "cannot pickle the arguments of tool function 'echo': RuntimeError: not me"


def test_an_interpreter_that_cannot_be_started_is_a_sandbox_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert error_of(tools.echo).startswith("the sandbox cannot be started: FileNotFoundError: ")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout_seconds": -1}, ValueError),
        ({"timeout_seconds": float("nan")}, ValueError),
        ({"timeout_seconds": "5"}, TypeError),
        ({"cpu_seconds": True}, TypeError),
        ({"cpu_seconds": float("inf")}, ValueError),
        ({"max_memory_mb": 0}, ValueError),
        ({"max_memory_mb": 1.5}, TypeError),
        ({"env_allowlist": "PATH"}, TypeError),
    ],
    ids=str,
)
def test_limits_that_bound_nothing_are_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(options))):
        run(tools.echo, **options)
