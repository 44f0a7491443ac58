"""`bobcat log` on decision logs, and beside them on audit events as before."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bobcat.bundle.sign import public_key
from bobcat.decision_log import open_log, verify
from unit.cli_runner import Run, runner

KEY = b"k" * 32
EVENT = {"correlation_id": "run-1", "bundle_id": "b", "seq": 0, "kind": "run.started",
         "timestamp": "2026-01-01T00:00:00+00:00", "body": {"task": "t"}}  # fmt: skip


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present directory: a key, its public key, and a file of audit events."""
    monkeypatch.chdir(tmp_path)
    Path("key").write_bytes(KEY)
    Path("pub").write_text(public_key(KEY) + "\n")
    Path("audit.jsonl").write_text(json.dumps(EVENT) + "\n")
    return tmp_path


@pytest.fixture
def filled(target: str) -> str:
    """A log with three records: allowed, denied, and one whose process crashed."""
    decision = {"tool": "fs.write", "args": {"path": "a\x1b[31m"}, "verdict": "allow", "matched_rules": ["write"],
                "reason": "", "principal": {"kind": "user", "id": "ann"}}  # fmt: skip
    with open_log(target) as log:
        log.append("r1", "decision", decision)
        log.append("r1", "outcome", {"status": "ok", "value": 1})
        log.append("r2", "decision", {**decision, "tool": "fs.remove", "verdict": "deny", "reason": "no removal"})
        log.append("r2", "outcome", {"status": "denied"})
        log.append("r3", "decision", {**decision, "principal": {"kind": "agent", "id": "bot"}})
    return target


def ids(out: str) -> list[str]:
    return [json.loads(line)["record_id"] for line in out.splitlines()]


def test_records_are_shown_one_line_each(run: Run, filled: str) -> None:
    done = run("log", filled)
    lines = done.out.splitlines()
    assert done.code == 0
    assert [line.split()[1:4] for line in lines] == [
        ["r1", "ok", "fs.write"], ["r2", "denied", "fs.remove"], ["r3", "uncertain", "fs.write"],
    ]  # fmt: skip
    assert lines[1].endswith("for user:ann -> deny [write] no removal")
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), ["r1", "r2", "r3"]),
        (("--status", "ok", "--status", "uncertain"), ["r1", "r3"]),
        (("--tool", "fs.write"), ["r1", "r3"]),
        (("--principal", "ann"), ["r1", "r2"]),
        (("--principal", "agent:bot"), ["r3"]),
        (("--limit", "2"), ["r2", "r3"]),
        (("--since", "2000-01-01"), ["r1", "r2", "r3"]),
        (("--since", "2200-01-01"), []),
    ],
)
def test_options_choose_records(run: Run, filled: str, options: tuple[str, ...], found: list[str]) -> None:
    done = run("log", filled, "--format", "json", *options)
    assert done.code == 0
    assert ids(done.out) == found


def test_json_has_the_fields_of_the_record(run: Run, filled: str) -> None:
    record = json.loads(run("log", filled, "--format", "json", "--limit", "3").out.splitlines()[0])
    assert record["status"] == "ok"
    assert record["tool"] == "fs.write"
    assert record["args"] == {"path": "a\x1b[31m"}
    assert record["principal"] == {"id": "ann", "kind": "user"}
    assert (record["value"], record["resumes"]) == (1, 0)
    assert record["at"] < record["updated"]


def test_entries_show_the_chain(run: Run, filled: str) -> None:
    done = run("log", filled, "--entries", "--format", "json")
    entries = [json.loads(line) for line in done.out.splitlines()]
    assert [entry["seq"] for entry in entries] == [1, 2, 3, 4, 5]
    assert [entry["previous"] for entry in entries[1:]] == [entry["hash"] for entry in entries[:-1]]
    assert [line.split()[1] for line in run("log", filled, "--entries", "--limit", "2").out.splitlines()] == [
        "#4",
        "#5",
    ]
    assert run("log", filled, "--entries", "--status", "ok").code == 2


