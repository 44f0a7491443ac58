"""The hook's log and approvals in the real hosts: a record for each call, a refusal where it cannot be written."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from hooks.real.programs import Scratch, mounts


def test_each_call_of_a_session_has_a_record(scratch: Scratch) -> None:
    log = scratch.project / "policy.jsonl"
    scratch.install("--log", str(log))
    scratch.run("touch allowed", "touch denied", "touch moved")
    assert scratch.files() == {"allowed", "changed"}
    shown = scratch.bobcat("log", str(log), "--format", "json")
    records = [json.loads(line) for line in shown.stdout.splitlines()]
    calls = [record for record in records if record["tool"] in ("Bash", "run_shell_command")]
    assert [record["status"] for record in calls] == ["permitted", "denied", "permitted"], shown.stdout
    assert calls[2]["args"]["command"] == "touch changed"
    assert scratch.bobcat("log", "verify", str(log)).returncode == 0


@pytest.mark.parametrize("place", ["full", "read-only", "not a directory"])
def test_a_log_that_cannot_be_written_refuses_everywhere(scratch: Scratch, place: str) -> None:
    directory = scratch.bin / "logs"
    directory.mkdir()
    quoted = shlex.quote(str(directory))
    scratch.install("--log", str(directory / "log.jsonl"))
    prepare = {
        "full": f"mount -t tmpfs -o size=4k none {quoted} && {{ cat /dev/zero > {quoted}/x 2>/dev/null; true; }}",
        "read-only": f"mount --bind {quoted} {quoted} && mount -o remount,bind,ro {quoted}",
        "not a directory": f"rm -rf {quoted} && touch {quoted}",
    }[place]
    if place != "not a directory" and not mounts():
        pytest.skip("needs `unshare --mount`")
    start = ["unshare", "--mount", "--map-root-user"] if place != "not a directory" else []
    scratch.around = [*start, "sh", "-c", f'{prepare} && exec "$@"', "sh"]
    ran = scratch.run("touch ran")
    assert (scratch.files(), ran.finished) == (set(), True), ran


def test_a_damaged_log_refuses_everywhere_and_doctor_says_so(scratch: Scratch) -> None:
    log = scratch.bin / "log.jsonl"
    scratch.install("--log", str(log))
    log.write_text("damaged\n")
    scratch.run("touch ran")
    assert (scratch.files(), scratch.gate()["gate"]) == (set(), "refuses")


def test_a_granted_approval_permits_the_call_once(scratch: Scratch) -> None:
    store = f"sqlite:///{scratch.bin}/approvals.db"
    scratch.install("--approvals", store)
    assert scratch.gate()["gate"] == "on"
    scratch.run("touch asked")
    assert scratch.files() == set()
    listed = scratch.bobcat("approvals", "list", "--store", store).stdout
    (question,) = re.findall("^[0-9a-f]{20}", listed, re.MULTILINE)
    granted = scratch.bobcat("approvals", "grant", question, "--approver", "alice", "--store", store)
    assert granted.returncode == 0, granted.stderr
    scratch.run("touch asked")
    assert scratch.files() == {"asked"}
    (scratch.project / "asked").unlink()
    scratch.run("touch asked")
    assert scratch.files() == set()
