"""Policies of layers: combining, naming, limits, bundles, signatures and the commands."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy, Request, evaluate
from bobcat.bundle import load_bundle
from bobcat.bundle.sign import public_key
from bobcat.errors import BundleError
from bobcat.ir import canonical
from unit.cli_runner import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


KEY, OTHER_KEY = "11" * 32, "22" * 32
OPEN = "defaults: {on_no_match: allow, on_missing_shadow: allow}\n"


def compiled(rules: str, head: str = OPEN) -> Policy:
    return Policy.compile(f"{head}rules:\n{rules}" if rules else f"{head}rules: []")


ORG = compiled("- {id: no-rm, decision: deny, match: {tool: shell, args.command.contains: rm}}\n")
TEAM = compiled(
    "- {id: sh, decision: allow, match: {tool: shell}}\n- {id: mail, decision: deny, match: {tool: mail}}\n", ""
)


def decided(policy: Policy, tool: str = "shell", **args: Any) -> tuple[str, tuple[str, ...]]:
    decision = evaluate(policy, Request(tool, args))
    return str(decision.verdict), decision.matched_rules


def code_of(*layers: Any, **options: Any) -> str:
    with pytest.raises(BundleError) as caught:
        Policy.layered(*layers, **options)
    assert caught.value.code == "bad_layers"
    return str(caught.value)


@pytest.mark.parametrize(
    ("combine", "command", "expected"),
    [
        ("strictest", "ls", ("allow", ("team:sh",))),
        ("strictest", "rm x", ("deny", ("org:no-rm",))),
        ("first", "rm x", ("deny", ("org:no-rm",))),
        ("last", "rm x", ("allow", ("team:sh",))),
        ("strict_overrides_loose", "rm x", ("deny", ("org:no-rm",))),
    ],
)
def test_combiners(combine: Any, command: str, expected: tuple[str, tuple[str, ...]]) -> None:
    policy = Policy.layered({"org": ORG, "team": TEAM}, combine=combine)
    assert decided(policy, command=command) == expected


@pytest.mark.parametrize(("combine", "verdict"), [("strictest", "deny"), ("strict_overrides_loose", "deny")])
def test_defaults_name_their_layer(combine: Any, verdict: str) -> None:
    strict = compiled("", "defaults: {on_no_match: deny, on_missing_shadow: deny}\n")
    policy = Policy.layered({"org": ORG, "team": strict}, combine=combine)
    decision = evaluate(policy, Request("other", {}))
    assert (str(decision.verdict), decision.matched_rules) == (verdict, ("team:<default:on_missing_shadow>",))
    assert decision.reason == "irreversible action with no shadow; default policy of layer `team`"


@pytest.mark.parametrize("combine", ["first", "last", "strict_overrides_loose"])
def test_a_layer_without_a_matching_rule_abstains(combine: Any) -> None:
    allowed = compiled("- {id: any, decision: allow, match: {}}\n", "")
    policy = Policy.layered({"org": compiled("", ""), "team": allowed, "run": compiled("", "")}, combine=combine)
    assert decided(policy, "anything") == ("allow", ("team:any",))


def approval(names: str, needed: int = 1, timeout: int | None = None) -> Policy:
    seconds = f", timeout_seconds: {timeout}" if timeout is not None else ""
    return compiled(
        f"- {{id: ask, decision: approve_required, approvers: [{', '.join(names)}], "
        f"approvals_needed: {needed}{seconds}, reason: {names or 'anyone'}, match: {{}}}}\n"
    )


@pytest.mark.parametrize(
    ("left", "right", "approvers", "needed"),
    [
        (approval("ab"), approval("bc"), ("b",), 1),
        (approval("ab", 2), approval("ab", 1), ("a", "b"), 2),
        (approval("a"), approval("b"), ("a", "b"), 2),
        (approval("ab"), approval("c"), ("a", "b", "c"), 3),
        (approval(""), approval("cd"), ("c", "d"), 1),
        (approval("", 2), approval("", 1), (), 2),
    ],
)
def test_approvals_of_all_layers_hold(left: Policy, right: Policy, approvers: tuple[str, ...], needed: int) -> None:
    decision = evaluate(Policy.layered({"org": left, "team": right}), Request("pay", {}))
    assert (decision.approvers, decision.approvals_needed) == (approvers, needed)
    assert decision.matched_rules == ("org:ask", "team:ask")


def test_the_shortest_timeout_counts() -> None:
    policy = Policy.layered(
        {"org": approval("a", timeout=600), "team": approval("a", timeout=60), "run": approval("a")}
    )
    decision = evaluate(policy, Request("pay", {}))
    assert (decision.timeout_seconds, decision.reason) == (60, "a")


def test_approvals_without_a_common_choice_are_denied() -> None:
    policy = Policy.layered({"org": approval("a"), "team": approval("", 2)})
    decision = evaluate(policy, Request("pay", {}))
    assert (str(decision.verdict), decision.matched_rules) == ("deny", ("<layer_conflict:org:team>",))
    assert decision.reason == "layers `org` and `team` require approvals that exclude each other; denied"


def rewriting(value: int, condition: str = "{}") -> Policy:
    return compiled(
        f"- {{id: set-{value}, decision: transform, match: {condition}, "
        f"transform: {{jsonpath: $.args.limit, set: {value}}}}}\n"
    )


def test_a_lower_layer_evaluates_new_arguments_from_above() -> None:
    big = compiled("- {id: big, decision: deny, match: {args.limit.gt: 10}}\n")
    decision = evaluate(Policy.layered({"org": rewriting(5), "team": big}), Request("q", {"limit": 99}))
    assert (str(decision.verdict), decision.matched_rules) == ("transform", ("org:set-5",))
    assert decision.transform_args == {"limit": 5}


def test_a_higher_layer_evaluates_new_arguments_from_below() -> None:
    big = compiled("- {id: big, decision: deny, match: {args.limit.gt: 10}}\n")
    policy = Policy.layered({"org": big, "run": rewriting(50)})
    assert decided(policy, "q", limit=1) == ("deny", ("run:set-50", "org:big"))


def test_equal_rewrites_are_no_conflict() -> None:
    policy = Policy.layered({"org": rewriting(5), "team": rewriting(5)})
    decision = evaluate(policy, Request("q", {"limit": 99}))
    assert (str(decision.verdict), decision.transform_args) == ("transform", {"limit": 5})


def test_rewrites_in_conflict_are_denied() -> None:
    policy = Policy.layered({"org": rewriting(5), "team": rewriting(6)})
    decision = evaluate(policy, Request("q", {}))
    assert (str(decision.verdict), decision.matched_rules) == ("deny", ("<layer_conflict:org:team>",))
    assert decision.reason == "layers `org` and `team` rewrite the arguments differently; denied"
    assert decision.transform_args is None


@pytest.mark.parametrize("combine", ["first", "last", "strict_overrides_loose", "strictest"])
def test_no_layer_exceeds_the_limits(combine: Any) -> None:
    generous = compiled("- {id: pay, decision: allow, match: {tool: pay}}\n")
    cap = compiled("- {id: cap, decision: approve_required, match: {tool: pay, args.amount.gt: 100}}\n")
    policy = Policy.layered({"org": generous, "team": generous}, combine=combine, limits={"org": cap})
    small, large = decided(policy, "pay", amount=1), decided(policy, "pay", amount=101)
    assert small[0] == "allow"
    assert large == ("approve_required", ("org-limits:cap",))


def test_a_rule_in_error_denies_by_its_layer_only() -> None:
    rule = "- {id: big, decision: deny, match: {args.limit.gt: 10}}\n"
    skips = compiled(rule, "defaults: {on_no_match: allow, on_missing_shadow: allow, on_rule_error: continue}\n")
    assert decided(Policy.layered({"org": skips}), "q", limit="x") == (
        "allow",
        ("<rule_error:org:big:wrong_type>", "org:<default:on_missing_shadow>"),
    )
    assert decided(Policy.layered({"org": skips, "team": compiled(rule)}), "q", limit="x") == (
        "deny",
        ("<rule_error:org:big:wrong_type>", "<rule_error:team:big:wrong_type>"),
    )


def test_a_run_only_narrows() -> None:
    task = compiled("- {id: ls, decision: allow, match: {args.command: ls}}\n", "defaults: {on_no_match: deny}\n")
    for policy in (TEAM, Policy.layered({"org": ORG, "team": TEAM}, combine="last")):
        both = policy.narrow_with(task)
        assert decided(both, command="ls")[0] == "allow"
        assert decided(both, command="id")[0] != "allow"
        assert decided(both, "mail") == ("deny", (f"{'team' if policy.layers else 'policy'}:mail",))
        assert both.layers[-1].name == "run"


def test_a_layer_keeps_its_digest() -> None:
    policy = Policy.layered({"org": ORG, "team": TEAM})
    for stored in (policy, load_bundle(policy.to_bytes(sources=True)), pickle.loads(pickle.dumps(policy))):
        assert [(layer.name, layer.digest) for layer in stored.layers] == [("org", ORG.id), ("team", TEAM.id)]
        assert stored.layers[1].policy.evaluate(Request("mail", {})).matched_rules == ("mail",)
        assert (stored.id, stored.combine) == (policy.id, "strictest")
    assert Policy.layered({"team": TEAM, "org": ORG}).id != policy.id
    assert Policy.layered({"org": ORG, "team": TEAM}, combine="first").id != policy.id
    assert (ORG.layers, ORG.combine) == ((), None)


def test_a_policy_without_layers_has_none_in_its_bytes() -> None:
    assert b"layers" not in ORG.ir_bytes
    assert b'"layers":{"combine":"strictest"' in Policy.layered({"org": ORG}).ir_bytes


def test_rules_keep_their_places() -> None:
    policy = load_bundle(Policy.layered({"org": ORG, "team": TEAM}).to_bytes(sources=True))
    spans = [view.span for view in policy.rules]
    assert [view.id for view in policy.rules] == ["org:no-rm", "team:sh", "team:mail"]
    assert [span is not None and (span.file, span.line) for span in spans] == [
        ("<inline>", 3),
        ("team:<inline>", 2),
        ("team:<inline>", 3),
    ]
    assert set(policy.sources) == {"<inline>", "team:<inline>"}


def test_memory_is_shared_by_definition() -> None:
    counted = "- {id: ID, decision: deny, match: {run.count: {of: {tool: pay}, gt: 1}}}\n"
    first, second = (compiled(counted.replace("ID", name)) for name in ("a", "b"))
    policy = Policy.layered({"org": first, "team": second})
    assert len(policy.ir.memory) == 1  # type: ignore[arg-type]  # it has memory
    assert [layer.digest for layer in policy.layers] == [first.id, second.id]
    assert policy.remembers


@pytest.mark.parametrize(
    ("layers", "options", "message"),
    [
        ({}, {}, "at least one layer"),
        ({"Org": ORG}, {}, "is not the name of a layer"),
        ({"org": ORG}, {"combine": "loosest"}, "`combine` must be one of strictest, first"),
        ({"org": ORG}, {"limits": {"team": ORG}}, "`limits` names `team`"),
        ({"org": ORG}, {"limits": {"org": TEAM}}, "on_no_match: allow"),
        ({"org": Policy.layered({"a": ORG})}, {}, "has layers itself"),
        ({f"l{number}": ORG for number in range(17)}, {}, "the limit is 16"),
        ({"org": Policy.compile({"rules": []}, profile="lynx")}, {}, "profile `lynx`"),
    ],
)
def test_bad_layers_are_refused(layers: Any, options: Any, message: str) -> None:
    assert message in code_of(layers, **options)


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="the layer `org` must be a Policy, got str"):
        Policy.layered({"org": "org.yaml"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"rules":1}', b'"rules":2}'),
        (b'"strictest"', b'"loosest"'),
        (b'"name":"org"', b'"name":"Org"'),
        (b'"name":"org"', b'"name":"team"'),
        (b'"items":[', b'"item":['),
    ],
)
def test_hostile_layers_are_refused(old: bytes, new: bytes) -> None:
    ir = Policy.layered({"org": ORG, "team": TEAM}).ir_bytes
    changed = ir.replace(old, new, 1)
    assert changed != ir
    from bobcat._core import CoreError, Program

    with pytest.raises(CoreError) as caught:
        Program(changed)
    assert caught.value.code == "bad_ir"


def test_layers_carry_the_signatures_of_their_bundles() -> None:
    org = load_bundle(ORG.to_bytes(private_key=KEY))
    policy = Policy.layered({"org": org, "team": TEAM})
    data = policy.to_bytes()
    keys = {"org": [public_key(KEY)]}
    stored = load_bundle(data, layer_keys=keys)
    assert [layer.signed_by for layer in stored.layers] == [(public_key(KEY),), ()]
    assert load_bundle(stored.to_bytes(), layer_keys=keys) == policy
    for wanted, code in (
        ({"org": [public_key(OTHER_KEY)]}, "unsigned"),
        ({"team": [public_key(KEY)]}, "unsigned"),
        ({"run": [public_key(KEY)]}, "bad_layers"),
    ):
        with pytest.raises(BundleError) as caught:
            load_bundle(data, layer_keys=wanted)
        assert caught.value.code == code


def test_the_signature_of_another_policy_is_refused() -> None:
    org = load_bundle(ORG.to_bytes(private_key=KEY))
    signed = Policy.layered({"org": org})
    forged = Policy.from_policy(Policy.layered({"org": TEAM}).ir, layer_signatures=signed.signed_parts[2])
    with pytest.raises(BundleError) as caught:
        load_bundle(forged.to_bytes(), layer_keys={"org": [public_key(KEY)]})
    assert caught.value.code == "bad_signature"


def test_the_layers_of_a_signed_bundle_are_signed() -> None:
    data = Policy.layered({"org": ORG}).to_bytes(private_key=KEY)
    assert load_bundle(data, trusted_keys=[public_key(KEY)]).layers[0].digest == ORG.id


def test_explain_shows_every_layer() -> None:
    policy = Policy.layered({"org": ORG, "team": TEAM})
    explained = policy.explain(Request("shell", {"command": "rm"}))
    assert [(rule.id, rule.outcome) for rule in explained.rules] == [
        ("org:no-rm", "true"),
        ("team:sh", "not_reached"),
        ("team:mail", "not_reached"),
    ]
    assert canonical.digest(policy.ir_bytes).hex() == explained.bundle_id


def test_compile_and_inspect(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org.yaml").write_text(f"{OPEN}rules:\n- {{id: no-rm, decision: deny, match: {{args.command: rm}}}}\n")
    (tmp_path / "team.bobcat").write_bytes(TEAM.to_bytes(private_key=KEY))
    (tmp_path / "cap.yaml").write_text(f"{OPEN}rules: []\n")
    done = run(
        "compile", "--layer", "org=org.yaml", "--layer", "team=team.bobcat", "--limits", "org=cap.yaml",
        "--combine", "last", "-o", "all.bobcat", "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    shown = run("inspect", "all.bobcat", "--format", "json").json()
    assert shown["layers"] == done.json()["layers"]
    assert [(layer["name"], layer["rules"], layer["limits"]) for layer in shown["layers"]] == [
        ("org", 1, False),
        ("team", 2, False),
        ("org-limits", 0, True),
    ]
    assert shown["combine"] == "last"
    assert shown["layers"][1]["digest"] == TEAM.id
    text = run("inspect", "all.bobcat").out
    assert f"team, 2 rules, digest {TEAM.id}, signed by {public_key(KEY)}" in text
    assert "combine            last" in text
    decision = run("eval", "all.bobcat", "-", stdin='{"tool": "mail", "args": {}}')
    assert "team:mail" in decision.out


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("-o", "x"), 2, "SOURCE or `--layer` is missing"),
        (("p.yaml", "--layer", "org=p.yaml", "-o", "x"), 2, "exclude each other"),
        (("p.yaml", "--combine", "first", "-o", "x"), 2, "need `--layer`"),
        (("--layer", "org", "-o", "x"), 2, "`--layer` is NAME=POLICY"),
        (("--layer", "org=p.yaml", "--layer", "org=p.yaml", "-o", "x"), 2, "names `org` twice"),
        (("--layer", "Org=p.yaml", "-o", "x"), 3, "is not the name of a layer"),
        (("--layer", "org=p.yaml", "--limits", "org=p.yaml", "-o", "x"), 3, "on_no_match: allow"),
        (("--layer", "org=missing.yaml", "-o", "x"), 3, "cannot read"),
    ],
)
def test_bad_command_lines(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text("rules: []\n")
    done = run("compile", *args)
    assert (done.code, message in done.err) == (code, True), done.err
    assert not (tmp_path / "x").exists()


def test_leaves_of_included_predicates_keep_their_places(tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text("predicates:\n  risky: {args.command.contains: rm}\n")
    (tmp_path / "org.yaml").write_text(
        "include: [shared.yaml]\nrules:\n  - {id: a, match: {all_of: [{tool: shell}, risky]}, decision: deny}\n"
    )
    org = Policy.compile(tmp_path / "org.yaml")
    policy = Policy.layered({"team": TEAM, "org": org})
    for bundle, rule in ((org, 0), (policy, 2), (policy.layers[1].policy, 0)):
        assert bundle.source_map is not None
        spans = [bundle.source_map.leaf_span(rule, leaf) for leaf in range(2)]
        assert {Path(span.file).name for span in spans if span is not None} == {"org.yaml", "shared.yaml"}


def test_obligations_of_all_layers_hold() -> None:
    def allowing(name: str, decision: str) -> Policy:
        return compiled(f"- {{id: {name}, match: {{}}, decision: {decision}, obligations: [{{notify: {name}}}]}}\n")

    layers = {"org": allowing("first", "allow"), "team": allowing("second", "approve_required")}
    decision = evaluate(Policy.layered(layers), Request("pay", {}))
    assert [each.value for each in decision.obligations] == ["first", "second"]
    denied = evaluate(Policy.layered({**layers, "run": allowing("third", "deny")}), Request("pay", {}))
    assert [each.value for each in denied.obligations] == ["third"]