AUDIT_OPTIONS = (
    "--verdict=allow", "--denied", "--rule=a", "--run=a", "--kind=a", "--until=2026-01-01", "--decide-again=p.yaml",
    "--exit-code", "--profile=strict", "--min-epoch=1",
)  # fmt: skip


@pytest.mark.parametrize("option", AUDIT_OPTIONS)
def test_options_for_audit_events_are_rejected(run: Run, option: str) -> None:
    with open_log("d.db") as log:
        log.append("r", "decision", {})
    done = run("log", "d.db", option)
    assert done.code == 2
    assert f"`{option.partition('=')[0]}` is for audit events, and `d.db` is a decision log" in done.err


@pytest.mark.parametrize("option", ["--status=ok", "--principal=a", "--limit=1", "--entries"])
def test_options_for_decision_logs_are_rejected_with_audit_events(run: Run, option: str) -> None:
    done = run("log", "audit.jsonl", option)
    assert done.code == 2
    assert f"`{option.partition('=')[0]}` is for a decision log, and `audit.jsonl` has audit events" in done.err
    assert run("log", "-", option, stdin="{}").code == 2


@pytest.mark.parametrize("name", ["verify", "export", "prune", "checkpoint", "proof"])
def test_a_file_with_the_name_of_a_subcommand_is_shown(run: Run, name: str) -> None:
    Path(name).write_bytes(Path("audit.jsonl").read_bytes())
    shown = run("log", "audit.jsonl").out
    assert "run.started" in shown
    for args in ((name,), (name, "--kind", "run.*"), ("--full", name), ("--", name), (f"./{name}",)):
        assert run("log", *args).out == shown
    assert run("log", name, "--help").out.startswith(f"Usage: bobcat log {name}")
    Path(name).unlink()
    done = run("log", name)
    assert done.code == 2
    assert f"Usage: bobcat log {name}" in done.err


def test_a_subcommand_with_an_argument_is_the_subcommand_beside_such_a_file(run: Run) -> None:
    with open_log("verify") as log:
        log.append("r", "decision", {})
    assert "1 entry is intact" in run("log", "verify", "verify").out


def test_verify_exits_with_its_finding(run: Run, filled: str) -> None:
    done = run("log", "verify", filled)
    assert (done.code, "5 entries are intact; no checkpoint" in done.out) == (0, True)
    assert run("log", "verify", filled, "--public-key", "pub").code == 1
    signed = run("log", "checkpoint", filled, "--key", "key")
    assert signed.code == 0
    Path("kept.json").write_text(signed.out)
    args = ("log", "verify", filled, "--public-key")
    assert run(*args, "pub", "--checkpoint", "kept.json").code == 0
    assert run(*args, public_key(KEY), "--format", "json").json()["checkpoints"] == 1
    assert run(*args, public_key(b"o" * 32)).code == 1
    assert run(*args, "zz").code == 3
    assert run("log", "verify", filled, "--checkpoint", "audit.jsonl").code == 3
    assert run("log", "verify", "none.db").code == 3
    assert run("log", "verify").code == 2
    assert ids(run("log", filled, "--format", "json").out) == ["r1", "r2", "r3"]  # a checkpoint is no record


def test_a_damaged_line_is_named(run: Run) -> None:
    with open_log("d.jsonl") as log:
        for number in range(3):
            log.append(f"r{number}", "decision", {"tool": "a"})
    lines = Path("d.jsonl").read_text().splitlines(keepends=True)
    Path("d.jsonl").write_text(lines[0] + lines[1].replace('"a"', '"b"') + lines[2])
    done = run("log", "verify", "d.jsonl")
    assert done.code == 1
    assert done.out == "d.jsonl: line 2 (entry 2): the entry was changed: its content does not have its hash\n"
    damage = run("log", "verify", "d.jsonl", "--format", "json").json()["damage"]
    assert (damage["unit"], damage["place"], damage["seq"]) == ("line", 2, 2)
    Path("d.jsonl").write_text(lines[0] + "x\n")
    done = run("log", "d.jsonl")
    assert done.code == 3
    assert "error[damaged]: `d.jsonl`: line 2 cannot be read" in done.err


