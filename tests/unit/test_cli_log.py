"""`bobcat log`: audit lines filtered, followed and decided again."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import AuditEvent, FinalAnswer, ToolCall, ToolSet, compile_policy, jsonl_sink, run_agent, tool
from bobcat.cli.log import line_of
from unit.cli_runner import Done, Run, runner

POLICY = """
rules:
  - {id: no-rm, match: {tool: sh, args.cmd.starts_with: rm}, decision: deny, reason: not that, priority: 5}
  - {id: sh, match: {tool: sh}, decision: allow}
  - {id: read, match: {tool: read}, decision: allow}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def lines_of(*calls: ToolCall, correlation_id: str = "run-1", policy: str = POLICY, args: Any = "plain") -> str:
    """The audit of a run."""

    @tool()
    async def sh(cmd: str) -> str:
        return "done"

    @tool()
    async def read(path: str) -> str:
        return "text"

    class Agent:
        async def step(self, conversation: Any) -> Any:
            done = sum(message.role == "tool" for message in conversation)
            return calls[done] if done < len(calls) else FinalAnswer("over")

    file = io.StringIO()
    asyncio.run(
        run_agent(
            Agent(), "tidy up", tools=ToolSet.from_functions(sh, read), policy=compile_policy(policy),
            sinks=[jsonl_sink(file, args=args)], correlation_id=correlation_id,
        )
    )  # fmt: skip
    return file.getvalue()


LS, RM, READ = ToolCall("sh", {"cmd": "ls"}), ToolCall("sh", {"cmd": "rm -rf /"}), ToolCall("read", {"path": "a"})


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    path.write_text(lines_of(LS, RM, READ, ToolCall("nope", {})) + lines_of(RM, correlation_id="run-2#0a1b2c3d"))
    return path


def shown(done: Done) -> list[str]:
    """The kinds and steps of the events that were shown as JSON."""
    events = [json.loads(line) for line in done.out.splitlines()]
    return [f"{event['kind']} {event['body'].get('seq', '')}".strip() for event in events]


def filtered(run: Run, *options: str) -> list[str]:
    done = run("log", "audit.jsonl", "--format", "json", *options)
    assert (done.code, done.err) == (0, "")
    return shown(done)


def test_every_event_is_one_line(run: Run, audit: Path) -> None:
    done = run("log", str(audit))
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) == len(audit.read_text().splitlines())
    assert 'run-1 #0 run.started task="tidy up" principal_id="anonymous" environment="dev" tools=[read, sh]' in lines[0]
    assert any('step 1: sh {"cmd": "rm -rf /"} -> deny [no-rm] not that' in line for line in lines)
    assert any("step 3: nope {} -> deny (unknown_tool) unknown tool: 'nope'" in line for line in lines)


def test_json_output_is_the_events_again(run: Run, audit: Path) -> None:
    done = run("log", "audit.jsonl", "--format", "json")
    assert done.out == audit.read_text()


def test_events_of_a_tool_are_those_of_its_steps(run: Run, audit: Path) -> None:
    assert filtered(run, "--tool", "read") == [
        "step.proposed 2", "policy.evaluated 2", "action.started 2", "action.completed 2",
    ]  # fmt: skip
    assert "policy.evaluated 3" in filtered(run, "--tool", "nope", "--tool", "read")


def test_decisions_are_found_by_verdict_and_rule(run: Run, audit: Path) -> None:
    assert filtered(run, "--verdict", "deny") == ["policy.evaluated 1", "policy.evaluated 3", "policy.evaluated 0"]
    assert filtered(run, "--rule", "no-rm") == ["policy.evaluated 1", "policy.evaluated 0"]
    assert filtered(run, "--rule", "no-rm", "--verdict", "allow") == []
    assert filtered(run, "--denied", "--run", "run-2") == ["policy.evaluated 0", "action.denied 0"]


def test_runs_are_found_by_their_id_and_attempts_by_theirs(run: Run, audit: Path) -> None:
    assert filtered(run, "--run", "run-2", "--kind", "run.*") == ["run.started", "run.succeeded"]
    assert filtered(run, "--correlation-id", "run-2") == []
    assert len(filtered(run, "--correlation-id", "run-2#0a1b2c3d")) == 6
    assert filtered(run, "--run", "run") == []


def test_events_are_found_by_time(run: Run, tmp_path: Path) -> None:
    event = {"correlation_id": "c", "bundle_id": "b", "seq": 0, "kind": "run.started", "body": {}}
    times = ["2026-01-31T11:00:00+00:00", "2026-01-31T13:00:00+01:00", "2026-01-31T12:00:01", "2026-02-01T00:00:00Z"]
    (tmp_path / "audit.jsonl").write_text("".join(json.dumps({**event, "timestamp": at}) + "\n" for at in times))
    assert len(filtered(run, "--since", "2026-01-31T12:00:00Z")) == 3
    assert len(filtered(run, "--since", "2026-01-31T12:00:00Z", "--until", "2026-02-01")) == 2
    assert run("log", "audit.jsonl", "--since", "yesterday").code == 2
    assert run("log", "audit.jsonl", "--since", "99999999w").code == 2
    assert len(filtered(run, "--since", "5000w")) == 4  # 96 years ago
    assert filtered(run, "--until", "5000w") == []


def test_damaged_lines_are_reported_with_their_numbers_and_skipped(run: Run, audit: Path) -> None:
    good = audit.read_text().splitlines()
    bad = ["{", "[]", '{"kind": "x"}', "\x1b[2Jno", good[0].replace('"seq":0', '"seq":"0"'), '{"a":' * 5000]
    audit.write_text("\n".join([good[0], *bad, "", good[1]]) + "\n")
    done = run("log", "audit.jsonl")
    assert done.code == 0
    assert len(done.out.splitlines()) == 2
    reported = done.err.splitlines()
    assert [line.split(" ")[0] for line in reported] == [f"audit.jsonl:{number}:" for number in range(2, 8)]
    assert "\x1b" not in done.err
    assert run("log", "audit.jsonl", "--exit-code").code == 1


