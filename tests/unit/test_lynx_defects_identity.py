"""Compiler denial of service, identity and mutability, rows U-27 to U-33: the strict profile is bounded and exact."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from bobcat.compiler import compile_policy
from bobcat.model.decision import Decision, Verdict
from lynx_defects import ALLOWING, call, context, refusal


@pytest.mark.parametrize(
    "predicates",
    [
        "{a: a}",
        "{a: b, b: a}",
        "{a: {not: b}, b: {any_of: [c]}, c: {all_of: [a]}}",
        "{a: {all_of: [a, a]}}",
    ],
)
# lynx-agent defect 27
def test_a_recursive_predicate_is_refused(predicates: str) -> None:
    error = refusal(f"predicates: {predicates}\nrules: [{{id: r, match: a, decision: deny}}]")
    assert "a" in str(error)


def _refused_within(seconds: float, source: str) -> None:
    begun = time.perf_counter()
    refusal(source)
    assert time.perf_counter() - begun < seconds


# lynx-agent defect 28
def test_an_alias_bomb_is_refused_before_it_is_expanded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]
    _refused_within(1.0, "\n".join(lines))


# lynx-agent defect 28
def test_doubling_predicates_are_refused_or_shared() -> None:
    lines = ["predicates:", "  p0: {args.x: 1, args.y: 2}"]
    lines += [f"  p{n}: {{any_of: [{{not: p{n - 1}}}, {{all_of: [p{n - 1}, {{args.z: {n}}}]}}]}}" for n in range(1, 40)]
    lines += ["rules: [{id: r, match: p39, decision: deny}]"]
    _refused_within(2.0, "\n".join(lines))


# lynx-agent defect 28
def test_a_deep_source_is_refused() -> None:
    _refused_within(1.0, "rules: " + "[" * 100_000)
    deep = "{not: " * 3_000 + "{tool: a}" + "}" * 3_000
    _refused_within(1.0, f"rules: [{{id: r, match: {deep}, decision: deny}}]")


# lynx-agent defect 29
def test_python_rules_of_one_name_and_other_code_have_other_digests() -> None:
    def make(verdict: Verdict) -> Callable[[Any, Any], Decision]:
        def rule(request: Any, context: Any) -> Decision:
            return Decision(verdict)

        return rule

    denying = compile_policy("rules: []", python_rules=(make(Verdict.DENY),))
    allowing = compile_policy("rules: []", python_rules=(make(Verdict.ALLOW),))
    assert denying.id != allowing.id


# lynx-agent defect 29
def test_a_value_that_is_called_like_a_predicate_is_a_value() -> None:
    first = "predicates: {foo: {tool: x}}\nrules: [{id: r, match: {args.x: foo}, decision: deny}]"
    second = "rules: [{id: r, match: {args.x: {tool: x}}, decision: deny}]"
    third = "rules: [{id: r, match: {args.x.eq: {tool: x}}, decision: deny}]"
    refusal(second)
    assert compile_policy(first).id != compile_policy(third).id
    plain = "rules: [{id: r, match: {args.x: foo}, decision: deny}]"
    assert compile_policy(first).id == compile_policy(plain).id


# lynx-agent defect 29
def test_values_that_only_print_alike_are_refused_or_differ() -> None:
    import datetime

    refusal({"rules": [{"id": "r", "match": {"args.x": datetime.date(2026, 1, 31)}, "decision": "deny"}]})
    refusal({"rules": [{"id": "r", "match": {"args.x": b"a"}, "decision": "deny"}]})
    digests = {
        compile_policy({"rules": [{"id": "r", "match": {"args.x": value}, "decision": "deny"}]}).id
        for value in (1, True, "1", None, "null", "true", 1.5, "1.5")
    }
    assert len(digests) == 8


_PROGRAM = """
from bobcat.compiler import compile_policy
print(compile_policy('''
predicates: {p: {any_of: [{tool: a}, {tool: b}]}}
rules: [{id: r, match: {all_of: [p, {args.x.in: [c, a, b]}, {args.y.contains_any: [z, y]}]}, decision: deny}]
''').id)
"""


# lynx-agent defect 30
def test_an_id_is_a_full_digest_and_the_same_in_every_process() -> None:
    found = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        found.add(run.stdout.strip())
    (digest,) = found
    assert len(digest) == 64


# lynx-agent defect 30
def test_values_without_a_form_are_refused() -> None:
    refusal("rules: [{id: r, match: {args.x: !!set {a, b}}, decision: deny}]")
    refusal({"rules": [{"id": "r", "match": {"args.x": {1, 2}}, "decision": "deny"}]})
    refusal({"rules": [{"id": "r", "match": {"args.x": object()}, "decision": "deny"}]})


# lynx-agent defect 31
def test_changing_the_source_after_compiling_changes_nothing() -> None:
    source: dict[str, Any] = {
        "rules": [
            {"id": "r", "match": {"args.x.in": ["a"]}, "decision": "deny"},
            {"id": "t", "match": {}, "decision": "transform", "transform": {"jsonpath": "$.args.y", "set": ["s"]}},
        ],
        "defaults": {"on_no_match": "allow"},
    }
    bundle = compile_policy(source)
    before = bundle.id
    source["rules"][0]["match"]["args.x.in"].append("b")
    source["rules"][1]["transform"]["set"].append("u")
    source["defaults"]["on_no_match"] = "deny"
    source["rules"].clear()
    assert bundle.evaluate(call(args={"x": "a"})).verdict is Verdict.DENY
    assert bundle.evaluate(call(args={"x": "b"})).transform_args == {"x": "b", "y": ["s"]}
    assert bundle.id == before


# lynx-agent defect 31
def test_a_decision_does_not_alias_the_policy() -> None:
    policy = {"rules": [{"id": "t", "match": {}, "decision": "transform", "transform": {"set": {"y": ["s"]}}}]}
    bundle = compile_policy(policy)
    first = bundle.evaluate(call()).transform_args
    assert first is not None
    with pytest.raises(TypeError):
        first["y"] = "changed"  # type: ignore[index]
    with pytest.raises((TypeError, AttributeError)):
        first["y"].append("changed")
    assert bundle.evaluate(call()).transform_args == {"y": ["s"]}


# lynx-agent defect 32
def test_bundles_are_equal_by_meaning_and_can_be_pickled() -> None:
    first = compile_policy("rules: [{id: r, match: {tool: a}, decision: deny}]")
    second = compile_policy("# the same\nrules:\n- decision: deny\n  match: {tool.in: [a]}\n  id: r\n")
    assert first == second
    assert hash(first) == hash(second)
    copy = pickle.loads(pickle.dumps(first))
    assert copy == first
    assert copy.evaluate(call("a")).verdict is Verdict.DENY


# lynx-agent defect 33
def test_the_context_that_is_passed_is_the_one_every_rule_sees() -> None:
    seen: list[str] = []

    def look(request: Any, context: Any) -> None:
        seen.append(context.environment)

    policy = ALLOWING + "rules: [{id: r, match: {context.environment: prod}, decision: deny}]"
    bundle = compile_policy(policy, python_rules=(look,), python_rule_priorities=(("look", 5),), uncompiled="callable")
    request = call(at=context(environment="dev"))
    assert bundle.evaluate(request).verdict is Verdict.ALLOW
    assert bundle.evaluate(request, context(environment="prod")).verdict is Verdict.DENY
    assert bundle.evaluate(call(at=context(environment="prod")), context(environment="dev")).verdict is Verdict.ALLOW
    assert seen == ["dev", "prod", "dev"]
