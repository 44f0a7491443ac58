"""A tool is hidden only if every call of it is denied: compared with decisions on generated policies and calls."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import Policy, Principal, Request, ToolMetadata, Verdict, evaluate
from bobcat.proxy.visibility import may_permit

TOOLS = ("read", "write", "fs.read")
PEOPLE = ("ann", "bob")
ARGS: tuple[dict[str, Any], ...] = ({}, {"n": 1}, {"n": 5}, {"n": "x"}, {"n": [1]}, {"n": {"a": 1}})
METADATA = ToolMetadata("medium", False, ("mcp:tool",))

LEAVES = st.one_of(
    st.sampled_from([{"tool": name} for name in TOOLS]),
    st.sampled_from(
        [{"tool.in": ["read", "write"]}, {"tool.glob": "fs.*"}, {"tool.matches": "^r"}, {"tool.not_in": ["read"]}]
    ),
    st.sampled_from([{"args.n": 1}, {"args.n.gt": 2}, {"args.n.exists": True}, {"args.n.exists": False}]),
    st.sampled_from([{"context.principal.id": "ann"}, {"context.principal.name": "x"}, {"context.environment": "dev"}]),
    st.sampled_from(
        [{"declared.cost": "medium"}, {"declared.reversible": False}, {"declared.blast_radius_hint.gt": 3}]
    ),
    st.sampled_from([{"context.extra.k": 1}, {"declared.scope.contains": "mcp:tool"}, {}]),
)
MATCHES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"all_of": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"any_of": st.lists(inner, max_size=3)}),
    ),
    max_leaves=5,
)
RULES = st.lists(
    st.tuples(MATCHES, st.sampled_from(["allow", "deny", "deny", "approve_required", "dry_run"])), max_size=4
)
DEFAULTS = st.fixed_dictionaries(
    {
        "on_missing_shadow": st.sampled_from(["deny", "deny", "approve_required"]),
        "on_rule_error": st.sampled_from(["deny", "continue"]),
    }
)


def _policy(rules: list[tuple[Any, str]], defaults: dict[str, str]) -> Policy:
    found = [{"id": f"r{n}", "match": match, "decision": verdict} for n, (match, verdict) in enumerate(rules)]
    return Policy.compile({"rules": found, "defaults": defaults})


def _request(tool: str, who: str, **more: Any) -> Any:
    return Request(tool, principal=Principal("user", who), declared=METADATA, **more)


@given(RULES, DEFAULTS)
@pytest.mark.filterwarnings("ignore")
def test_a_hidden_tool_has_no_call_that_the_policy_permits(rules: list[Any], defaults: dict[str, str]) -> None:
    policy = _policy(rules, defaults)
    for tool, who in product(TOOLS, PEOPLE):
        if not may_permit(policy, _request(tool, who)):
            for args, extra in product(ARGS, ({}, {"k": 1}, {"k": "x"})):
                decision = evaluate(policy, _request(tool, who, args=args, extra=extra))
                assert decision.verdict is Verdict.DENY


@pytest.mark.parametrize(
    "match, decision, shown",
    [
        ({"tool": "read"}, "allow", True),
        ({"tool": "read"}, "dry_run", True),
        ({"tool": "read"}, "approve_required", True),
        ({"tool": "read"}, "deny", False),
        ({"tool": "write"}, "allow", False),
        ({"tool": "read", "args.n.gt": 5}, "allow", True),
        ({"tool": "read", "context.principal.id": "ann"}, "allow", True),
        ({"tool": "read", "context.principal.id": "bob"}, "allow", False),
        ({"tool.glob": "r*"}, "allow", True),
        ({"tool.glob": "w*"}, "allow", False),
        ({"not": {"tool": "read"}}, "allow", False),
        ({"declared.cost": "low"}, "allow", False),
        ({"context.timestamp.gt": "2020-01-01T00:00:00Z"}, "allow", True),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_shown(match: Any, decision: str, shown: bool) -> None:
    policy = _policy([(match, decision)], {"on_missing_shadow": "deny"})
    assert may_permit(policy, _request("read", "ann")) is shown


@pytest.mark.filterwarnings("ignore")
def test_a_rule_that_denies_the_tool_hides_it_from_later_rules() -> None:
    policy = _policy([({"tool": "read"}, "deny"), ({}, "allow")], {})
    assert not may_permit(policy, _request("read", "ann"))
    assert may_permit(policy, _request("write", "ann"))


@pytest.mark.filterwarnings("ignore")
def test_code_as_a_rule_may_permit_anything() -> None:
    def everything(request: Any, context: Any) -> Any:
        return vars(context).get("decision")

    deny = {"rules": [], "defaults": {"on_missing_shadow": "deny"}}
    policy = Policy.compile(deny, python_rules=[everything], uncompiled="callable")
    assert may_permit(policy, _request("read", "ann"))
