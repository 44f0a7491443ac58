"""Real workers, as processes: one is killed, one is stopped, and the runs go on elsewhere."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bobcat import Approvals
from workers.conftest import APP, House, Processes


def test_a_killed_worker_is_taken_over_and_nothing_happens_twice(house: House, processes: Processes) -> None:
    go = house.path / "go"

    async def main() -> None:
        job = await house.jobs.enqueue("two", {"file": str(go)})
        first = processes.worker()
        await house.until_effect("thinking")
        await house.until_recorded(job.run_id, "action.result")  # it is written while the model thinks
        first.send_signal(signal.SIGKILL)
        first.wait(60)
        processes.worker()
        go.touch()
        await house.until_status(job.run_id, "succeeded")
        assert [line for line in house.effects if line in ("one", "two")] == ["one", "two"]
        kinds = [record.kind for record in await house.store.load(job.run_id)]
        assert kinds.count("run.started") == kinds.count("run.resumed") == 1

    asyncio.run(main())


def test_a_worker_killed_inside_a_tool_leaves_a_question_and_no_second_effect(
    house: House, processes: Processes
) -> None:
    """The outcome of the tool is unknown: it is not simply run again."""

    async def main() -> None:
        job = await house.jobs.enqueue("waits", {"file": str(house.path / "never")})
        first = processes.worker()
        await house.until_effect("waiting")
        first.send_signal(signal.SIGKILL)
        first.wait(60)
        processes.worker()
        await house.until_status(job.run_id, "suspended")
        (asked,) = await Approvals(house.store).list()
        assert (asked.tool, asked.round) == ("wait_for", 1)
        await Approvals(house.store).deny(asked.id, approver="anybody", reason="it is done")
        await house.until_status(job.run_id, "succeeded")
        assert house.effects == ["waiting"]

    asyncio.run(main())


def test_a_stopped_worker_lets_its_runs_end_and_begins_nothing(house: House, processes: Processes) -> None:
    go = house.path / "go"

    async def main() -> None:
        first = await house.jobs.enqueue("waits", {"file": str(go)})
        process = processes.worker("--concurrency", "1")
        await house.until_effect("waiting")
        second = await house.jobs.enqueue("note", {"text": "later"})
        process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.3)
        go.touch()
        _, reported = await asyncio.to_thread(process.communicate, timeout=60)
        assert process.returncode == 0, reported
        assert "SIGTERM: draining" in reported
        assert "worker stopped" in reported
        assert await house.status(first.run_id) == "succeeded"
        assert await house.status(second.run_id) == "queued"
        assert house.effects == ["waiting"]

    asyncio.run(main())


def test_a_run_that_outlasts_the_grace_goes_on_elsewhere(house: House, processes: Processes) -> None:
    go = house.path / "go"

    async def main() -> None:
        job = await house.jobs.enqueue("two", {"file": str(go)})
        process = processes.worker("--grace-seconds", "0.2", lease=30)
        await house.until_effect("thinking")
        process.send_signal(signal.SIGTERM)
        _, reported = await asyncio.to_thread(process.communicate, timeout=60)
        assert process.returncode == 0, reported
        assert await house.status(job.run_id) == "queued", "without waiting for the lease to end"
        go.touch()
        processes.worker("--until-idle", lease=30)
        await house.until_status(job.run_id, "succeeded")
        assert [line for line in house.effects if line in ("one", "two")] == ["one", "two"]

    asyncio.run(main())


def test_an_approval_on_the_command_line_wakes_a_worker(house: House, processes: Processes) -> None:
    queued = processes.bobcat("runs", "queue", "asks", "--run-id", "order-7")
    assert queued.stdout == "order-7\n", queued.stderr
    processes.worker()

    async def main() -> None:
        await house.until_status("order-7", "suspended")
        (asked,) = await Approvals(house.store).list()
        granted = processes.bobcat("approvals", "grant", asked.id, "--approver", "alice")
        assert "run order-7 is queued" in granted.stdout
        await house.until_status("order-7", "succeeded")
        assert house.effects == ["paid 40"]

    asyncio.run(main())
    shown = processes.bobcat("runs", "show", "order-7")
    assert shown.stdout.startswith("run        order-7, succeeded\n")


def test_without_a_worker_a_run_is_resumed_by_hand(house: House, processes: Processes) -> None:
    processes.bobcat("runs", "queue", "asks", "--run-id", "r")
    first = processes.bobcat("runs", "resume", "r", "--app", str(APP))
    assert (first.returncode, first.stdout[:16]) == (0, "run r suspended:")
    (asked,) = asyncio.run(Approvals(house.store).list())
    processes.bobcat("approvals", "deny", asked.id, "--approver", "alice")
    done = processes.bobcat("runs", "resume", "r", "--app", str(APP))
    assert (done.returncode, done.stdout) == (0, "run r succeeded\n")
    assert house.effects == []


def _lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return done.stdout.splitlines()


def test_runs_are_listed_cancelled_and_resumed(house: House, processes: Processes) -> None:
    for run_id in ("a", "b"):
        processes.bobcat("runs", "queue", "note", "--payload", '{"text": "x"}', "--run-id", run_id, "--tenant", "acme")
    assert {line.split()[0] for line in _lines(processes.bobcat("runs", "list"))} == {"a", "b"}
    assert processes.bobcat("runs", "cancel", "a", "--reason", "no").stdout == "run a is cancelled\n"
    assert _lines(processes.bobcat("runs", "list", "--status", "cancelled"))[0].startswith("a  cancelled")
    assert processes.bobcat("runs", "cancel", "a").returncode == 4
    assert processes.bobcat("runs", "cancel", "c").returncode == 3
    assert processes.bobcat("runs", "show", "c").returncode == 3
    assert processes.bobcat("runs", "resume", "a").stdout == "run a is queued\n"
    done = processes.worker("--until-idle")
    _, reported = done.communicate(timeout=120)
    assert done.returncode == 0, reported
    assert house.effects == ["x", "x"]
    assert processes.bobcat("runs", "resume", "a").returncode == 4


@pytest.mark.parametrize(
    ("app", "reported"),
    [
        ("nowhere.py", "no file at `nowhere.py`"),
        ("json:dumps", "`dumps` is a function in `json`"),
        ("json", "`workers` is missing in `json`"),
        ("no_such_module_here", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_an_app_that_cannot_be_loaded_is_named(house: House, processes: Processes, app: str, reported: str) -> None:
    done: Any = processes.bobcat("worker", app)
    assert done.returncode == 3
    assert reported in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("place", "reported"),
    [("none.db", "(damaged): `"), ("there/is/none.db", "(unavailable): ")],
)
def test_a_worker_without_a_store_says_so_at_once(
    house: House, processes: Processes, tmp_path: Path, place: str, reported: str
) -> None:
    (tmp_path / "none.db").write_text("no database " * 100)
    house.url = f"sqlite:///{tmp_path / place}"
    worker = processes.worker("--until-idle")
    _, said = worker.communicate(timeout=30)
    assert worker.returncode == 3
    assert reported in said


def test_an_app_that_exits_is_no_worker_that_is_done(house: House, processes: Processes, tmp_path: Path) -> None:
    path = tmp_path / "leaves.py"
    path.write_text("raise SystemExit(0)")
    done = processes.bobcat("worker", str(path))
    assert done.returncode == 3
    assert "leaves.py` cannot be loaded: SystemExit: 0" in done.stderr


def test_an_app_that_raises_says_what(house: House, processes: Processes, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import nothing_of_this_name")
    done = processes.bobcat("worker", str(path))
    assert done.returncode == 3
    assert "ModuleNotFoundError: No module named 'nothing_of_this_name'" in done.stderr
    assert "Traceback" not in done.stderr


def test_workers_on_redis_suspend_wake_and_end(house: House, processes: Processes, own_redis: Any) -> None:
    """The same commands, over a server without procrastinate: the store itself is the queue."""
    run_id = f"redis-{uuid4().hex}"
    house.url = own_redis.url
    queued = processes.bobcat("runs", "queue", "asks", "--run-id", run_id)
    assert queued.stdout == f"{run_id}\n", queued.stderr
    for word, effects in (("suspended", []), ("succeeded", ["paid 40"])):
        done = processes.worker("--until-idle")
        _, reported = done.communicate(timeout=120)
        assert done.returncode == 0, reported
        assert processes.bobcat("runs", "show", run_id).stdout.startswith(f"run        {run_id}, {word}\n")
        assert house.effects == effects
        if word == "suspended":
            listed = processes.bobcat("approvals", "list", "--run-id", run_id, "--format", "json")
            (asked,) = json.loads(listed.stdout)
            assert processes.bobcat("approvals", "grant", asked["id"], "--approver", "alice").returncode == 0
