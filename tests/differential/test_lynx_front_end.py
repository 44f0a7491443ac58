"""The front end of the `lynx` profile: lynx-agent's words, its warnings by rule, its caps, its ids."""

from __future__ import annotations

import time
import warnings
from decimal import Decimal
from typing import Any

import pytest
from lynx.policy import compile_policy as compile_theirs

from bobcat.compiler import compile_policy
from bobcat.diagnostics.model import Severity
from bobcat.errors import PolicyCompileError, PolicyWarning
from bobcat.frontend.lynx.bundle_id import NoLynxId, lynx_id
from bobcat.frontend.lynx.policy import compile_lynx
from bobcat.lint.observed import reported


def codes(source: Any) -> list[str]:
    return [item.code for item in reported(compile_lynx(source, "p.yaml").findings)]


def problem(source: Any) -> str:
    lowered = compile_lynx(source, "p.yaml")
    (found,) = (item for item in reported(lowered.findings) if item.severity is Severity.ERROR)
    assert lowered.policy is None
    return found.message


REFUSED = [
    "a: [",
    "- a",
    "version: x",
    "rules: [a]",
    "rules: [{priority: x}]",
    "rules: [{match: 5}]",
    "rules: [{match: nobody}]",
    "predicates: {somebody: {}}\nrules: [{match: sombody}]",
    "rules: [{match: {args.x.matchs: a}}]",
    f"rules: [{{match: {{args.x.matches: {'a' * 1001}}}}}]",
    "rules: [{match: {args.x.matches: '(a+)+'}}]",
    "rules: [{match: {args.x.matches: '(a|a)*'}}]",
    "rules: [{match: {args.x.matches: '('}}]",
    "rules: [{match: {args.x.in: abc}}]",
    "rules: [{match: {args.x.between: 5}}]",
    "rules: [{match: {args.x.not_between: [1]}}]",
    "rules: [{match: {args.x.between: [5, 1]}}]",
    "rules: [{decision: 5}]",
    "rules: [{id: r, decision: permit}]",
    "rules: [{decision: transform}]",
    "rules: [{decision: deny, transform: {set: 1}}]",
    "rules: [{decision: transform, transform: 5}]",
    "rules: [{decision: transform, transform: {}}]",
    "rules: [{decision: transform, transform: {set: 1, append: 2}}]",
    "rules: [{decision: transform, transform: {set: 1, jsonpath: $.x}}]",
    "defaults: {on_no_match: maybe}",
    "defaults: {on_missing_shadow: 5}",
]


@pytest.mark.parametrize("source", REFUSED)
def test_a_refusal_has_the_words_of_lynx_agent(source: str) -> None:
    with pytest.raises(ValueError) as theirs:
        compile_theirs(source)
    assert problem(source) == str(theirs.value)


ESCAPING = [
    "predicates: {a: b, b: a}\nrules: [{match: a}]",
    "rules: [{match: {1: x}}]",
    "rules: [{match: {on: x}}]",
    "rules: [{match: {args.x.matches: 5}}]",
    "rules: [{match: {args.x.between: [a, 1]}}]",
    "rules: [{match: {all_of: 5}}]",
    "rules: [{match: {any_of: null}}]",
    "rules: [{approvers: 5}]",
    "rules: 5",
    "defaults: abc",
    "predicates: [a]\nrules: [{match: a}]",
    "version: .inf",
    "rules: [{priority: .inf}]",
    "rules: [{match: {args.x: {1: a, b: 2}}}]",
    "rules: [{match: {args.x: 2026-13-45}}]",
    "predicates: {foo: {args.x: foo}}\nrules: [{match: foo}]",
]


@pytest.mark.parametrize("source", ESCAPING)
def test_what_escapes_from_lynx_agent_is_an_ordinary_refusal(source: str) -> None:
    with pytest.raises((TypeError, AttributeError, OverflowError, RecursionError, ValueError)) as theirs:
        compile_theirs(source)
    assert type(theirs.value).__name__ != "PolicyCompileError"
    with pytest.raises(PolicyCompileError):
        compile_policy(source, profile="lynx")


LAX = [
    ("W0201", "rules: [{id: r, decision: deny}]"),
    ("W0202", "rules: [{id: r, match: {}, decision: deny, priorty: 5}]"),
    ("W0202", "ruels: []"),
    ("W0203", "defaults: {on_no_match: ALLOW}"),
    ("W0204", "rules: [{id: r, match: {}, decision: deny, decision: allow}]"),
    ("W0204", "rules: []\nrules: []"),
    ("W0205", "rules: [{id: r, match: {}, decision: deny}, {id: r, match: {}, decision: deny}]"),
    ("W0206", "rules: [{id: r, match: {args.x: no}, decision: deny}]"),
    ("W0206", "rules: [{id: r, match: {args.x: 0123}, decision: deny}]"),
    ("W0206", "rules: [{id: r, match: {args.x: 12:30:45}, decision: deny}]"),
    ("W0206", "rules: [{id: r, match: {args.x.in: [2026-01-31]}, decision: deny}]"),
    ("W0207", "rules: [{id: r, match: {arg.x.matches: rm}, decision: deny}]"),
    ("W0207", "rules: [{id: r, match: {anyof: [{tool: a}]}, decision: deny}]"),
    ("W0207", "rules: [{id: r, match: {declared.scop: a}, decision: deny}]"),
    ("W0208", "rules: [{id: r, match: {}, decision: approve_required, approvers: alice}]"),
    ("W0208", "rules: [{id: r, match: {args.x.contains_any: abc}, decision: allow}]"),
    ("W0209", "rules: [{id: r, match: {args.x.gt: 5}, decision: deny}]"),
    ("W0210", "rules: [{id: r, match: {args.x.matches: '(?!a)b'}, decision: deny}]"),
    ("W0211", "rules: [{id: r, match: {}}]"),
    ("W0211", "rules: [{id: r, match: {}, decision: ''}]"),
    ("W0212", "rules: [{id: r, match: {not: {args.x.gt: 5}}, decision: allow}]"),
    ("W0213", "rules: [{id: r, match: {}, decision: transform, transform: {set: 1}}]"),
    ("W0213", "rules: [{id: r, match: {}, decision: transform, transform: {jsonpath: $.args.a.b, set: 1}}]"),
    ("W0214", "version: 99"),
    ("W0214", "rules: [{id: r, match: {}, decision: deny, priority: '5'}]"),
    ("W0215", "rules: [{id: r, match: {args.x.regex: a}, decision: deny}]"),
    ("W0216", "rules: [{id: r, match: {tool: [a, b]}, decision: deny}]"),
]


