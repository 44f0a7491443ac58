"""`bobcat test` on the command line: exit codes, selection, formats and errors of suites."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
import yaml

from bobcat.testing.suites import keys
from unit.cli_runner import Run, runner
from unit.policy_suites import write

CASES = """\
  - name: small payments
    tags: [money, quick]
    request: {tool: pay, args: {amount: 20, to: acct-1}}
    expect: {verdict: allow, rule: small}
  - name: large payments
    tags: [money]
    request: {tool: pay, args: {amount: 5000, to: acct-1}}
    expect: {verdict: transform, args: {amount: 999, to: acct-1}}
  - name: blocked accounts
    request: {tool: pay, args: {amount: 20, to: acct-666}}
    expect: {verdict: allow, rule: smal}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def test_failures_show_the_difference_and_the_deciding_rule(run: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES)
    done = run("test")
    assert done.code == 1
    assert "FAILED  pay.policytest.yaml:7:5  large payments\n" in done.out
    assert '    -   "amount": 999,\n    +   "amount": 1000,\n' in done.out
    assert "  expected  verdict: allow\n  actual    verdict: deny\n" in done.out
    assert "the policy has no rule `smal`; did you mean `small`?" in done.out
    assert "blocked (deny): true  policy.yaml:2:5\n" in done.out
    assert '[value "acct-666"]  policy.yaml:3:24\n' in done.out
    assert done.out.splitlines()[-1].startswith("2 failed, 1 passed in ")


@pytest.mark.parametrize(
    ("options", "code", "summary"),
    [
        (("-k", "small or blocked"), 1, "1 failed, 1 passed, 1 deselected"),
        (("-k", "PAYMENTS and not large"), 0, "1 passed, 2 deselected"),
        (("-k", "not (large or blocked)"), 0, "1 passed, 2 deselected"),
        (("-k", '"small payments"'), 0, "1 passed, 2 deselected"),
        (("-k", "pay.policytest"), 1, "2 failed, 1 passed"),
        (("-t", "quick"), 0, "1 passed, 2 deselected"),
        (("-t", "quick", "--tag", "money"), 1, "1 failed, 1 passed, 1 deselected"),
        (("-x",), 1, "1 failed, 1 passed, 1 not run"),
        (("-k", "nothing"), 5, "0 passed, 3 deselected"),
    ],
)
def test_cases_are_selected(run: Run, tmp_path: Path, options: tuple[str, ...], code: int, summary: str) -> None:
    write(tmp_path, CASES)
    done = run("test", *options)
    assert (done.code, done.out.splitlines()[-1].partition(" in ")[0]) == (code, summary)


@pytest.mark.parametrize("expression", ["", "a b", "(a", "a)", "and", "a or", "not", '"a'])
def test_an_expression_that_cannot_be_read_is_a_usage_error(run: Run, tmp_path: Path, expression: str) -> None:
    write(tmp_path, CASES)
    done = run("test", "-k", expression)
    assert (done.code, done.out) == (2, "")
    assert "Error: `-k`: " in done.err


def test_nothing_to_run_has_a_code_of_its_own(run: Run, tmp_path: Path) -> None:
    assert run("test").code == 5
    write(tmp_path, "  []\n")
    assert run("test", ".").code == 5


def test_a_missing_path_is_a_usage_error(run: Run) -> None:
    done = run("test", "missing.policytest.yaml")
    assert (done.code, "no such file" in done.err) == (2, True)


def test_suites_below_directories_are_found_once(run: Run, tmp_path: Path) -> None:
    for place in ("a", "a/b", ".hidden", "node_modules"):
        (tmp_path / place).mkdir()
        write(tmp_path / place, "  - {name: a, request: {tool: pay}, expect: {verdict: deny}}\n")
    (tmp_path / "a" / "notes.yaml").write_text("cases: []")
    assert run("test", "a", "a/b/pay.policytest.yaml", "-v").out.count("passed  ") == 2
    assert run("test", "--format", "json").json()["passed"] == 2


def test_the_json_report_has_decisions_differences_and_explanations(run: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES)
    report = run("test", "--format", "json").json()
    assert (report["passed"], report["failed"], report["version"]) == (1, 2, 1)
    small, _, blocked = report["cases"]
    assert (small["outcome"], small["tags"], small["line"]) == ("passed", ["money", "quick"], 3)
    assert blocked["steps"][0]["decision"]["matched_rules"] == ["blocked"]
    assert blocked["steps"][0]["differences"][0] == {
        "key": "verdict",
        "expected": "allow",
        "actual": "deny",
        "help": None,
    }
    assert [rule["id"] for rule in blocked["steps"][0]["explanation"]] == ["blocked"]


