"""The compiler's driver: sources and Python rules in, a bundle or one report of everything out."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import PolicyCompileError, Severity, Verdict, compile_policy, load_policy_file
from bobcat.bundle import PolicyBundle
from bobcat.compiler import Priorities

POLICY = """\
defaults: {on_no_match: allow, on_missing_shadow: allow}
rules:
  - {id: mid, priority: 5, match: {tool: t}, decision: dry_run}
  - {id: low, match: {tool: t}, decision: deny}
"""


def abstain(request: Any, context: Any) -> None:
    return None


def refuse(request: Any, context: Any) -> bobcat.Decision:
    return bobcat.deny("refused")


def permit(request: Any, context: Any) -> bobcat.Decision:
    return bobcat.allow("permitted")


def evaluation_order(bundle: PolicyBundle) -> list[str]:
    return [getattr(rule, "name", None) or str(rule.id) for rule in bundle.ir.rules]  # type: ignore[union-attr]


def codes(error: PolicyCompileError) -> list[str]:
    return [item.code for item in error.diagnostics]


def refused(source: Any = POLICY, **options: Any) -> PolicyCompileError:
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy(source, **options)
    return caught.value


@pytest.mark.parametrize(
    ("priorities", "order"),
    [
        ((), ["mid", "low", "refuse", "permit"]),
        ((0, 0), ["mid", "low", "refuse", "permit"]),
        ((5, 6), ["permit", "mid", "refuse", "low"]),
        ([("permit", 5)], ["mid", "permit", "low", "refuse"]),
        ({"refuse": -1}, ["mid", "low", "permit", "refuse"]),
        ((("refuse", 5), ("permit", 5)), ["mid", "refuse", "permit", "low"]),
    ],
)
def test_python_rules_stand_among_the_others_by_priority(priorities: Priorities, order: list[str]) -> None:
    bundle = compile_policy(POLICY, python_rules=(refuse, permit), python_rule_priorities=priorities)
    assert evaluation_order(bundle) == order
    assert bundle.python_rules == ()


def looking(name: str) -> Any:
    """A rule that stays a callable."""

    def rule(request: Any, context: Any) -> bobcat.Decision:
        return bobcat.deny(str(vars(request)))

    rule.__name__ = name
    return rule


def test_host_rules_and_compiled_ones_stand_in_one_order() -> None:
    rules = (refuse, looking("first"), permit, looking("second"))
    bundle = compile_policy(POLICY, python_rules=rules, python_rule_priorities=(5, 5, 0, 9), uncompiled="callable")
    assert evaluation_order(bundle) == ["second", "mid", "refuse", "first", "low", "permit"]
    assert [(name, priority) for name, priority, _ in bundle.python_rules] == [("second", 9), ("first", 5)]


def test_the_callables_are_called_in_evaluation_order() -> None:
    bundle = compile_policy(POLICY, python_rules=(permit, refuse), python_rule_priorities=(7, 8))
    decision = bundle.evaluate(bobcat.request_from_json({"tool": "t"}))
    assert (decision.verdict, decision.matched_rules) == (Verdict.DENY, ("refuse",))


def test_partials_objects_and_lambdas_can_be_rules() -> None:
    class Rule:
        def __call__(self, request: Any, context: Any) -> None:
            return None

    rules = (functools.partial(refuse), Rule(), lambda request, context: None)
    bundle = compile_policy(POLICY, python_rules=rules)
    assert evaluation_order(bundle) == ["mid", "low", "refuse", "Rule", "<lambda>"]


async def later(request: Any, context: Any) -> None: ...


@pytest.mark.parametrize(
    ("rules", "priorities", "code"),
    [
        ((5,), (), "E0801"),
        (("refuse",), (), "E0801"),
        ((later,), (), "E0802"),
        ((functools.partial(later),), (), "E0802"),
        ((refuse, refuse), (), "E0803"),
        ((lambda request, context: None, lambda request, context: bobcat.deny("x")), (), "E0803"),
        ((refuse,), {"refuze": 1}, "E0805"),
        ((refuse,), (1, 2), "E0806"),
        ((refuse,), (1.5,), "E0806"),
        ((refuse,), {"refuse": True}, "E0806"),
    ],
)
def test_a_python_rule_that_could_not_decide_is_refused(rules: Any, priorities: Any, code: str) -> None:
    error = refused(python_rules=rules, python_rule_priorities=priorities)
    assert codes(error) == [code]
    assert code in str(error)


def test_a_python_rule_may_not_have_the_id_of_another_rule() -> None:
    def low(request: Any, context: Any) -> None: ...

    assert codes(refused(python_rules=(low,))) == ["E0803"]


def test_everything_wrong_is_reported_at_once() -> None:
    error = refused(
        "rules:\n  - {id: a, mtach: {}, decision: deny}\n  - {id: b, match: {arg.x: 1}, decision: no}\n",
        source_path="ops.yaml",
        python_rules=(5,),
    )
    assert len(error.diagnostics) >= 4
    assert {"E0801"} < set(codes(error))
    report = str(error)
    assert all(item.code in report for item in error.diagnostics)
    assert "ops.yaml:2:" in report
    assert "ops.yaml:3:" in report


def test_a_dependency_that_no_digest_covers_is_a_warning() -> None:
    import logging

    log = logging.getLogger("x")

    def logging_rule(request: Any, context: Any) -> None:
        log.info("seen")

    bundle = compile_policy(POLICY, python_rules=(logging_rule,), uncompiled="callable")
    assert "W0114" in [item.code for item in bundle.warnings]
    assert all(item.severity is Severity.WARNING for item in bundle.warnings)


def test_the_body_of_a_python_rule_is_part_of_the_meaning() -> None:
    def make(limit: int) -> Any:
        def rule(request: Any, context: Any) -> Any:
            return bobcat.deny("too much") if request.args["n"] > limit else None

        return rule

    one, two = (compile_policy(POLICY, python_rules=(make(limit),)) for limit in (1, 2))
    assert one != two
    assert one == compile_policy(POLICY, python_rules=(make(1),))
    assert one != compile_policy(POLICY, python_rules=(make(1),), python_rule_priorities=(1,))


def test_a_mapping_is_read_once_and_never_kept() -> None:
    approvers = ["alice"]
    source = {
        "rules": [
            {"id": "r", "match": {"args.x.in": ["a", "b"]}, "decision": "approve_required", "approvers": approvers},
            {"id": "s", "match": {}, "decision": "transform", "transform": {"jsonpath": "$.args.y", "set": {"k": [1]}}},
        ]
    }
    bundle = compile_policy(source)
    before = (bundle.id, bundle.lynx_id, bundle.to_bytes())
    approvers.append("mallory")
    source["rules"][0]["match"]["args.x.in"].append("c")  # type: ignore[index]
    source["rules"][1]["transform"]["set"]["k"].append(2)  # type: ignore[index]
    assert (bundle.id, bundle.lynx_id, bundle.to_bytes()) == before
    decision = bundle.evaluate(bobcat.request_from_json({"tool": "t", "args": {"x": "a"}}))
    assert decision.approvers == ("alice",)


def test_a_policy_file_is_utf_8_with_or_without_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    for encoding in ("utf-8", "utf-8-sig"):
        path.write_text("rules: [{id: é, match: {tool: ü}, decision: deny}]", encoding=encoding)
        assert load_policy_file(path).rules[0].id == "é"


def test_a_file_that_cannot_be_read_is_a_compile_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.yaml", tmp_path, f"{tmp_path}/nul\0.yaml"):
        with pytest.raises(PolicyCompileError, match=r"^Cannot read policy file "):
            load_policy_file(path)


def test_a_file_that_is_not_utf_8_is_a_compile_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("\ufeffrules: []\r# aé".encode() + b"\xe9")
    with pytest.raises(PolicyCompileError, match=r"latin\.yaml:2:5") as caught:
        load_policy_file(tmp_path / "latin.yaml")
    assert [item.code for item in caught.value.diagnostics] == ["E0102"]


def test_a_compile_error_is_a_value_error_with_the_diagnostics() -> None:
    error = refused("rules: 5")
    assert isinstance(error, ValueError)
    assert error.diagnostics
    assert re.search(r"error\[E\d{4}\]", str(error))


@pytest.mark.parametrize("source", [b"rules: []", 5, None, ["rules"]])
def test_a_source_of_another_type_is_refused(source: Any) -> None:
    with pytest.raises((PolicyCompileError, TypeError)):
        compile_policy(source)


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="profile"):
        compile_policy(POLICY, profile="lax")  # type: ignore[arg-type]
