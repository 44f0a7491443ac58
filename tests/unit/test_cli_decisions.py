"""`bobcat eval` and `bobcat explain`: decisions on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unit.cli_runner import Run, runner

POLICY = """\
rules:
  - id: no-large
    match: {tool: pay, args.amount.gt: 100}
    decision: approve_required
    reason: large
    approvers: [alice]
    timeout_seconds: 60
  - id: round-down
    match: {tool: pay, args.amount.between: [50, 100]}
    decision: transform
    transform: {jsonpath: $.args.amount, set: 50}
  - id: small
    match: {tool: pay, args.amount.lt: 50}
    decision: allow
"""
CALL = {"tool": "pay", "args": {"amount": 500}}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "call.json").write_text(json.dumps(CALL))
    return runner(capsys, monkeypatch)


def test_eval_reads_the_call_from_a_file_from_standard_input_or_from_options(run: Run) -> None:
    outputs = {
        run("eval", "policy.yaml", "call.json").out,
        run("eval", "policy.yaml", stdin=json.dumps(CALL)).out,
        run("eval", "policy.yaml", "-", stdin=json.dumps(CALL)).out,
        run("eval", "policy.yaml", "--tool", "pay", "--args", '{"amount": 500}').out,
        run("eval", "-", "call.json", stdin=POLICY).out,
    }
    assert outputs == {
        "approve_required\n  reason     large\n  rules      no-large\n  approvers  alice\n  timeout    60 s\n"
    }


def test_eval_gives_json(run: Run) -> None:
    shown = run("eval", "policy.yaml", "--format", "json", "--tool", "pay", "--args", '{"amount": 70}').json()
    assert shown.pop("bundle") == run("bundle-id", "policy.yaml").out.strip()
    assert shown == {
        "verdict": "transform",
        "reason": "",
        "matched_rules": ["round-down"],
        "approvers": [],
        "approvals_needed": 1,
        "timeout_seconds": None,
        "transform_args": {"amount": 50},
    }


def test_eval_takes_what_a_tool_declares_and_the_context(run: Run) -> None:
    done = run(
        "eval",
        "policy.yaml",
        "--tool",
        "x",
        "--declared",
        '{"reversible": true}',
        "--context",
        '{"environment": "prod"}',
    )
    assert done.out.splitlines()[0] == "deny"
    assert "<default:on_no_match>" in done.out


@pytest.mark.parametrize(("amount", "code"), [(10, 0), (70, 0), (500, 4), ('"10"', 4)])
def test_the_exit_code_reports_the_verdict_only_when_asked(run: Run, amount: object, code: int) -> None:
    call = ("eval", "policy.yaml", "--tool", "pay", "--args", f'{{"amount": {amount}}}')
    assert run(*call).code == 0
    assert run(*call, "--exit-code").code == code


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--tool", "pay", "--args", "{"), 2, "--args"),
        (("--tool", "pay", "--args", "[]"), 2, "a JSON object is needed"),
        (("--args", "{}"), 2, "needs `--tool`"),
        (("call.json", "--tool", "pay"), 2, "not both"),
        (("none.json",), 3, "cannot read `none.json`"),
        (("--tool", "pay", "--declared", '{"cots": "low"}'), 3, "cots"),
    ],
)
def test_a_wrong_call_is_a_clear_error(run: Run, args: tuple[str, ...], code: int, message: str) -> None:
    for command in ("eval", "explain"):
        done = run(command, "policy.yaml", *args)
        assert done.code == code
        assert message in done.err


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"tool": 5}', '{"tool": "x", "argz": {}}', "{" * 5000])
def test_an_invalid_request_is_refused(run: Run, text: str) -> None:
    done = run("eval", "policy.yaml", stdin=text)
    assert done.code == 3
    assert done.err.startswith("error[")


def test_standard_input_cannot_be_both(run: Run) -> None:
    done = run("eval", "-", stdin=POLICY)
    assert done.code == 2
    assert "standard input" in done.err


def test_a_policy_with_errors_decides_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("rules: [{id: a, decision: allow}]")
    for command in ("eval", "explain", "bundle-id", "inspect"):
        done = run(command, "bad.yaml", *(["--tool", "pay"] if command in ("eval", "explain") else []))
        assert (done.code, done.out) == (1, "")
        assert "bad.yaml:1:" in done.err


def test_explain_shows_the_rules_until_one_fires(run: Run) -> None:
    lines = run("explain", "policy.yaml", "--tool", "pay", "--args", '{"amount": 70}').out.splitlines()
    assert lines[0] == "transform"
    assert "no-large" in lines[1]
    assert "does not fire" in lines[1]
    assert "round-down" in lines[2]
    assert "fires" in lines[2]
    assert "policy.yaml:8" in lines[2]
    text = "\n".join(lines)
    assert "args.amount between" in text
    assert "read 70" in text
    assert "1 more rule not reached" in text


def test_explain_shows_the_clauses_of_every_rule_when_asked(run: Run) -> None:
    call = ("explain", "policy.yaml", "--tool", "pay", "--args", '{"amount": 70}')
    assert "args.amount > 100" not in run(*call).out
    assert "args.amount > 100" in run(*call, "--all").out


def test_explain_shows_rules_in_error(run: Run) -> None:
    out = run("explain", "policy.yaml", "--tool", "pay", "--args", '{"amount": "70"}').out
    assert out.splitlines()[0].startswith("deny")
    assert "error: wrong_type" in out
    assert 'read "70"' in out


def test_explain_says_when_no_rule_fired(run: Run) -> None:
    out = run("explain", "policy.yaml", "--tool", "look").out
    assert "no rule fired: <default:on_missing_shadow>" in out


def test_explain_gives_json(run: Run) -> None:
    shown = run("explain", "policy.yaml", "call.json", "--format", "json").json()
    assert shown["decision"]["verdict"] == "approve_required"
    assert [rule["outcome"] for rule in shown["rules"]] == ["true", "not_reached", "not_reached"]
    assert shown["rules"][0]["span"]["line"] == 2


def test_explain_prints_markup_of_users_as_it_is(run: Run) -> None:
    out = run("explain", "policy.yaml", "--all", "--tool", "[red]x[/red]").out
    assert '"[red]x[/red]"' in out


def test_a_bundle_explains_like_its_source(run: Run) -> None:
    run("compile", "policy.yaml", "-o", "policy.bobcat", "--with-sources")
    assert run("explain", "policy.bobcat", "call.json").out == run("explain", "policy.yaml", "call.json").out
