"""A decision on a record that lacks fields is given only if no value of them could change it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat import Decision, Policy, Request, evaluate, request_from_json
from bobcat.traffic.reads import Reads

MISSING = (("declared",), ("context", "workspace"), ("args", "secret"), ("context", "extra"))
COMPLETIONS: list[dict[str, Any]] = [
    {"declared": declared, "workspace": workspace, "secret": secret, "extra": extra}
    for declared in ({"cost": "low", "has_shadow": True}, {"cost": "high", "has_shadow": False})
    for workspace in ("a", "b")
    for secret in (None, 1, "a", [1], {"b": 2})
    for extra in ({}, {"tenant": "x"}, {"tenant": 3})
]
CLAUSES = st.sampled_from(
    [
        {"declared.cost": "low"}, {"context.workspace": "a"}, {"args.secret.gt": 0}, {"args.secret.eq": "a"},
        {"args.secret.b.eq": 2}, {"args.a.gt": 1}, {"args.a.eq": "x"}, {"tool": "t"}, {"tool": "u"},
        {"args.secret.exists": False}, {"context.extra.tenant": "x"}, {"args.a.eq": {"ref": "context.workspace"}},
    ]
)  # fmt: skip
MATCHES = st.recursive(
    CLAUSES,
    lambda inner: st.one_of(
        st.builds(lambda items: {"all_of": items}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda items: {"any_of": items}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda item: {"not": item}, inner),
    ),
    max_leaves=5,
)
RULES = st.lists(
    st.tuples(MATCHES, st.sampled_from(["allow", "deny", "approve_required", "dry_run"])), min_size=1, max_size=4
)


@settings(max_examples=300, deadline=None)
@given(rules=RULES, value=st.sampled_from([0, 5, "x", "a", None]))
def test_every_completion_of_a_record_has_its_decision(rules: list[tuple[Any, str]], value: Any) -> None:
    source = {
        "rules": [
            {"id": f"r{index}", "match": match, "decision": verdict} for index, (match, verdict) in enumerate(rules)
        ]
    }
    assert_certain(Policy.compile(source), value)


DEFAULTS = st.sampled_from(
    [{}, {"on_no_match": "allow", "on_missing_shadow": "allow"}, {"on_no_match": "allow", "on_missing_shadow": "deny"},
     {"on_no_match": "deny", "on_missing_shadow": "deny"}, {"on_no_match": "deny", "on_missing_shadow": "allow"}]
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(
    layers=st.lists(st.tuples(RULES, DEFAULTS), min_size=1, max_size=3),
    combine=st.sampled_from(["strictest", "first", "last", "strict_overrides_loose"]),
    value=st.sampled_from([0, 5, "x", "a", None]),
)
def test_every_completion_has_the_decision_of_a_policy_of_layers(layers: Any, combine: Any, value: Any) -> None:
    given_layers = {}
    for number, (rules, defaults) in enumerate(layers):
        source = [
            {"id": f"r{index}", "match": match, "decision": verdict} for index, (match, verdict) in enumerate(rules)
        ]
        given_layers[f"l{number}"] = Policy.compile({"defaults": defaults, "rules": source})
    assert_certain(Policy.layered(given_layers, combine=combine), value)


def assert_certain(policy: Policy, value: Any) -> None:
    """The decision on a record that lacks fields, if there is one, is that of each completion."""
    reads = Reads(policy)
    request = Request("t", {"a": value})
    decision = reads.decide(request, MISSING)
    if not reads.may_touch(MISSING):
        decision = evaluate(policy, request)
    if decision is None or reads.is_open(decision, MISSING, lambda: request):
        return
    for each in COMPLETIONS:
        args = {"a": value} if each["secret"] is None else {"a": value, "secret": each["secret"]}
        whole = {"tool": "t", "args": args, "declared": each["declared"]}
        whole["context"] = {"workspace": each["workspace"], "extra": each["extra"]}
        assert plain(evaluate(policy, request_from_json(whole))) == plain(decision)


def plain(decision: Decision) -> tuple[Any, ...]:
    """The decision without the name of the default that made it: two defaults with one verdict are alike."""
    rules = tuple([name.replace("on_missing_shadow", "on_no_match") for name in decision.matched_rules])
    return decision.verdict, rules, decision.approvers, decision.approvals_needed, decision.transform_args


@pytest.mark.parametrize(
    ("match", "known"),
    [
        ({"tool": "u", "declared.cost": "low"}, True),
        ({"any_of": [{"tool": "t"}, {"declared.cost": "low"}]}, True),
        ({"tool": "t", "declared.cost": "low"}, False),
        ({"tool": "t", "args.secret.eq": 1}, False),
        ({"tool": "t", "args.other.exists": False}, True),
    ],
)
def test_a_clause_that_decides_alone_is_enough(match: Any, known: bool) -> None:
    policy = Policy.compile({"rules": [{"id": "r", "match": match, "decision": "deny"}]})
    assert (Reads(policy).decide(Request("t", {}), MISSING) is not None) is known


def test_a_python_rule_that_reads_a_missing_field_is_not_guessed() -> None:
    text = "from bobcat import deny, rule\n\n@rule\ndef low(request, context):\n"
    for body, known in (("    if request.declared.cost == 'low':\n", False), ("    if request.tool == 'u':\n", True)):
        space: dict[str, Any] = {}
        import linecache

        source = text + body + "        return deny('no')\n    return None\n"
        name = f"<rules {known}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), space)
        policy = Policy.compile({"rules": []}, python_rules=[space["low"]])
        assert (Reads(policy).decide(Request("t", {}), MISSING) is not None) is known
