"""SARIF of the commands of exact analysis: valid, with the findings of the other formats, at the right places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sarif_logs import Place, results_of
from unit.cli_runner import Run, runner

POLICY = """\
predicates:
  unused: {tool: never}
rules:
  - {id: no-secrets, match: {tool: read, args.path.starts_with: /etc/}, decision: deny, priority: 5}
  - {id: reads, match: {tool: read}, decision: allow}
  - {id: reads-again, match: {tool: read, args.path.ends_with: .txt}, decision: allow}
  - {id: pays, match: {tool: pay, args.amount.le: 100}, decision: allow}
  - {id: few, match: {tool: post, run.count.post.lt: 3}, decision: allow}
"""
RULES = """\
from bobcat import allow, deny, rule


@rule(priority=3)
def refunds(request, context):
    if request.tool != "refund":
        return None
    return allow() if request.args["amount"] <= %d else deny("too much")


@rule
def late(request, context):
    return allow() if request.tool == "refund" and request.args.get("amount") == 900 else None
"""
SHADOWED = ("dead-rule", Place("a policy.yaml", 6, 5), (Place("a policy.yaml", 5, 5),))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("a policy.yaml").write_text(POLICY)
    Path("wider.yaml").write_text(POLICY.replace("le: 100", "le: 500").replace("lt: 3", "lt: 9"))
    Path("rules.py").write_text(RULES % 50)
    Path("more.py").write_text(RULES % 80)
    Path("calls.jsonl").write_text('{"tool": "read", "args": {"path": "a"}}\n')
    return runner(capsys, monkeypatch)


def sarif(run: Run, *command: str) -> list[tuple[str, Place, tuple[Place, ...]]]:
    found = results_of(run(*command, "--format", "sarif").json())
    return [(item.rule, item.place, item.related) for item in found]


def test_dead_parts_and_undecided_rules_have_places(run: Run) -> None:
    found = sarif(run, "dead", "a policy.yaml")
    assert SHADOWED in found
    assert ("unknown", Place("a policy.yaml", 8, 5), ()) in found
    assert ("W0107", Place("a policy.yaml", 2, 3), ()) in found
    listed = run("dead", "a policy.yaml", "--format", "json").json()
    assert len(found) == sum(map(len, (listed["rules"], listed["clauses"], listed["predicates"], listed["unknown"])))


def test_a_python_rule_has_the_place_of_its_function(run: Run) -> None:
    assert sarif(run, "dead", "rules.py") == [("dead-rule", Place("rules.py", 12, 1), (Place("rules.py", 5, 1),))]
    assert ("loosening", Place("more.py", 5, 1), (Place("rules.py", 5, 1),)) in sarif(
        run, "diff", "rules.py", "more.py"
    )
    assert {place.line for _, place, _ in sarif(run, "holes", "rules.py")} == {5}


def test_a_difference_has_the_places_of_both_rules(run: Run) -> None:
    found = sarif(run, "diff", "a policy.yaml", "wider.yaml")
    assert ("loosening", Place("wider.yaml", 7, 5), ()) in found
    assert "unknown" in {rule for rule, _, _ in found}
    assert all(place.file == "wider.yaml" for _, place, _ in found)


def test_an_invariant_has_its_place_and_that_of_the_deciding_rule(run: Run) -> None:
    Path("inv.yaml").write_text("invariants:\n  - {id: small, never: {tool: pay, args.amount.gt: 50}}\n")
    assert sarif(run, "prove", "a policy.yaml", "inv.yaml") == [
        ("violated", Place("inv.yaml", 2, 5), (Place("a policy.yaml", 7, 5),))
    ]


def test_a_child_that_exceeds_its_parent_is_a_finding_at_the_rule_of_the_child(run: Run) -> None:
    assert sarif(run, "prove", "--child", "wider.yaml", "--parent", "a policy.yaml") == [
        ("violated", Place("wider.yaml", 7, 5), ())
    ]


def test_unused_permissions_are_findings(run: Run) -> None:
    command = ("surface", "a policy.yaml", "--unused", "--traffic", "calls.jsonl")
    found = sarif(run, *command)
    assert ("unused", Place("a policy.yaml", 7, 5), ()) in found
    assert ("unknown", Place("a policy.yaml", 8, 5), ()) in found
    assert len(found) == len(run(*command, "--format", "json").json()["rows"])
    assert run("surface", "a policy.yaml", "--format", "sarif").code == 2


def test_near_misses_are_findings_of_the_same_number(run: Run) -> None:
    found = sarif(run, "holes", "a policy.yaml")
    assert {(rule, place) for rule, place, _ in found} == {("near-miss", Place("a policy.yaml", 4, 5))}
    assert len(found) == len(run("holes", "a policy.yaml", "--format", "json").json()["holes"])


def test_an_answer_without_a_place_is_about_the_file(run: Run) -> None:
    found = sarif(run, "diff", "a policy.yaml", "wider.yaml", "--profile", "lynx")
    assert found == [("unknown", Place("wider.yaml", None, None), ())]


def test_an_absolute_path_is_a_uri_of_a_file(run: Run, tmp_path: Path) -> None:
    log = run("dead", str(tmp_path / "a policy.yaml"), "--format", "sarif").json()
    assert {item.place.file for item in results_of(log)} == {str(tmp_path / "a policy.yaml")}
    assert "file:///" in json.dumps(log)


@pytest.mark.parametrize("exact", [(), ("--exact",)])
def test_check_writes_the_findings_of_the_analysis_too(run: Run, exact: tuple[str, ...]) -> None:
    assert ("W0101", Place("rules.py", 12, 1), (Place("rules.py", 5, 1),)) in sarif(run, "check", "rules.py", *exact)
