"""`bobcat mutate`: output, exit codes and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.cli_runner import Run, runner
from unit.policy_suites import write

SMALL = "  - {name: a, request: {tool: pay, args: {amount: 20, to: acct-1}}, expect: {verdict: allow}}\n"


@pytest.fixture
def bobcat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, SMALL)
    return runner(capsys, monkeypatch)


def test_survivors_are_shown_with_the_missing_case(bobcat: Run) -> None:
    found = bobcat("mutate")
    assert found.code == 1
    assert "SURVIVED  policy.yaml:7:24  small  bound: args.amount between [1, 100] -> args.amount between [2, 100]" in (
        found.out
    )
    assert "add to the cases of pay.policytest.yaml:\n  - name: " in found.out
    assert "missing cases; score" in found.out


def test_a_score_can_be_enough(bobcat: Run) -> None:
    assert bobcat("mutate", "--fail-under", "1").code == 0
    failed = bobcat("mutate", "--fail-under", "99")
    assert failed.code == 1
    assert "is below 99%" in failed.err


def test_json_has_every_mutant(bobcat: Run) -> None:
    found = bobcat("mutate", "--format", "json", "-k", "small").json()
    assert found["killed"] + found["survived"] + found["equivalent"] + found["no_difference"] == len(found["mutants"])
    assert {item["rule"] for item in found["mutants"]} == {"small"}
    assert all((item["missing"] is not None) == (item["outcome"] == "survived") for item in found["mutants"])


def test_time_that_is_up_leaves_mutants_that_are_not_run(bobcat: Run) -> None:
    found = bobcat("mutate", "--max-seconds", "0", "--format", "json").json()
    assert found["not_run"] == len(found["mutants"]) > 0


def test_an_unknown_rule_is_a_usage_error_with_a_suggestion(bobcat: Run) -> None:
    found = bobcat("mutate", "-k", "smal")
    assert found.code == 2
    assert "did you mean `small`?" in found.err


def test_a_failing_case_is_reported_and_nothing_is_changed(bobcat: Run, tmp_path: Path) -> None:
    write(tmp_path, SMALL.replace("allow", "deny"))
    found = bobcat("mutate")
    assert found.code == 1
    assert "1 case failed without a change" in found.err


def test_no_case_and_a_broken_suite_have_the_codes_of_test(bobcat: Run, tmp_path: Path) -> None:
    (tmp_path / "pay.policytest.yaml").write_text("policy: policy.yaml\ncases: 5\n")
    assert bobcat("mutate").code == 2
    (tmp_path / "pay.policytest.yaml").unlink()
    assert bobcat("mutate").code == 5
    assert bobcat("mutate", "missing.policytest.yaml").code == 2
