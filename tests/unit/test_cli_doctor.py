"""`bobcat doctor`: what strict refuses or decides otherwise, each shown by a call that both profiles decided on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat.doctor.examine import examine
from bobcat.errors import PolicyWarning
from unit.cli_runner import Run, runner

ALLOWING = "defaults: {on_no_match: allow, on_missing_shadow: allow}\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def one(match: str, decision: str = "deny") -> str:
    return f"{ALLOWING}rules:\n- id: r\n  match: {match}\n  decision: {decision}\n"


def denying(match: str, decision: str = "allow") -> str:
    rule = f"{{id: r, match: {match}, decision: {decision}}}"
    return f"defaults: {{on_no_match: deny, on_missing_shadow: deny}}\nrules: [{rule}]"


@pytest.mark.parametrize(
    ("policy", "verdicts"),
    [
        (one("{args.amount.gt: 500}"), ("allow", "deny")),
        (one("{args.cmd.matches: rm}"), ("allow", "deny")),
        (one("{args.cmd.contains: rm}"), ("allow", "deny")),
        (one("{args.cmd: rm}"), ("allow", "deny")),
        (one("{args.cmd.in: [rm, dd]}"), ("allow", "deny")),
        (one("{args.n.between: [1, 5]}"), ("allow", "deny")),
        (one("{args.n.not_between: [1, 5]}"), ("allow", "deny")),
        (one("{args.tags.contains_any: [a, b]}"), ("allow", "deny")),
        (denying("{not: {args.amount.gt: 500}}"), ("allow", "deny")),
        (denying("{args.flag: true}"), ("allow", "deny")),
        (denying("{args.n: 1}"), ("allow", "deny")),
        (denying("{args.name: null}"), ("allow", "deny")),
        (denying("{args.cmd.matches: '^ls$'}"), ("allow", "deny")),
        (denying("{args.n.matches: '^\\d+$'}"), ("allow", "deny")),
        (denying("{args.cmd.matches: '(?i)^kill$'}"), ("allow", "deny")),
    ],
)
def test_a_call_is_found_on_which_the_profiles_part(policy: str, verdicts: tuple[str, str]) -> None:
    found = examine(policy)
    assert found.compared
    assert found.refusals == ()
    assert verdicts in [(item.lynx.verdict, item.strict.verdict) for item in found.differences]
    assert all(item.rule == "r" for item in found.differences)


def test_a_transform_past_a_rule_that_outranks_it_is_found() -> None:
    found = examine(
        "rules:\n"
        "- {id: cap, priority: 5, match: {args.n.gt: 50}, decision: deny}\n"
        "- {id: raise, match: {tool: t}, decision: transform, transform: {jsonpath: $.args.n, set: 100}}\n"
    )
    assert ("raise", "transform", "deny") in [
        (item.rule, item.lynx.verdict, item.strict.verdict) for item in found.differences
    ]
    assert "evaluates the transformed arguments again" in found.differences[-1].cause


@pytest.mark.parametrize(
    "policy",
    [
        "rules: [{id: r, match: {tool: read}, decision: allow}]",
        "rules: [{id: r, match: {tool.in: [read, list]}, decision: allow}]",
        "rules: [{id: r, match: {declared.scope.contains_any: [fs]}, decision: deny}]",
        "rules: []",
    ],
)
def test_nothing_is_found_where_nothing_differs(policy: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(policy)
    done = run("doctor")
    assert done.code == 0, done.out
    assert done.out.endswith("policy.yaml: 0 refusals, 0 differences\n")


LAX = """\
defaults: {on_no_match: allow}
rules:
  - id: unmatched
    priority: -5
    mtach: {tool: read}
    decision: allow
  - id: never
    match: {arg.cmd.matches: rm, tool: shell}
    decision: deny
  - match: {tool: pay, args.amount.gt: 10}
    decision: approve_required
    approvers: alice
  - id: compared
    match: {tool: send, args.to.matches: evil}
    decision: deny
