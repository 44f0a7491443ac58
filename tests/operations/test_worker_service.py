"""`bobcat worker` as an operator runs it: probes, metrics, the list of workers, drain, retention, and its errors."""

from __future__ import annotations

import json
import signal
import socket
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bobcat.workers import Workers
from operations.conftest import APP, Site
from operations.worker_fleet import Fleet, failed_for_good, until, workers_of


def test_a_worker_is_ready_until_it_drains_and_alive_until_it_ends(site: Site, fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "go"
    site.queue("wait", "w", "--payload", json.dumps({"file": str(file)}))
    worker = fleet.worker("--grace", "20")
    until(worker.is_ready, "readiness")
    until(Path(f"{file}.waiting").exists, "the run")
    worker.process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    until(lambda: not worker.is_ready(), "the end of readiness", 2)
    assert time.monotonic() - began < 2
    assert worker.get("/healthz")[0] == 200
    until(
        lambda: [(each["state"], each["held"]) for each in workers_of(site)] == [("draining", ["w"])], "its heartbeat"
    )
    file.touch()
    _, reported = worker.process.communicate(timeout=30)
    assert worker.process.returncode == 0, reported
    assert site.ids("--status", "succeeded") == ["w"], "it had its grace"
    assert workers_of(site) == []


def test_a_run_that_outlasts_the_grace_is_released_within_the_time_of_kubernetes(
    site: Site, fleet: Fleet, tmp_path: Path
) -> None:
    site.queue("wait", "w", "--payload", json.dumps({"file": str(tmp_path / "never")}))
    worker = fleet.worker("--grace", "0.5")
    until(Path(f"{tmp_path / 'never'}.waiting").exists, "the run")
    began = time.monotonic()
    reported = worker.stop()
    assert worker.process.returncode == 0, reported
    assert time.monotonic() - began < 10
    assert site.ids("--status", "queued") == ["w"]


def test_the_list_of_workers_says_who_lives_and_what_each_holds(site: Site, fleet: Fleet, tmp_path: Path) -> None:
    site.queue("wait", "w", "--payload", json.dumps({"file": str(tmp_path / "never")}))
    first = fleet.worker("--owner", "first", "--lease-seconds", "1.5", "--queues", "wait")
    until(Path(f"{tmp_path / 'never'}.waiting").exists, "the run")
    second = fleet.worker("--owner", "second", "--queues", "answer", "--concurrency", "7")
    until(second.is_ready, "the second worker")
    until(lambda: any(each["held"] for each in workers_of(site)), "a heartbeat")
    listed = {each["name"]: each for each in workers_of(site)}
    assert listed["first"]["state"] == listed["second"]["state"] == "live"
    assert (listed["first"]["held"], listed["second"]["held"]) == (["w"], [])
    assert (listed["first"]["kinds"], listed["second"]["kinds"]) == (["wait"], ["answer", "answer@2"])
    assert listed["first"]["pid"] == first.process.pid
    assert listed["second"]["concurrency"] == 7
    first.process.kill()
    first.process.wait()
    until(lambda: {each["name"]: each["state"] for each in workers_of(site)}["first"] == "dead", "its death", 10)
    shown = site.bobcat("workers", "list").out.splitlines()
    assert [line.split()[:2] for line in shown] == [["first", "dead"], ["second", "live"]]


def test_metrics_count_what_a_worker_does_and_what_waits(site: Site, fleet: Fleet) -> None:
    for number in range(3):
        site.queue("answer", f"a-{number}")
    site.queue("fail", "f")
    site.queue("ask", "s")
    worker = fleet.worker()
    until(lambda: worker.metric("bobcat_worker_attempts_total") == 6, "six attempts")
    _, text = worker.get("/metrics")
    assert 'bobcat_worker_attempts_total{kind="answer",outcome="succeeded"} 3' in text
    assert 'bobcat_worker_attempts_total{kind="fail",outcome="dead"} 1' in text
    assert 'bobcat_worker_attempts_total{kind="fail",outcome="queued"} 1' in text
    assert 'bobcat_worker_attempts_total{kind="ask",outcome="suspended"} 1' in text
    assert 'bobcat_runs{status="suspended"} 1' in text
    assert "bobcat_store_up 1" in text
    assert worker.metric("bobcat_approvals_pending") == 1
    assert worker.metric("bobcat_approvals_oldest_seconds") > 0
    assert worker.metric("bobcat_worker_attempt_seconds_count") == 6
    assert worker.metric("bobcat_worker_records_total") >= 10
    assert worker.metric("bobcat_worker_append_seconds_count") > 0
    site.queue("answer", "later", "--at", "2999-01-01T00:00:00")
    site.queue("answer", "elsewhere", "--version", "9")
    assert worker.metric("bobcat_queued_runs") == 2
    assert worker.metric("bobcat_queue_due_runs") == 1
    until(lambda: worker.metric("bobcat_queue_oldest_seconds") > 1, "an age", 10)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_the_log_is_json_when_asked_for(site: Site, fleet: Fleet) -> None:
    site.queue("fail", "f", "--tenant", "acme\nforged")
    worker = fleet.worker("--log-format", "json", "--log-level", "info")
    until(lambda: failed_for_good(site, "f"), "the failure")
    lines = [json.loads(line) for line in worker.stop().splitlines() if line.startswith("{")]
    (failed,) = [line for line in lines if line["level"] == "error"]
    assert (failed["run_id"], failed["tenant"], failed["job"]) == ("f", "acme\nforged", "fail")
    assert "the model is away" in failed["error"]
    assert "ConnectionError" in failed["traceback"]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)