def test_bytes_that_are_not_utf8_are_a_damaged_line(run: Run, audit: Path) -> None:
    audit.write_bytes(b"\xff\xfe\n" + audit.read_bytes())
    done = run("log", "audit.jsonl", "--kind", "run.started")
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    assert done.err.startswith("audit.jsonl:1: damaged line: ")


def test_a_dash_is_standard_input(run: Run, audit: Path) -> None:
    done = run("log", "-", "--denied", stdin=audit.read_text() + "{")
    assert len(done.out.splitlines()) == 5
    assert done.err.startswith("<stdin>:")


def test_a_file_that_is_not_there_cannot_be_read(run: Run) -> None:
    for options in ((), ("--follow",)):
        assert run("log", "none.jsonl", *options).code == 3


def test_long_values_say_how_much_is_hidden(run: Run, tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").write_text(lines_of(ToolCall("sh", {"cmd": "x" * 1000})))
    assert "more characters]" in run("log", "audit.jsonl", "--verdict", "allow").out
    assert "x" * 1000 in run("log", "audit.jsonl", "--verdict", "allow", "--full").out


def test_decisions_are_made_again_and_differences_shown(run: Run, audit: Path, tmp_path: Path) -> None:
    (tmp_path / "same.yaml").write_text(POLICY)
    (tmp_path / "other.yaml").write_text(POLICY.replace("starts_with: rm", "starts_with: dd"))
    done = run("log", "audit.jsonl", "--decide-again", "same.yaml")
    assert (done.code, done.out) == (0, "")
    assert done.err == "4 decisions are the same, 0 differ; 1 were refused by the run, not by a policy\n"
    done = run("log", "audit.jsonl", "--decide-again", "other.yaml")
    assert done.code == 1
    assert done.err == (
        "2 decisions are the same, 2 differ; 1 were refused by the run, not by a policy; 4 are from another policy\n"
    )
    assert done.out.count("    decided now: allow [sh]") == 2
    done = run("log", "audit.jsonl", "--decide-again", "other.yaml", "--format", "json", "--run", "run-1")
    (line,) = done.out.splitlines()
    assert json.loads(line)["decided_again"]["matched_rules"] == ["sh"]


def test_decisions_of_a_bundle_are_made_again(run: Run, audit: Path, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POLICY)
    assert run("compile", "p.yaml", "-o", "p.bobcat").code == 0
    assert run("log", "audit.jsonl", "--decide-again", "p.bobcat").code == 0


def test_decisions_that_cannot_be_made_again_are_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POLICY)
    (tmp_path / "audit.jsonl").write_text(lines_of(LS, args="digest"))
    done = run("log", "audit.jsonl", "--decide-again", "p.yaml")
    assert (done.code, done.err) == (0, "0 decisions are the same, 0 differ; 1 not evaluated again (digested)\n")


def test_a_changed_line_is_a_difference(run: Run, audit: Path, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POLICY)
    audit.write_text(audit.read_text().replace('{"cmd":"ls"}', '{"cmd":"rm x"}'))
    assert run("log", "audit.jsonl", "--decide-again", "p.yaml").code == 1


def test_a_file_is_followed_through_growth_and_replacement(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    lines = lines_of(LS).splitlines(keepends=True)
    path.write_text(lines[0] + lines[1][:10])
    code = "from bobcat.cli.main import main; main()"
    command = [sys.executable, "-c", code, "log", str(path), "--follow", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == lines[0]
            with path.open("a") as file:
                file.write(lines[1][10:])
            assert process.stdout.readline() == lines[1]
            path.rename(tmp_path / "audit.jsonl.1")
            time.sleep(0.3)
            path.write_text(lines[2])
            assert process.stdout.readline() == lines[2]
            process.send_signal(2)
            assert process.wait(20) == 0
        finally:
            process.kill()


SHORT = st.text(max_size=8)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | SHORT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHORT, inner, max_size=3),
    max_leaves=4,
)
KEYS = ["seq", "tool", "args", "verdict", "reason", "matched_rules", "code", "tools", "task", "context", "args_sha256"]
NOTHING = compile_policy("rules: []")
BODY = st.dictionaries(st.sampled_from(KEYS) | SHORT, ANY, max_size=6)


@given(kind=st.sampled_from(["policy.evaluated", "run.started", "action.denied"]) | SHORT, body=BODY, name=SHORT)
def test_a_line_for_people_shows_nothing_unsafe(kind: str, body: dict[str, Any], name: str) -> None:
    from datetime import UTC, datetime

    line = line_of(AuditEvent(name, "b", 0, kind, datetime(2026, 1, 31, tzinfo=UTC), body))
    assert line.isprintable()


@given(body=BODY)
def test_any_body_can_be_filtered_and_decided_again(body: dict[str, Any]) -> None:
    from datetime import UTC, datetime

    from bobcat.cli.log import Filter, ReEvaluation

    event = AuditEvent("c", "b", 0, "policy.evaluated", datetime(2026, 1, 31, tzinfo=UTC), body)
    every = frozenset({"x"})
    Filter(every, every, True, every, ("x",), every, ("x",), None, None).keeps(event)
    Filter(frozenset(), every, True, every, (), frozenset(), (), None, None).keeps(event)
    ReEvaluation(NOTHING).check(event, "text", None)