"""


def test_what_strict_refuses_is_shown_with_what_lynx_agent_does(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(LAX)
    done = run("doctor", "p.yaml", "--format", "json")
    assert done.code == 1
    reported = done.json()
    assert [(item["rule"], item["code"], item["line"]) for item in reported["refusals"]] == [
        ("unmatched", "E0202", 5),
        ("never", "E0301", 8),
        ("rule_2", "E0207", 12),
    ]
    decided = [(item["lynx"]["verdict"], item["lynx"]["matched_rules"][-1]) for item in reported["refusals"]]
    assert decided == [("allow", "unmatched"), ("allow", "unmatched"), ("approve_required", "rule_2")]
    assert reported["refusals"][1]["request"]["tool"] == "shell"
    assert reported["left_out"] == ["unmatched", "never", "rule_2"]
    assert {item["rule"] for item in reported["differences"]} == {"compared"}
    assert {item["line"] for item in reported["differences"]} == {13}


def test_every_call_that_is_shown_decides_as_it_is_shown(run: Run, tmp_path: Path) -> None:
    policy = (
        f"{ALLOWING}rules:\n"
        "- {id: a, priority: 3, match: {tool: pay, args.amount.gt: 500}, decision: deny}\n"
        "- {id: b, match: {tool: pay, not: {args.amount.gt: 100}}, decision: allow}\n"
        "- {id: c, match: {args.cmd.matches: '^ls( [a-z]+)*$'}, decision: dry_run}\n"
        "- {id: d, match: {context.extra.mode.in: [1, x]}, decision: approve_required, approvers: [ann]}\n"
        "- {id: e, match: {tool: q}, decision: transform, transform: {jsonpath: $.args.sql, append: ' LIMIT 5'}}\n"
    )
    (tmp_path / "p.yaml").write_text(policy)
    reported = run("doctor", "p.yaml", "--format", "json").json()
    assert {item["rule"] for item in reported["differences"]} == set("abcde")
    with pytest.warns(PolicyWarning):
        lynx = bobcat.compile_policy(policy, profile="lynx")
    strict = bobcat.compile_policy(policy)
    for item in reported["differences"]:
        call = bobcat.request_from_json(json.dumps(item["request"]))
        for bundle, name in ((lynx, "lynx"), (strict, "strict")):
            decision = bundle.evaluate(call)
            assert decision.verdict == item[name]["verdict"]
            assert list(decision.matched_rules) == item[name]["matched_rules"]
        assert item["lynx"] != item["strict"]


def test_the_text_names_the_place_the_cause_and_both_decisions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(one("{args.amount.gt: 500}"))
    done = run("doctor", "p.yaml")
    assert done.code == 1
    assert done.out.splitlines()[:4] == [
        "p.yaml:3:3: rule `r`: strict cannot evaluate the rule (wrong_type) and denies; "
        "lynx-agent skips it (TypeError)",
        '    call    {"tool": "some_tool", "args": {"amount": "501"}, "declared": {"reversible": true}}',
        "    lynx    allow  <rule_error:r:TypeError>, <default:on_no_match>",
        "    strict  deny  <rule_error:r:wrong_type>",
    ]


def test_a_place_where_strict_permits_more_is_marked(run: Run) -> None:
    policy = one("{args.cmd.matches: '^rm\\s'}")
    assert "it matches for lynx-agent; strict permits more\n" in run("doctor", "-", stdin=policy).out
    reported = run("doctor", "-", "--format", "json", stdin=policy).json()["differences"]
    assert [item["request"]["args"]["cmd"] for item in reported if item["strict_permits_more"]] == ["rm\u00a0"]


def test_a_policy_that_both_refuse_is_an_error_with_its_place(run: Run) -> None:
    done = run("doctor", "-", stdin="rules: [{id: a, match: {args.x.in: 5}, decision: deny}]")
    assert done.code == 1
    assert "error[E0901]" in done.err


@pytest.mark.parametrize("text", ["rules: !!set {a}", "<<: {}\nrules: []", "a: [", "? [1, 2]\n: 3", "5"])
def test_a_text_that_cannot_be_compared_is_reported(run: Run, text: str) -> None:
    done = run("doctor", "-", stdin=text)
    assert done.code == 1
    assert "no decisions compared" in done.out or "error[E0901]" in done.err


def test_a_bundle_has_no_source_to_examine(run: Run, tmp_path: Path) -> None:
    bobcat.compile_policy("rules: []").save(tmp_path / "p.bobcat")
    done = run("doctor", "p.bobcat")
    assert (done.code, done.err) == (3, "error: `p.bobcat` is a bundle; `doctor` needs the source of a policy\n")


def test_a_missing_file_is_unreadable(run: Run) -> None:
    assert run("doctor", "none.yaml").code == 3


def test_calls_are_made_in_the_same_order_every_time() -> None:
    texts: list[Any] = [[item.request for item in examine(LAX).differences] for _ in range(2)]
    assert texts[0] == texts[1] != []