def test_retention_removes_old_runs(site: Site, fleet: Fleet) -> None:
    site.queue("answer", "done")
    site.queue("fail", "failed")
    site.work()
    worker = fleet.worker("--retention", "succeeded=0s,failed=90d")
    until(lambda: site.ids() == ["failed"], "the removal")
    until(lambda: worker.metric("bobcat_worker_pruned_runs_total") == 1, "the count")


@pytest.mark.parametrize(
    ("retention", "problem"),
    [({"queued": timedelta(1)}, "not for `queued`"), ({"failed": 30}, "must be a positive"),
     ({"failed": timedelta(-1)}, "must be a positive")],
)  # fmt: skip
def test_an_app_with_an_invalid_retention_is_refused(retention: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Workers(retention=retention)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (["--health", "x"], "`x` is not an address"),
        (["--health", "127.0.0.1:99999"], "is not an address"),
        (["--health", ":80"], "is not an address"),
        (["--queues", "answer,absent"], "this app has no run named `absent`; it has `answer`"),
        (["--queues", ""], "an empty name"),
        (["--retention", "queued=3d"], "not for `queued`"),
        (["--retention", "soon"], "`soon` is not a time span"),
        (["--retention", "failed=1d,failed=2d"], "`failed` has two times"),
        (["--grace", "-1"], "--grace"),
        (["--pool-size", "1"], "--pool-size"),
        (["--metrics", "statsd"], "--metrics"),
    ],
)
def test_options_that_mean_nothing_are_usage_errors(site: Site, options: list[str], reported: str) -> None:
    done = site.bobcat("worker", str(APP), "--until-idle", *options)
    assert (done.code, done.out) == (2, "")
    assert reported in done.err


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_pool_of_connections_is_for_servers(site: Site) -> None:
    done = site.bobcat("worker", str(APP), "--until-idle", "--pool-size", "4")
    assert (done.code, "only servers have a pool" in done.err) == (3, True)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_an_address_in_use_is_reported(site: Site) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = site.bobcat("worker", str(APP), "--until-idle", "--health", address)
    assert (done.code, done.err) == (3, f"error: --health {address}: address already in use\n")


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("import absent_module\n", "No module named 'absent_module'"),
        ("workers = 3\n", "`workers` is a int"),
        ("def broken(:\n", "broken(:"),
        ("raise SystemExit(9)\n", "SystemExit: 9"),
        (
            "from bobcat.workers import Workers\nworkers = Workers()\n"
            "@workers.run('a', cron='61 * * * *')\ndef a(job): ...\n",
            "`61`",
        ),
    ],
)
def test_an_app_that_does_not_load_is_reported_without_a_traceback(
    site: Site, tmp_path: Path, text: str, reported: str
) -> None:
    app = tmp_path / "app.py"
    app.write_text(text)
    done = site.bobcat("worker", str(app), "--until-idle")
    assert (done.code, done.out) == (3, "")
    assert reported in done.err


def test_a_run_whose_action_may_have_happened_is_counted_until_a_person_answers(
    site: Site, fleet: Fleet, tmp_path: Path
) -> None:
    site.queue("unsafe", "u", "--payload", json.dumps({"file": str(tmp_path / "never")}))
    first = fleet.worker("--lease-seconds", "1")
    until(Path(f"{tmp_path / 'never'}.waiting").exists, "the run")
    first.process.kill()
    first.process.wait()
    second = fleet.worker("--lease-seconds", "1")
    until(lambda: site.ids("--status", "suspended") == ["u"], "the question")
    assert second.metric("bobcat_uncertain_runs") == 1
    (asked,) = site.bobcat("approvals", "list", "--format", "json").json()
    site.bobcat("approvals", "deny", asked["id"], "--approver", "alice")
    until(lambda: second.metric("bobcat_uncertain_runs") == 0, "the answer")
