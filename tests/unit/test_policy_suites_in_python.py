"""`decide`, the pytest collector of suites, and `bobcat test --watch`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bobcat import Policy, PolicyCompileError, Request, ToolSet, tool
from bobcat._core import RunState
from bobcat.testing import decide
from unit.policy_suites import MEMORY, POLICY, write


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write(tmp_path, "  - {name: a, tags: [x], request: {tool: pay, args: {amount: 20}}, expect: {verdict: allow}}\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_a_decision_has_its_parts(site: Path) -> None:
    decided = decide(site / "policy.yaml", "pay", {"amount": 5000, "to": "acct-1"})
    assert (decided.verdict, decided.rule, decided.error) == ("transform", "capped", None)
    assert decided.args == {"amount": 1000, "to": "acct-1"}
    assert repr(decided) == f"<transform by capped at {site / 'policy.yaml'}:9:5>"
    assert decide(str(site / "policy.yaml"), "pay", {"to": "acct-666"}).reason == "this account is blocked"


def test_an_expectation_that_holds_returns_the_decision() -> None:
    policy = Policy.compile(POLICY)
    decided = decide(policy, "pay", {"amount": 20, "to": [1]})
    assert decided.expect(verdict="deny", rule="blocked", error="wrong_type", reason_matches="could not") is decided
    decide(policy, "pay", {"amount": 20}).expect(error=None, args={"amount": 20})


def test_a_failed_expectation_shows_differences_and_the_rules() -> None:
    with pytest.raises(AssertionError) as failed:
        decide(Policy.compile(POLICY), "pay", {"amount": 20}).expect(
            verdict="deny", rule="blocked", args={"amount": 21}
        )
    text = str(failed.value)
    for part in ("expected  verdict: deny", "actual    rule: small", '-   "amount": 21', "blocked (deny): false"):
        assert part in text


def test_mistakes_in_a_call_are_errors(site: Path) -> None:
    policy = Policy.compile(POLICY)
    decided = decide(policy, "pay", {"amount": 20})
    for wrong in ({}, {"verdict": "alow"}, {"reason_matches": "("}):
        with pytest.raises((TypeError, ValueError)):
            decided.expect(**wrong)
    with pytest.raises(TypeError, match="compile a text"):
        decide(POLICY, "pay")
    with pytest.raises(TypeError):
        decide(policy, Request("pay"), {"amount": 1})
    with pytest.raises(PolicyCompileError, match="No such file"):
        decide(site / "none.yaml", "pay")


def test_tools_and_state_are_those_of_a_run() -> None:
    @tool(cost="low", reversible=True)
    async def pay(amount: int, to: str = "acct-666") -> str:
        return ""

    policy = Policy.compile(POLICY)
    assert decide(policy, "pay", {"amount": 20}, tools=[pay]).rule == "blocked"
    assert decide(policy, "buy", tools=ToolSet.from_functions(pay)).error == "unknown_tool"
    remembering = Policy.compile(MEMORY)
    state = RunState(remembering, task="pay DE01")
    call = Request("pay", {"to": "DE01", "amount": 5}, task="pay DE01")
    for number in range(2):
        assert decide(remembering, call, state=state).verdict == "allow"
        state.call(call, str(number))
    assert decide(remembering, call, state=state).verdict == "deny"
    assert decide(remembering, "pay", {"to": "DE01", "amount": 5}, task="pay DE01").verdict == "allow"


def test_a_changed_file_is_compiled_again(site: Path) -> None:
    assert decide(site / "policy.yaml", "pay", {"amount": 20}).verdict == "allow"
    (site / "policy.yaml").write_text("rules: [{id: none, match: {}, decision: deny}]")
    assert decide(site / "policy.yaml", "pay", {"amount": 20}).rule == "none"


def pytest_in(site: Path, *options: str) -> tuple[int, str]:
    plugin = ("-p", "no:bobcat", "-p", "bobcat.benchmark.pytest_plugin", "-p", "no:cacheprovider")
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", *plugin, *options]
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_pytest_runs_suites_and_selects_by_name_and_tag(site: Path) -> None:
    with (site / "pay.policytest.yaml").open("a") as suite:
        suite.write("  - {name: wrong, request: {tool: pay, args: {amount: 20}}, expect: {verdict: deny}}\n")
    code, text = pytest_in(site)
    assert (code, "1 failed, 1 passed" in text) == (1, True)
    assert "FAILED pay.policytest.yaml::wrong - `verdict`: expected `deny`, not `allow`" in text
    assert "small (allow): true  policy.yaml:6:5" in text
    assert "Traceback" not in text
    assert pytest_in(site, "-k", "x and not wrong")[0] == 0
    assert pytest_in(site, "pay.policytest.yaml::a")[0] == 0


def test_pytest_reports_errors_of_suites_with_their_places(site: Path) -> None:
    (site / "b.policytest.yaml").write_text("policy: policy.yaml\ncases: [{name: a, requst: {tool: pay}}]")
    code, text = pytest_in(site)
    assert code == 2
    assert "error[E0202]: a case has no key `requst`" in text
    assert "b.policytest.yaml:2:19" in text


def test_pytest_without_suites_imports_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_x.py").write_text(
        "import sys\ndef test_x():\n    assert not {'yaml', 'bobcat._core', 'bobcat.compiler'} & set(sys.modules)\n"
    )
    assert pytest_in(tmp_path)[0] == 0


def test_watching_runs_again_after_a_change(site: Path) -> None:
    command = [sys.executable, "-m", "bobcat", "test", "--watch"]
    with subprocess.Popen(command, cwd=site, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline(), process.stdout.readline()]
        time.sleep(0.1)
        (site / "policy.yaml").write_text("rules: [{id: none, match: {}, decision: deny}]")
        while not seen[-1].startswith("watching") or len(seen) < 4:
            seen.append(process.stdout.readline())
            assert seen[-1], seen
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
    assert seen[0].startswith("1 passed")
    assert seen[1] == "watching 2 files; Ctrl-C ends\n"
    assert any(line.startswith("1 failed") for line in seen[2:])
