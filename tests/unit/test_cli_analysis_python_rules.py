"""Exact analysis of Python rules on the command line: those that are compiled, and those that stay callables."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from unit.cli_runner import Done, Run, runner

RULES = """\
from bobcat import allow, approve_required, deny, rule


@rule(priority=20)
def stay_inside(request, context):
    if request.tool not in ("read_file", "write_file"):
        return None
    path = request.args["path"]
    return allow() if path.startswith("/data/") else deny("outside")


@rule
def refunds(request, context):
    if request.tool != "refund":
        return None
    amount = request.args["amount"]
    if amount <= %d:
        return allow()
    if amount <= 500 and context.environment != "prod":
        return approve_required(("lead",))
    return deny("too much")


@rule(id="never-reached", priority=-1)
def later(request, context):
    return allow() if request.tool == "refund" and request.args.get("amount", 0) > 900 else None


@rule(id="never-true", priority=-2)
def never(request, context):
    return allow() if request.tool == "a" and request.tool == "b" else None
"""
HOST = """\
import time
from bobcat import deny


def fresh(request, context):
    if request.tool == "pay" and time.time() - request.args["issued"] > 300:
        return deny("too old")
    return None
"""
POLICY = """\
rules:
  - {id: top, match: {tool: pay, args.amount.gt: 1000}, decision: deny, priority: 50}
  - {id: reads, match: {tool: read}, decision: allow, priority: 50}
  - {id: pays, match: {tool: pay, args.amount.le: 100}, decision: allow}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(RULES % 50)
    Path("more.py").write_text(RULES % 80)
    return runner(capsys, monkeypatch)


def test_each_tool_that_a_function_names_has_its_rows(run: Run) -> None:
    rows = run("surface", "rules.py", "--format", "json").json()["rows"]
    found = {(row["tool"], row["verdict"]): [rule["rule"] for rule in row["rules"]] for row in rows}
    assert found["refund", "approve_required"] == ["refunds"]
    assert found["write_file", "allow"] == ["stay_inside"]
    assert (None, "allow") not in found


def test_a_difference_is_about_the_tool_of_the_function(run: Run) -> None:
    done = run("diff", "rules.py", "more.py")
    assert "  refund: deny -> allow\n    call  refund {" in done.out
    assert "new   allow by `refunds`  more.py:13:1" in done.out


def test_a_dead_function_has_the_functions_that_take_its_calls(run: Run) -> None:
    done = run("dead", "rules.py")
    assert "`never-reached` decides no call: each one that it matches goes to `refunds`   rules.py:25:1" in done.out
    assert "`never-true` decides no call: its match is never true   rules.py:30:1" in done.out
    checked = run("check", "rules.py").out
    assert "W0101]: the rule `never-reached` can never fire: `refunds` fires first" in checked
    assert "W0112]: the match of the rule `never-true` can never be true" in checked


def test_a_flip_changes_what_the_function_reads(run: Run) -> None:
    done = run("explain", "rules.py", "--tool", "refund", "--args", '{"amount": 600}', "--flip")
    assert "smallest change to allow: args.amount 600 -> " in done.out
    done = run("explain", "rules.py", "--tool", "read_file", "--args", '{"path": "/etc/x"}', "--flip")
    assert 'smallest change to allow: args.path "/etc/x" -> "/data/' in done.out


def test_holes_of_a_function_are_those_of_a_call_that_it_restricts(run: Run) -> None:
    done = run("holes", "rules.py", "refunds")
    assert done.code == 1
    assert "  wrong type at args.amount: allow refund {" in done.out
    done = run("holes", "rules.py", "refund")
    assert (done.code, "did you mean `refunds`?" in done.err) == (2, True)


def test_can_proves_what_functions_never_permit(run: Run) -> None:
    assert run("can", "rules.py", "--tool", "refund", "--when", "args.amount.gt: 50").code == 1
    assert run("prove", "--child", "more.py", "--parent", "rules.py").code == 1
    assert run("prove", "--child", "rules.py", "--parent", "more.py").code == 0


@pytest.fixture
def host(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on policies with a rule that stays a callable; its priority is 5."""
    Path("aged_calls.py").write_text(HOST)
    Path("policy.yaml").write_text(POLICY)
    Path("wider.yaml").write_text(POLICY.replace("le: 100", "le: 200"))
    monkeypatch.delitem(sys.modules, "aged_calls", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def with_rule(*args: str) -> Done:
        return run(*args, "--python-rule", "aged_calls:fresh@5", "--uncompiled", "callable")

    return with_rule


def test_a_callable_that_can_be_reached_leaves_the_answer_unknown_once(host: Run) -> None:
    done = host("can", "policy.yaml", "--tool", "pay")
    assert (done.code, done.out) == (5, "unknown\n  host_rule: a host rule can decide (rule `fresh`)\n")
    assert host("trace-can", "policy.yaml", "--tool", "pay").code == 5
    done = host("diff", "policy.yaml", "wider.yaml", "--fail-on", "loosening")
    assert (done.code, "host_rule" in done.out) == (1, True)
    assert "unknown: `fresh`" in host("dead", "policy.yaml").out
    assert "unknown: `fresh`" in host("holes", "policy.yaml").out
    assert host("prove", "--child", "wider.yaml", "--parent", "policy.yaml").code == 5
    done = host("explain", "policy.yaml", "--tool", "pay", "--args", '{"amount": 5, "issued": 1}', "--flip")
    assert "unknown change\n  host_rule: " in done.out


def test_answers_are_exact_where_rules_before_the_callable_decide(host: Run) -> None:
    assert host("can", "policy.yaml", "--tool", "read").code == 0
    assert host("can", "policy.yaml", "--tool", "read", "--verdict", "deny").code == 1
    assert host("trace-can", "policy.yaml", "--tool", "read").code == 0
    assert host("can", "policy.yaml", "--tool", "pay", "--when", "args.amount.gt: 1500").code == 1
    assert host("diff", "policy.yaml", "policy.yaml").out.endswith("proved: both policies decide every call alike\n")
    assert "read\n  allow            by `reads`\n" in host("surface", "policy.yaml").out
