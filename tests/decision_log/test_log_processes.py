"""Threads and processes that share a log: one unbroken chain, nothing lost, also when some are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bobcat.decision_log import open_log, verify
from decision_log.appending import start
from services import Server

PROCESSES, THREADS, RECORDS = 4, 8, 6


def acknowledged(process: subprocess.Popen[str], *, until: int | None = None) -> list[str]:
    """The acknowledged entries of a process, which is killed after `until` of them."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if until is not None and len(lines) == until:
            process.send_signal(signal.SIGKILL)
    process.stdout.close()
    code = process.wait()
    assert code == (0 if until is None else -signal.SIGKILL)
    return [line for line in lines if line.endswith(("decision", "outcome"))]


def test_threads_of_processes_leave_one_chain_and_one_record_each(target: str) -> None:
    started = [start(target, f"p{number}", threads=THREADS, count=RECORDS) for number in range(PROCESSES)]
    lines = [line for process in started for line in acknowledged(process)]
    report = verify(target)
    assert report.ok
    assert report.entries == len(lines) == PROCESSES * THREADS * RECORDS * 2
    with open_log(target) as log:
        records = log.records()
        assert [record.status for record in records] == ["ok"] * (PROCESSES * THREADS * RECORDS)
        assert sorted(f"{entry.record_id} {entry.kind}" for entry in log.entries()) == sorted(lines)


@pytest.mark.parametrize("until", [1, 10, 33])
def test_killed_writers_lose_nothing_that_was_acknowledged(target: str, until: int) -> None:
    victims = [start(target, f"v{number}", threads=3, count=20_000) for number in range(2)]
    survivor = start(target, "s", threads=2, count=RECORDS)
    lines = [line for victim in victims for line in acknowledged(victim, until=until)]
    lines += acknowledged(survivor)
    with open_log(target) as log:  # an append repairs what a crash left
        log.append("last", "outcome", {"status": "ok"})
        stored = {f"{entry.record_id} {entry.kind}" for entry in log.entries()}
    assert stored >= set(lines)
    assert len(stored) <= len(lines) + 1 + 2 * 3  # each thread of a victim may have been about to print one
    assert verify(target).ok


@pytest.mark.parametrize("until", [9, 31, 47])
def test_a_writer_that_is_killed_while_it_prunes_leaves_a_log(target: str, until: int) -> None:
    acknowledged(start(target, "v", threads=2, count=20_000, prune=True), until=until)
    with open_log(target) as log:
        log.append("last", "outcome", {"status": "ok"})
        assert log.record("last") is not None
    report = verify(target)
    assert report.ok
    assert report.last >= until


def test_a_reader_sees_whole_entries_while_others_append_and_prune(target: str) -> None:
    open_log(target).close()
    process = start(target, "p", threads=2, count=40, prune=True)
    reports = []
    while process.poll() is None:
        reports.append(verify(target))
        time.sleep(0.02)
    acknowledged(process)
    assert [report.damage for report in reports if not report.ok] == []
    assert verify(target).last >= 160


INCOMPLETE = b'{"at":"2026-01-01T00:00:00.000000Z","body":{"a'


def test_an_incomplete_last_line_is_reported_and_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with open_log(path) as log:
        log.append("r", "decision", {})
        with path.open("ab") as file:
            file.write(INCOMPLETE)
        report = verify(path)
        assert report.ok
        assert report.notes == ("line 2 is incomplete: it was never acknowledged",)
        assert [entry.seq for entry in log.entries()] == [1]
        log.append("r", "outcome", {"status": "ok"})
    assert (tmp_path / "log.jsonl-torn").read_bytes() == INCOMPLETE + b"\n"
    assert (tmp_path / "log.jsonl-torn").stat().st_mode & 0o777 == 0o600
    assert (verify(path).ok, verify(path).notes, verify(path).entries) == (True, (), 2)


def test_lines_behind_the_head_are_taken_up(tmp_path: Path) -> None:
    path, head = tmp_path / "log.jsonl", tmp_path / "log.jsonl-head"
    with open_log(path) as log:
        log.append("r", "decision", {})
        before = head.read_bytes()
        log.append("r", "outcome", {"status": "ok"})
        log.append("s", "decision", {})
    head.write_bytes(before)  # as after a power cut: the head is not synced
    assert verify(path).ok
    with open_log(path) as log:
        assert log.append("s", "outcome", {"status": "ok"}).seq == 4
    assert (verify(path).ok, verify(path).entries) == (True, 4)


LIMITED = """
import resource, sys
from bobcat.decision_log import DecisionLogError, open_log
log = open_log(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
acknowledged, codes = 0, []
for number in range(200):
    try:
        log.append(f"r{number}", "decision", {"text": "x" * 700})
        acknowledged += 1
    except DecisionLogError as error:
        codes.append(error.code)
        if len(codes) == 3:
            break
print(acknowledged, *codes, flush=True)
import os
os._exit(0)  # as a crash: nothing is written at the end
"""


@pytest.mark.parametrize("limit", [50_000, 66_666, 90_001])
def test_a_full_disk_raises_and_leaves_whole_entries(file_target: str, limit: int) -> None:
    command = [sys.executable, "-c", LIMITED, file_target, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    acknowledged, *codes = done.stdout.split()
    assert len(codes) == 3, done
    assert set(codes) <= {"full", "unavailable"}
    report = verify(file_target)
    assert (report.ok, report.notes) == (True, ())
    assert report.entries == int(acknowledged) > 0
    with open_log(file_target) as log:
        assert log.append("r", "decision", {}).seq == int(acknowledged) + 1
    assert verify(file_target).ok


def test_an_append_reconnects_to_a_server_that_crashed(own_postgres: Server) -> None:
    import psycopg

    with psycopg.connect(own_postgres.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE crashed")
    url = own_postgres.url.replace("/postgres", "/crashed")
    with open_log(url) as log:
        log.append("r", "decision", {})
        for number in range(3):
            own_postgres.crash()
            log.append(f"r{number}", "outcome", {"status": "ok"})
            own_postgres.crash()
            assert len(list(log.entries())) == number + 2
    assert verify(url).ok


def test_a_log_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with open_log(path) as log:
        log.append("r", "decision", {})
        os.rename(path, tmp_path / "moved")
        with pytest.raises(OSError, match="is missing, and its head names 1 entries"):
            log.append("r", "outcome", {"status": "ok"})
