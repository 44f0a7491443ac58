"""`bobcat trace-can`: output, formats and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.cli_runner import Run, runner

POLICY = """
rules:
  - {id: reads, match: {tool: read}, decision: allow}
  - {id: send, match: {tool: send, not: {run.after: {tool: read, args.path.starts_with: secrets/}}}, decision: allow}
  - {id: pay, match: {tool: pay, run.count.pay.lt: 2}, decision: allow}
  - {id: deploy, match: {tool: deploy, run.formerly: {result: {tool: build, result.exit_code: 0}}}, decision: allow}
  - {id: build, match: {tool: build}, decision: approve_required}
defaults: {on_missing_shadow: deny}
"""


UNKNOWN = """
rules:
  - {id: fix, match: {tool: read, args.n.gt: 1}, decision: transform, transform: {jsonpath: $.args.n, set: 1}}
  - {id: send, match: {tool: send, run.after: {tool: read, args.n.gt: 1}}, decision: allow}
defaults: {on_missing_shadow: deny}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("bad.yaml").write_text("rules: [{match: {}}]")
    Path("unknown.yaml").write_text(UNKNOWN)
    return runner(capsys, monkeypatch)


def test_a_sequence_is_shown_with_its_results(run: Run) -> None:
    done = run("trace-can", "policy.yaml", "--tool", "deploy")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "yes: after 1 earlier call"
    assert lines[1].split() == ["1", "build", "{}"]
    assert "approve_required by `build`  policy.yaml:7:5" in lines[2]
    assert 'result {"exit_code": 0}' in lines[3]
    assert "allow by `deploy`  policy.yaml:6:5" in lines[5]


def test_unattended_runs_have_no_approvals(run: Run) -> None:
    done = run("trace-can", "policy.yaml", "--tool", "deploy", "--unattended")
    assert (done.code, done.out) == (1, "no: proved, no sequence ends with allow\n")


def test_a_proof_holds_for_any_number_of_calls_or_within_some(run: Run) -> None:
    secret = "{tool: read, args.path.starts_with: secrets/}"
    assert run("trace-can", "policy.yaml", "--tool", "send", "--after", secret).out.startswith(
        "no: proved, no sequence "
    )
    done = run("trace-can", "policy.yaml", "--tool", "pay", "--when", "run.count.pay.ge: 2", "--steps", "1")
    assert (done.code, done.out) == (1, "no: proved, no sequence within 1 earlier call ends with allow\n")
    done = run("trace-can", "policy.yaml", "--tool", "pay", "--when", "run.count.pay.ge: 1", "--format", "json")
    assert [step["call"]["tool"] for step in done.json()["steps"]] == ["pay", "pay"]


def test_mistakes_and_unknowns_have_their_codes(run: Run) -> None:
    assert run("trace-can", "policy.yaml", "--when", "args.x: {gt: 1}").code == 2
    assert run("trace-can", "policy.yaml", "--steps", "-1").code == 2
    assert run("trace-can", "bad.yaml").code == 3
    done = run("trace-can", "unknown.yaml", "--tool", "send")
    assert (done.code, done.out.splitlines()[0]) == (5, "unknown")
