"""Real processes, killed and stopped at every write of a run: three payments, made once each, whatever happens.

The workers are in `killed_workers.py`. The last test is the experiment of `docs/explanation/durability.md`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

SCRIPT = Path(__file__).with_name("killed_workers.py")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and prctl")


def experiment(how: str, directory: Path, url: str | None = None) -> dict[str, Any]:
    """The actions of the workers, in SQLite or another store."""
    url = url or f"sqlite:///{directory / 'runs.db'}"
    command = [sys.executable, str(SCRIPT), how, url, str(directory), f"{uuid4().hex[:8]}-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_workers_that_are_killed_at_any_write_pay_once(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres_url") if store == "postgres" else None
    found = experiment("kill" if url is None else "kill_some", tmp_path, url)
    assert len(found) >= 9
    assert {run_id: each["paid"] for run_id, each in found.items() if each["paid"] != [1, 1, 1]} == {}
    assert {(each["a"], each["b"]) for each in found.values()} == {("succeeded", None)}


def test_workers_that_are_stopped_at_any_write_do_nothing_when_they_wake(tmp_path: Path) -> None:
    found = experiment("stop", tmp_path)
    assert {run_id: each["paid"] for run_id, each in found.items() if each["paid"] != [1, 1, 1]} == {}
    assert {each["b"] for each in found.values()} == {"succeeded"}
    assert {each["a"] for each in found.values()} <= {"superseded", "succeeded", "failed"}
    finished = [run_id for run_id, each in found.items() if each["a"] == "succeeded"]
    assert len(finished) < len(found) / 3, "a worker stopped before its run was its own, or after it was over"


def test_a_worker_that_wakes_inside_a_tool_can_act_and_a_key_makes_it_harmless(tmp_path: Path) -> None:
    found = experiment("freeze", tmp_path)
    assert found == {
        "unsafe": {"paid": [2, 1, 1], "a": "superseded", "b": "succeeded"},
        "keyed": {"paid": [1, 1, 1], "a": "superseded", "b": "succeeded"},
    }