def test_export_writes_lines_that_verify(run: Run, filled: str) -> None:
    done = run("log", "export", filled)
    Path("piped.jsonl").write_text(done.out)
    assert run("log", "export", filled, "-o", "out.jsonl").code == 0
    assert Path("out.jsonl").read_text() == done.out
    assert stat.S_IMODE(Path("out.jsonl").stat().st_mode) == 0o600
    assert (verify("out.jsonl").ok, verify("out.jsonl").entries) == (True, 5)
    assert ids(run("log", "piped.jsonl", "--format", "json").out) == ["r1", "r2", "r3"]
    assert run("log", "export", filled, "-o", "no/where.jsonl").code == 3
    with open_log("live.jsonl"):
        pass
    assert run("log", "export", filled, "-o", "live.jsonl").code == 2


def test_prune_removes_and_says_how_many(run: Run, filled: str) -> None:
    done = run("log", "prune", filled, "--before", "2200-01-01", "--key", "key")
    assert done.code == 0
    assert "removed 5 entries, 1 of them kept for records that are not over" in done.out
    assert ids(run("log", filled, "--format", "json").out) == ["r3"]
    done = run("log", "verify", filled, "--public-key", "pub")
    assert (done.code, "2 entries are intact, after 5 pruned ones" in done.out) == (0, True)
    assert run("log", "prune", filled, "--before", "2000-01-01", "--format", "json").json()["removed"] == 0
    assert run("log", "prune", filled).code == 2


def test_proofs_are_printed(run: Run, filled: str) -> None:
    proof = run("log", "proof", filled, "--entry", "2", "--size", "4").json()
    assert (proof["entry"]["seq"], proof["size"], len(proof["path"])) == (2, 4, 2)
    assert run("log", "proof", filled, "--consistency", "3").json()["size"] == 5
    assert run("log", "proof", filled, "--entry", "9").code == 3
    assert run("log", "proof", filled).code == 2
    assert run("log", "proof", filled, "--entry", "1", "--consistency", "1").code == 2


@pytest.mark.parametrize("options", [(), ("--entries",)])
def test_follow_shows_later_entries(target: str, options: tuple[str, ...]) -> None:
    with open_log(target) as log:
        log.append("r1", "decision", {"tool": "a"})
        command = [sys.executable, "-m", "bobcat", "log", target, "--follow", *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
        assert process.stdout is not None
        assert "r1" in process.stdout.readline()
        log.append("r1", "outcome", {"status": "ok"})
        assert "ok" in process.stdout.readline()
        log.append("r2", "decision", {"tool": "a"})
        assert "r2" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.stdout.close()
    assert process.wait(20) == 0


def test_the_help_names_both_kinds_and_the_subcommands(run: Run) -> None:
    out = run("log", "--help").out
    assert out.startswith("Usage: bobcat log ")
    for text in ("decision log", "audit events", "--entries", "--decide-again", "verify", "checkpoint"):
        assert text in out


def test_audit_events_in_a_pipe_are_shown_whole(run: Run) -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(Path("audit.jsonl").read_bytes() * 2))
    writer.start()
    shown = run("log", "pipe").out
    writer.join()
    assert shown == run("log", "audit.jsonl").out * 2


def test_subcommands_and_their_options_are_completed() -> None:
    def completed(words: str) -> str:
        count = str(len(words.split()) - (not words.endswith(" ")))
        environment = {**os.environ, "_BOBCAT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
        code = "from bobcat.cli.main import main; import sys; sys.argv[0] = 'bobcat'; main()"
        command = [sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, env=environment).stdout

    assert completed("bobcat log ver") == "plain,verify\nfile,ver\n"
    assert "plain,--status" in completed("bobcat log --st")
    assert "plain,--public-key" in completed("bobcat log verify --pub")