def test_junit_has_a_test_case_for_each_case(run: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES + '  - {name: "a\\u0001<b>", request: {tool: pay}, expect: {verdict: allow}}\n')
    assert run("test", "--junit", "out.xml").code == 1
    (suite,) = ET.parse(tmp_path / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "3")
    assert [case.get("name") for case in suite] == [
        "small payments",
        "large payments",
        "blocked accounts",
        "a\ufffd<b>",
    ]
    assert [len(case) for case in suite] == [0, 1, 1, 1]
    assert "blocked (deny)" in (suite[2][0].text or "")


def test_annotations_of_github_name_file_and_line(run: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES)
    lines = run("test", "--format", "github").out.splitlines()
    assert lines[0].startswith("::error file=pay.policytest.yaml,line=7,col=5,title=large payments::`args`")
    assert len(lines) == 3


def test_errors_of_all_suites_and_policies_are_reported_and_nothing_runs(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "  - {name: a, reqest: {tool: pay}}\n", name="a")
    write(tmp_path, "  - {name: a, request: {tool: pay}, expect: {verdict: deny}}\n", name="b")
    (tmp_path / "policy.yaml").write_text("rules: [{id: a, match: {}, decison: deny}]")
    (tmp_path / "c.policytest.yaml").write_text("policy: polcy.yaml\ntools: policy_tool.py\ncases: []\n")
    done = run("test")
    assert (done.code, done.out) == (2, "")
    for part in (
        "error[E0202]: a case has no key `reqest`\n  --> a.policytest.yaml:3:15",
        "did you mean `request`?",
        "error[E0202]: a rule has no key `decison`",
        "error[E1109]: the policy `policy.yaml` cannot be used: it has 1 error\n  --> b.policytest.yaml:1:9",
        "error[E1109]: the policy `polcy.yaml` cannot be used: no such file or directory\n  --> c.policytest.yaml:1:9",
        "did you mean `policy.yaml`?",
        "error[E1110]: the tools `policy_tool.py` cannot be used",
    ):
        assert part in done.err
    report = run("test", "--format", "json")
    assert report.code == 2
    assert report.json()["errors"] == len(report.json()["diagnostics"]) >= 5
    assert "::error file=a.policytest.yaml,line=3,col=15,title=E0202::" in run("test", "--format", "github").out


def test_another_policy_takes_the_place_of_the_named_one(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "  - {name: a, request: {tool: pay, args: {amount: 5}}, expect: {verdict: deny}}\n")
    (tmp_path / "stricter.yaml").write_text("rules: [{id: all, match: {}, decision: deny}]")
    assert run("test").code == 1
    assert run("test", "--policy", "stricter.yaml").code == 0
    done = run("test", "--policy", "none.yaml")
    assert (done.code, "no such file" in done.err) == (2, True)


def test_a_policy_in_another_directory_is_found_from_the_suite(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    write(tmp_path, CASES)
    suite = (tmp_path / "pay.policytest.yaml").read_text().replace("policy: policy.yaml", "policy: ../policy.yaml")
    (tmp_path / "tests" / "pay.policytest.yaml").write_text(suite)
    assert "  policy.yaml:2:5\n" in run("test", "tests").out


def test_the_schema_accepts_what_the_reader_accepts(run: Run, tmp_path: Path) -> None:
    schema = run("schema", "--tests").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    suite = write(tmp_path, CASES, head="tools: {pay: {reversible: true}}\ncontext: {environment: prod}\n")
    assert list(validator.iter_errors(yaml.safe_load((tmp_path / suite).read_text()))) == []
    wrong = {"policy": "p", "cases": [{"name": "a", "request": {"tool": "x", "arg": {}}}]}
    assert list(validator.iter_errors(wrong))


@pytest.mark.parametrize("name", ["SUITE", "CASE", "STEP", "EXPECT", "REQUEST"])
def test_the_schema_and_the_reference_page_have_every_key(run: Run, name: str) -> None:
    schema = json.loads(run("schema", "--tests").out)
    part = {"SUITE": schema, **{key.upper(): item for key, item in schema["$defs"].items()}}[name]
    assert tuple(part["properties"]) == getattr(keys, name)
    page = (Path(__file__).resolve().parents[2] / "docs/reference/policytest.md").read_text()
    for key in getattr(keys, name):
        assert f"`{key}`" in page or f"`{key}:" in page


def test_directories_of_policies_leave_suites_to_the_tests(run: Run, tmp_path: Path) -> None:
    write(tmp_path, CASES)
    done = run("check", ".")
    assert (done.code, "policytest" in done.out) == (0, False)
