"""Exactly one record per submission: from threads and processes at once, and from processes that are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import campaign
from bobcat.decision_log import open_log

HERE = Path(__file__).parent
STATUSES = {"ok": 2, "denied": 2, "previewed": 1, "failed": 1, "unknown": 1, "invalid": 1}
"""Statuses of one round of the calls of `submitter`."""


def test_threads_and_processes_leave_exactly_one_record_per_submission(tmp_path: Path) -> None:
    log, threads, count = str(tmp_path / "log.db"), 8, 64
    command = [sys.executable, str(HERE / "submitter.py"), log, str(threads), str(count)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    ids = [line for process in processes for line in process.communicate(timeout=300)[0].split()]
    assert [process.returncode for process in processes] == [0] * 4
    with open_log(log) as entries:
        records = entries.records()
        assert sorted(record.record_id for record in records) == sorted(ids)
    assert len(set(ids)) == 4 * count
    for status, share in STATUSES.items():
        assert sum(record.status == status for record in records) == 4 * count * share // 8


def test_a_killed_submission_is_neither_lost_nor_done_twice(tmp_path: Path) -> None:
    seed = random.Random(7)
    store, log, payments = f"sqlite:///{tmp_path}/gate.db", str(tmp_path / "log.db"), tmp_path / "payments"
    keys = [f"order-{number}" for number in range(campaign.rounds(3))]
    killed = 0
    for key in keys:
        for attempt in range(20):
            longest = 0.01 * 2 ** min(attempt, 8)  # the first ones are killed on any machine, the last ones on none
            code, shown = _pay([store, log, str(payments), key], seed.uniform(0.0, longest))
            killed += code != 0
            if code == 0 and shown == "ok paid 40":
                break
        else:
            raise AssertionError(f"{key} never ended: {shown}")
    assert killed
    assert sorted(payments.read_text().split()) == sorted(keys)
    with open_log(log) as entries:
        assert sorted(record.status for record in entries.records()) == ["ok"] * len(keys)


def _pay(arguments: list[str], seconds: float) -> tuple[int, str]:
    """Submit a payment in a process of its own, and kill that after some seconds, unless it has ended."""
    command = [sys.executable, str(HERE / "payer.py"), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.write("\n")
        process.stdin.flush()
        time.sleep(seconds)
        process.kill()
        shown = process.stdout.read().strip()
    return process.returncode if not shown else 0, shown
