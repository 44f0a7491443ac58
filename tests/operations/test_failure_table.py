"""Each row of the failure table in docs/how-to/operate-workers.md, performed: the symptom, and what follows."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bobcat import SQLiteStore
from bobcat.workers import health, health_server
from operations.conftest import APP, Site, url_of
from operations.worker_fleet import Fleet, failed_for_good, until, workers_of
from services import RedisServer, Server

PAGE = (Path(__file__).parents[2] / "docs/how-to/operate-workers.md").read_text()
SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
SHARED = pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)


def waiting(site: Site, path: Path, run_id: str = "w") -> Path:
    """A queued run that waits for a file; returns the file that shows that it has begun."""
    site.queue("wait", run_id, "--payload", json.dumps({"file": str(path)}))
    return Path(f"{path}.waiting")


@SHARED
def test_a_worker_is_killed(site: Site, fleet: Fleet, tmp_path: Path) -> None:
    go = tmp_path / "go"
    begun = waiting(site, go)
    first = fleet.worker("--owner", "first", "--lease-seconds", "1.5")
    until(begun.exists, "the run")
    until(lambda: [each["held"] for each in workers_of(site)] == [["w"]], "its heartbeat")
    first.process.kill()
    first.process.wait()
    fleet.worker("--owner", "second", "--lease-seconds", "1.5")
    until(
        lambda: {each["name"]: each["state"] for each in workers_of(site)} == {"first": "dead", "second": "live"},
        "death",
    )
    go.touch()
    until(lambda: site.ids("--status", "succeeded") == ["w"], "the other worker")


@SHARED
def test_a_worker_is_stopped(site: Site, fleet: Fleet, tmp_path: Path) -> None:
    begun = waiting(site, tmp_path / "never")
    worker = fleet.worker("--grace", "2")
    until(worker.is_ready, "readiness")
    until(begun.exists, "the run")
    worker.process.send_signal(signal.SIGTERM)
    until(lambda: worker.get("/readyz")[0] == 503, "the end of readiness", 2)
    assert worker.process.wait(20) == 0
    assert site.ids("--status", "queued") == ["w"]


def test_the_event_loop_is_blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LOOP_SECONDS", 1.0)
    answers: list[int] = []

    def probe(address: str) -> int:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    async def main() -> None:
        store, state = SQLiteStore(tmp_path / "s.db"), health.Health()
        watching = asyncio.create_task(health.watch(state, store))

        async def metrics() -> str:
            return ""

        server = health_server.HealthServer("127.0.0.1", 0, state, metrics)
        url = "http://{}:{}/healthz".format(*server.address)
        answers.append(await asyncio.to_thread(probe, url))

        def probe_later() -> None:
            time.sleep(1.5)
            answers.append(probe(url))

        thread = threading.Thread(target=probe_later)
        thread.start()
        time.sleep(2.5)  # noqa: ASYNC251 - the tool that blocks
        await asyncio.to_thread(thread.join)
        await asyncio.sleep(0.2)
        answers.append(await asyncio.to_thread(probe, url))
        watching.cancel()
        server.close()
        await store.aclose()

    asyncio.run(main())
    assert answers == [200, 503, 200]


@SQLITE
@pytest.mark.parametrize("url_of_store", ["postgres://nobody@127.0.0.1:1/x", "redis://127.0.0.1:1"])
def test_the_store_is_away_at_the_start(site: Site, url_of_store: str) -> None:
    done = site.run("worker", str(APP), "--store", url_of_store, "--health", "0")
    assert done.code == 3
    assert done.err.startswith("error: the store cannot be used (unavailable): ")
    assert len(done.err.splitlines()) == 1


def test_the_store_goes_away(own_postgres: Server, run: Any, tmp_path: Path) -> None:
    site = Site(own_postgres.url, run)
    fleet = Fleet(site)
    worker = fleet.worker("--lease-seconds", "3")
    try:
        until(worker.is_ready, "readiness", 60)
        assert worker.metric("bobcat_store_up") == 1
        own_postgres.stop()
        until(lambda: worker.get("/readyz")[0] == 503, "the end of readiness", 40)
        assert worker.get("/healthz")[0] == 200, "a restart repairs no database"
        until(lambda: "bobcat_store_up 0" in worker.get("/metrics")[1], "the metric", 20)
        own_postgres.start()
        until(worker.is_ready, "readiness", 60)
        site.queue("answer", "after")
        until(lambda: "after" in site.ids("--status", "succeeded"), "the run", 60)
        assert worker.stop() is not None
        assert worker.process.returncode == 0
    finally:
        for process in fleet.started:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=60)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill_disk(path: Path) -> None:
    """Write a file until the disk is full."""
    try:
        with path.open("wb", buffering=0) as file:
            while True:
                file.write(b"0" * 4096)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


@pytest.mark.parametrize("kind", ["sqlite", "file"])
def test_the_disk_is_full(small_disk: Path, kind: str, run: Any, tmp_path: Path, request: Any) -> None:
    site = Site(url_of(kind, small_disk, request), run)
    fleet, go, fill = Fleet(site), tmp_path / "go", small_disk / "fill"
    begun = waiting(site, go)
    try:
        worker = fleet.worker("--lease-seconds", "1.5", "--log-level", "warning")
        until(begun.exists, "the run")
        fill_disk(fill)
        go.touch()  # the run goes on, and its result cannot be recorded
        refused = site.bobcat("runs", "queue", "answer", "--run-id", "a")
        assert refused.code == 3
        assert re.search("disk is full|No space left", refused.err), refused.err
        time.sleep(2)
        assert worker.process.poll() is None
        assert worker.get("/healthz")[0] == 200, "a restart frees no space"
        assert site.ids("--status", "succeeded") == []
        fill.unlink()
        site.queue("answer", "a")
        until(lambda: set(site.ids("--status", "succeeded")) == {"a", "w"}, "both runs", 60)
        reported = worker.stop()
        assert re.search("disk is full|No space left", reported), reported
    finally:
        for process in fleet.started:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=60)


def test_the_store_can_lose_writes(run: Any) -> None:
    server = RedisServer("--appendonly", "no")
    try:
        server.start()
        done = run("worker", str(APP), "--store", server.url)
    finally:
        server.close()
    assert done.code == 3
    assert "(not_durable)" in done.err
    assert "`appendonly` is off" in done.err


@SQLITE
def test_the_app_cannot_be_loaded(site: Site, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import absent_module\n")
    done = site.bobcat("worker", str(tmp_path / "app.py"), "--until-idle")
    assert (done.code, "absent_module" in done.err) == (3, True)


@SHARED
def test_no_worker_has_the_kind_of_a_run(site: Site, fleet: Fleet) -> None:
    site.queue("absent", "r", "--version", "7")
    worker = fleet.worker()
    until(worker.is_ready, "readiness")
    time.sleep(1)
    assert 'bobcat_queued_runs{kind="absent@7"} 1' in worker.get("/metrics")[1]
    assert site.bobcat("runs", "list", "--status", "queued").out.rstrip().endswith("job absent@7")
    assert site.bobcat("runs", "cancel", "--kind", "absent").code == 0
    assert site.ids("--status", "cancelled") == ["r"]


@SHARED
def test_a_run_fails(site: Site, fleet: Fleet) -> None:
    site.queue("fail", "f")
    worker = fleet.worker("--log-format", "json")
    until(lambda: failed_for_good(site, "f"), "the failure")
    assert "ConnectionError" in site.bobcat("runs", "show", "f", "--format", "json").json()["detail"]["traceback"]
    assert any(json.loads(line)["level"] == "error" for line in worker.stop().splitlines() if line.startswith("{"))
    assert site.bobcat("runs", "retry", "--status", "dead", "--text", "model is away").code == 0
    assert site.ids("--status", "queued") == ["f"]


@SHARED
def test_an_action_may_have_happened(site: Site, fleet: Fleet, tmp_path: Path) -> None:
    site.queue("unsafe", "u", "--payload", json.dumps({"file": str(tmp_path / "go")}))
    first = fleet.worker("--lease-seconds", "1")
    until(Path(f"{tmp_path / 'go'}.waiting").exists, "the run")
    first.process.kill()
    first.process.wait()
    (tmp_path / "go").touch()
    second = fleet.worker("--lease-seconds", "1")
    until(lambda: second.metric("bobcat_uncertain_runs") == 1, "the question")
    (asked,) = site.bobcat("approvals", "list", "--format", "json").json()
    assert asked["uncertain"] is True
    assert site.bobcat("approvals", "grant", asked["id"], "--approver", "alice").code == 4
    assert site.bobcat("approvals", "grant", asked["id"], "--approver", "alice", "--uncertain").code == 0
    until(lambda: site.ids("--status", "succeeded") == ["u"], "the run")
    assert second.metric("bobcat_uncertain_runs") == 0


@SHARED
def test_people_do_not_answer(site: Site, fleet: Fleet) -> None:
    site.queue("ask", "s")
    worker = fleet.worker()
    until(lambda: worker.metric("bobcat_approvals_oldest_seconds") > 1, "the wait")
    assert worker.metric("bobcat_approvals_pending") == 1


@SQLITE
def test_a_schedule_fails(site: Site, fleet: Fleet) -> None:
    """Its document in the store is one that the schedule cannot use: it fails, and another one works."""

    async def due(store: Any) -> None:
        body = {"cron": "* * * * *", "timezone": "UTC", "next": "2026-01-01T00:00:00+00:00"}
        for name in ("every minute", "too long"):
            await store.put("schedule", name, body, expected=0)
        await store.put("job", "too long@2026-01-01T00:00:00+00:00", {"run_id": "of another program"}, expected=0)

    site.with_store(due)
    app = Path("scheduled.py")
    app.write_text(
        APP.read_text()
        + "\n\n@workers.run('every minute', cron='* * * * *')\n@workers.run('too long', cron='* * * * *')\n"
        "def scheduled(job: Job) -> dict[str, Any]:\n    return made(Script(), 'at a time')\n"
    )
    worker = fleet.worker(app=app.resolve())
    until(lambda: site.bobcat("workers", "schedules").code == 1, "the error")
    found = {each["name"]: each["error"] for each in site.bobcat("workers", "schedules", "--format", "json").json()}
    assert found["every minute"] == ""
    assert "cannot be read" in found["too long"]
    until(lambda: "every minute@2026-01-01T00:00:00+00:00" in site.ids("--status", "succeeded"), "the other schedule")
    assert "the schedule too long failed" in worker.stop()


@SQLITE
def test_the_address_of_the_probes_is_in_use(site: Site) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = site.bobcat("worker", str(APP), "--health", str(taken.getsockname()[1]))
    assert (done.code, done.err.rstrip().endswith("address already in use")) == (3, True)


@SQLITE
def test_the_store_was_set_back(site: Site) -> None:
    site.queue("ask", "s")
    site.work()
    (asked,) = site.bobcat("approvals", "list", "--format", "json").json()
    site.bobcat("approvals", "grant", asked["id"], "--approver", "alice")
    assert site.bobcat("store", "mark-restored").code == 0
    assert site.bobcat("store", "show", "--format", "json").json()["epoch"] == 2
    site.work()
    assert [each["uncertain"] for each in site.bobcat("approvals", "list", "--format", "json").json()] == [True]


@SQLITE
def test_a_backup_is_damaged(site: Site, tmp_path: Path) -> None:
    site.queue("answer", "a")
    assert site.bobcat("runs", "backup", "b.jsonl").code == 0
    data = Path("b.jsonl").read_bytes()
    Path("b.jsonl").write_bytes(data[: len(data) - 20])
    other = tmp_path / "other.db"
    done = site.run("runs", "restore", "b.jsonl", "--store", f"sqlite:///{other}")
    assert (done.code, "(damaged)" in done.err, other.exists()) == (3, True, False)


def test_every_row_of_the_page_is_performed_here() -> None:
    table = PAGE.partition("## Failures")[2]
    rows = [row.strip() for row in re.findall(r"^\| ([^|]+?) \| [^|]+ \| [^|]+ \|$", table, re.MULTILINE)]
    performed = {name.removeprefix("test_").replace("_", " ") for name in globals() if name.startswith("test_")}
    assert len(rows) > 10
    assert [row for row in rows if row != "failure" and row not in performed] == []