@pytest.mark.parametrize(("code", "source"), LAX)
def test_permissive_behaviour_is_a_warning_with_a_place(code: str, source: str) -> None:
    lowered = compile_lynx(source, "p.yaml")
    assert lowered.policy is not None
    (found,) = reported(lowered.findings)
    assert (found.code, found.severity) == (code, Severity.WARNING)
    assert found.span is not None
    assert found.span.line >= 1


def test_permissive_behaviour_is_reported_once_for_each_rule() -> None:
    source = (
        "rules:\n"
        "- {id: a, match: {args.x.gt: 1, args.y.gt: 2, args.z.lt: 3}, decision: deny}\n"
        "- {id: b, match: {args.x.gt: 1, args.y.gt: 2}, decision: deny}\n"
    )
    assert codes(source) == ["W0209", "W0209"]
    with pytest.warns(PolicyWarning) as caught:
        compile_policy(source, profile="lynx")
    assert len(caught) == 2


def test_any_number_of_rules_may_be_lax() -> None:
    rules = [{"id": f"r{n}", "match": {"args.x.gt": n}, "decision": "deny"} for n in range(1_500)]
    lowered = compile_lynx({"rules": rules}, "p.yaml")
    assert lowered.policy is not None
    assert len(reported(lowered.findings)) == 1_500


def test_a_policy_without_permissive_behaviour_has_no_warning() -> None:
    source = (
        "version: 1\n"
        "defaults: {on_no_match: deny, on_missing_shadow: approve_required}\n"
        "predicates: {in_prod: {context.environment: prod}}\n"
        "rules:\n"
        "- {id: a, match: {all_of: [in_prod, {tool: shell}]}, decision: deny, priority: 5, reason: no shell}\n"
        "- {id: b, match: {tool.in: [read, list], args.path.matches: '^/tmp/'}, decision: allow}\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_policy(source, profile="lynx")


@pytest.mark.parametrize(
    "source",
    [
        "a0: &a0 [x, x, x, x, x, x, x, x]\n"
        + "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 12)),
        "predicates:\n  p0: {tool: a}\n"
        + "\n".join(f"  p{n}: {{all_of: [p{n - 1}, p{n - 1}]}}" for n in range(1, 30))
        + "\nrules: [{match: p29}]",
        "rules: [{match: " + "{not: " * 60 + "{tool: a}" + "}" * 60 + "}]",
        "rules: [{match: {args.x: " + "[" * 20 + "]" * 20 + "}}]",
        "rules: [{priority: 99999999999999999999}]",
        "rules: &r [*r]",
        {"rules": [{"match": {"args.x": Decimal(5)}}]},
        {"rules": [{"match": {"args.x": "\ud800"}}]},
        {"rules": [{"match": {"args.x": 2**5000}}]},
    ],
)
def test_a_source_past_a_cap_is_refused_at_once(source: Any) -> None:
    begun = time.perf_counter()
    assert "E0902" in codes(source)
    assert time.perf_counter() - begun < 2.0


def test_a_mapping_is_copied() -> None:
    source: dict[str, Any] = {"rules": [{"id": "r", "match": {"args.x.in": ["a"]}, "decision": "deny"}]}
    lowered = compile_lynx(source, "p.yaml")
    before = lynx_id(lowered.data()) if lowered.data else ""
    source["rules"][0]["match"]["args.x.in"].append("b")
    assert lowered.data is not None
    assert lynx_id(lowered.data()) == before


KNOWN_IDS = [
    ("rules: []", "7b73f284dcb32d37"),
    ("defaults: {on_no_match: allow}\nrules: []", "90835b4ed0822e94"),
    ("defaults: {on_no_match: allow, on_missing_shadow: allow}\nrules: []", "8dc84601fff0b02e"),
    ("rules: [{id: r, match: {tool: shell}, decision: deny}]", "e830418e2d6f7717"),
]


@pytest.mark.parametrize(("source", "expected"), KNOWN_IDS)
@pytest.mark.parametrize("profile", ["strict", "lynx"])
def test_the_known_ids_are_those_of_lynx_agent(source: str, expected: str, profile: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        assert compile_policy(source, profile=profile).lynx_id == expected


def test_an_endless_policy_has_no_id() -> None:
    with pytest.raises(NoLynxId):
        lynx_id({"predicates": {"a": {"args.x": "a"}}, "rules": [{"match": "a"}]})
    with pytest.raises(NoLynxId):
        lynx_id({"rules": 5})
