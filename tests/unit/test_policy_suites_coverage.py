"""Coverage of policies by their tests: rules, clauses and outcomes, as text, JSON and one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unit.cli_runner import Run, runner
from unit.policy_suites import write

CASES = """\
  - {name: small, request: {tool: pay, args: {amount: 20, to: acct-1}}, expect: {verdict: allow}}
  - {name: blocked, request: {tool: pay, args: {amount: 20, to: acct-666}}, expect: {verdict: deny}}
  - {name: error, request: {tool: pay, args: {amount: 20, to: [x]}}, expect: {verdict: deny}}
  - {name: large, request: {tool: pay, args: {amount: 500}}, expect: {verdict: approve_required}}
  - {name: other, request: {tool: read}, expect: {verdict: deny}}
"""
PYTHON = """\
from bobcat import allow, deny, rule


@rule
def limits(request, context):
    if request.tool != "pay":
        return None
    if request.args["amount"] > 100:
        return deny("too much")
    return allow()


@rule
def never(request, context):
    if request.tool == "never":
        return deny("no")
"""


@pytest.fixture
def bobcat(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def covered(bobcat: Run, *options: str) -> Any:
    return bobcat("test", "--coverage", "--format", "json", *options).json()["coverage"]


def test_each_clause_has_the_outcomes_that_it_had(bobcat: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES)
    (policy,) = covered(bobcat)["policies"]
    assert (policy["file"], policy["decisions"], policy["never_fired"]) == ("policy.yaml", 5, ["capped"])
    assert policy["defaults"] == {"<default:on_missing_shadow>": 1}
    blocked, small, capped, _ = policy["rules"]
    assert [(rule["id"], rule["fired"]) for rule in policy["rules"]] == [
        ("blocked", 1), ("small", 1), ("capped", 0), ("large", 1)
    ]  # fmt: skip
    assert blocked["outcomes"] == {"true": 1, "false": 3, "absent": 0, "error": 1}
    to, tool = blocked["clauses"]
    assert (to["text"], to["line"], to["outcomes"]) == (
        'args.to == "acct-666"', 3, {"true": 1, "false": 1, "absent": 2, "error": 1}
    )  # fmt: skip
    assert (tool["outcomes"], tool["missing"]) == ({"true": 4, "false": 1, "absent": 0, "error": 0}, [])
    assert [clause["missing"] for clause in capped["clauses"]] == [["true"], []]
    assert small["percent"] == 100.0


def test_the_text_lists_the_lines_that_no_test_reaches(bobcat: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES)
    done = bobcat("test", "--coverage")
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert lines["capped"].split()[1:5] == ["transform", "9", "0", "1/2"]
    assert lines["capped"].endswith("  9-12")
    assert lines["blocked"].endswith("100%")
    assert lines["total"].split()[1] == "3/4"
    assert "coverage of policy.yaml, 5 decisions" in done.out


def test_rules_that_are_not_reached_count_as_missing(bobcat: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES)
    assert covered(bobcat, "-k", "blocked")["policies"][0]["never_fired"] == ["small", "capped", "large"]


def test_conditions_of_python_rules_are_clauses(bobcat: Run, tmp_path: Path) -> None:
    cases = """\
  - {name: a, request: {tool: pay, args: {amount: 500}}, expect: {verdict: deny}}
  - {name: b, request: {tool: read}, expect: {verdict: approve_required}}
"""
    write(tmp_path, cases)
    (tmp_path / "rules.py").write_text(PYTHON)
    (policy,) = covered(bobcat, "--policy", "rules.py")["policies"]
    limits, never = policy["rules"]
    assert [(clause["line"], clause["missing"]) for clause in limits["clauses"]] == [(6, []), (8, ["false"])]
    assert (never["fired"], [clause["missing"] for clause in never["clauses"]]) == (0, [["true"]])


def test_sequences_and_runs_are_covered_with_their_state(bobcat: Run, tmp_path: Path) -> None:
    policy = "rules: [{id: once, match: {tool: pay, run.count.pay.lt: 1}, decision: allow}]"
    cases = "  - {name: a, sequence: [{call: {tool: pay}}, {call: {tool: pay}, expect: {verdict: approve_required}}]}\n"
    write(tmp_path, cases, policy=policy)
    clauses = covered(bobcat)["policies"][0]["rules"][0]["clauses"]
    assert {clause["text"]: clause["outcomes"]["false"] for clause in clauses}["run.count.pay < 1"] == 1


@pytest.mark.parametrize(("least", "code"), [("90", 0), ("100", 1), ("95.5", 1)])
def test_a_coverage_below_the_limit_fails(bobcat: Run, tmp_path: Path, least: str, code: int) -> None:
    write(tmp_path, CASES)
    found = covered(bobcat)["percent"]
    assert 90 <= found < 95.5
    done = bobcat("test", "--fail-under", least)
    assert (done.code, "is below" in done.err) == (code, code == 1)


def test_suites_of_one_policy_add_up_and_policies_are_apart(bobcat: Run, tmp_path: Path) -> None:
    for name, case in (("a", "small"), ("b", "large")):
        write(tmp_path, "".join(line for line in CASES.splitlines(True) if f"name: {case}" in line), name=name)
    (tmp_path / "other.yaml").write_text("rules: [{id: all, match: {}, decision: deny}]")
    (tmp_path / "c.policytest.yaml").write_text(
        "policy: other.yaml\ncases: [{name: a, request: {tool: x}, expect: {verdict: deny}}]"
    )
    report = covered(bobcat)
    assert [(policy["file"], policy["decisions"]) for policy in report["policies"]] == [
        ("policy.yaml", 2), ("other.yaml", 1)
    ]  # fmt: skip
    assert report["policies"][1]["percent"] == 100.0


def test_the_page_stands_alone_and_escapes_the_policy(bobcat: Run, tmp_path: Path) -> None:
    policy = 'rules: [{id: a, match: {args.x: "<script>alert(1)</script>"}, decision: deny}]'
    write(tmp_path, "  - {name: a, request: {tool: x}, expect: {verdict: approve_required}}\n", policy=policy)
    done = bobcat("test", "--coverage", "html", "-o", "out.html")
    assert (done.code, "wrote out.html" in done.out) == (0, True)
    page = (tmp_path / "out.html").read_text()
    assert "<script" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "&lt;script&gt;" in page
    assert "never fired" in page


def test_json_is_written_to_a_file_or_printed(bobcat: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES)
    bobcat("test", "--coverage", "json")
    assert '"percent"' in (tmp_path / "policy-coverage.json").read_text()
    assert '"percent"' in bobcat("test", "--coverage", "json", "-o", "-").out


def test_a_path_may_follow_the_option(bobcat: Run, tmp_path: Path) -> None:
    suite = write(tmp_path, CASES)
    assert "coverage of policy.yaml" in bobcat("test", "--coverage", suite).out


@pytest.mark.parametrize("options", [("-o", "x"), ("--coverage=xml",), ("--fail-under", "101"), ("--yes",)])
def test_options_that_do_not_fit_are_usage_errors(bobcat: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    write(tmp_path, CASES)
    assert bobcat("test", *options).code == 2
