"""Suites of policies of layers: expectations, coverage, and the changes that no case notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import Policy
from bobcat.testing.mutation.campaign import Campaign, CampaignResult
from bobcat.testing.mutation.mutants import compiled, mutants
from bobcat.testing.suites.session import collect, select
from unit.cli_runner import Run, runner

ORG = "- {id: cap, match: {args.amount.gt: 100}, decision: deny}\n"
TEAM = "- {id: small, match: {tool: pay}, decision: allow}\n- {id: ask, match: {tool: refund}, decision: deny}\n"
OPEN = "defaults: {on_no_match: allow, on_missing_shadow: allow}\n"
CASES = """policy: policy.bobcat
cases:
  - {name: small, request: {tool: pay, args: {amount: 100}}, expect: {verdict: allow, rule: "team:small"}}
  - {name: large, request: {tool: pay, args: {amount: 101}}, expect: {verdict: deny, rule: "org:cap"}}
  - {name: text, request: {tool: pay, args: {amount: x}}, expect: {verdict: deny, error: wrong_type}}
  - {name: none, request: {tool: pay}, expect: {verdict: allow}}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    layers = {"org": Policy.compile(f"{OPEN}rules:\n{ORG}"), "team": Policy.compile(f"rules:\n{TEAM}")}
    Policy.layered(layers).save("policy.bobcat")
    Path("pay.policytest.yaml").write_text(CASES)
    return runner(capsys, monkeypatch)


def mutated() -> tuple[CampaignResult, dict[tuple[str | None, str], str]]:
    campaign = Campaign(select(collect(["pay.policytest.yaml"])))
    assert campaign.failed == []
    result = campaign.run(jobs=1)
    return result, {(each.mutant.rule, each.mutant.change): each.outcome.kind for each in result.results}


def test_the_combined_decision_shows_the_changes_of_every_layer(run: Run) -> None:
    result, kinds = mutated()
    assert kinds["org:cap", "without the rule"] == "killed"
    assert kinds["org:cap", "deny -> allow"] == "killed"
    assert kinds["team:small", "without the rule"] == "killed"
    assert kinds["team:ask", "deny -> allow"] == "survived"
    assert kinds[None, "org: on_missing_shadow: allow -> deny"] == "killed"
    assert kinds[None, "team: on_missing_shadow: approve_required -> allow"] == "survived"
    assert result.count("killed") > 10


def test_every_missing_case_kills_its_mutant(run: Run) -> None:
    result, _ = mutated()
    survivors = [each for each in result.results if each.outcome.kind == "survived"]
    assert survivors
    for each in survivors:
        assert each.outcome.missing is not None
        Path("pay.policytest.yaml").write_text(CASES + each.outcome.missing.text)
        again, _ = mutated()
        (same,) = [found for found in again.results if found.mutant == each.mutant]
        assert same.outcome.kind == "killed"


def test_survivors_are_shown_in_the_files_of_the_layers(run: Run) -> None:
    Path("org.yaml").write_text(f"{OPEN}rules:\n{ORG}")
    Path("team.yaml").write_text(f"rules:\n{TEAM}")
    assert run("compile", "--layer", "org=org.yaml", "--layer", "team=team.yaml", "-o", "policy.bobcat").code == 0
    done = run("mutate")
    assert "SURVIVED  team.yaml:3:3  team:ask  drop-rule: without the rule" in done.out
    found = run("mutate", "--format", "json").json()["mutants"]
    assert {(each["file"], each["source"]) for each in found if each["rule"] == "org:cap"} == {
        ("policy.bobcat", "org.yaml")
    }


def test_mutants_of_layers_are_policies_of_layers(run: Run) -> None:
    policy = Policy.load("policy.bobcat")
    found = [compiled(each.ir(policy.ir), policy) for each in mutants(policy)]
    assert all(each is not None for each in found)
    assert {tuple(layer.name for layer in each.layers) for each in found if each is not None} == {("org", "team")}
    assert policy.id not in {each.id for each in found if each is not None}
    swaps = [each for each in mutants(policy) if each.mutation == "swap"]
    assert swaps == [], "rules of two layers have no order between them"


def test_a_default_of_a_layer_is_an_expectation(run: Run) -> None:
    case = '  - {name: other, request: {tool: other}, expect: {rule: "team:<default:on_no_match>"}}\n'
    Path("pay.policytest.yaml").write_text(CASES + case)
    done = run("test")
    assert (done.code, "actual    rule: team:<default:on_missing_shadow>" in done.out) == (1, True)
    assert "the policy has no rule" not in done.out
    Path("pay.policytest.yaml").write_text(CASES + case.replace("on_no_match", "on_missing_shadow"))
    assert run("test").code == 0
    report = run("test", "--coverage", "json", "-o", "-").json()
    assert report["policies"][0]["defaults"] == {"team:<default:on_missing_shadow>": 1}
