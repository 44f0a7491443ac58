"""No shipped policy lets an attack of its table pass, and each still does its work. The tables are `attacks.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from bobcat import Decision, PolicyBundle, evaluate
from bobcat._core import RunState
from bobcat.ir.schema import Measure
from bobcat.model.request_json import request_from_json
from policies.shipped import PERMITS, shipped_policies

TABLES: dict[str, dict[str, list[list[Any]]]] = yaml.safe_load(
    Path(__file__).with_name("attacks.yaml").read_text(encoding="utf-8")
)
# What a tool may declare: nothing (the worst), what `@tool()` declares, a shadow, the scope of MCP and protected tools.
DECLARED: list[dict[str, Any]] = [
    {},
    {"reversible": True, "cost": "low"},
    {"has_shadow": True},
    {"scope": ["mcp:tool"]},
    {"scope": ["undo"]},
]


@cache
def shipped() -> dict[str, list[PolicyBundle]]:
    return shipped_policies()


def decide(
    bundle: PolicyBundle, tool: str, args: dict[str, Any], context: dict[str, Any], run: Any = None, **declared: Any
) -> Decision:
    request = {"tool": tool, "args": args, "context": context, "declared": declared}
    state = None if run is None else state_of(bundle, **run)
    return evaluate(bundle, request_from_json(request), state=state)


def state_of(bundle: PolicyBundle, task: str | None = None, calls: Any = (), shared: int | None = None) -> RunState:
    """The state after calls, each a tool, arguments and perhaps a result; `shared` is the value of all measures with
    `by`.
    """
    state = RunState(bundle, task=task)
    for number, (tool, args, *result) in enumerate(calls):
        request = request_from_json({"tool": tool, "args": args})
        state.call(request, f"call-{number}")
        if result:
            state.result(f"call-{number}", result[0], request.context.timestamp)
        state.next_reply()
    if shared is not None and isinstance(bundle.ir.memory, dict):
        measures = {name: item for name, item in bundle.ir.memory.items() if isinstance(item, Measure)}
        state.share({name: shared for name, item in measures.items() if isinstance(item.by, str)})
    return state


def passes(decision: Decision) -> bool:
    """True if the call can run, or a rule requires an approval; a default that asks is not a permission."""
    if decision.verdict in ("allow", "transform"):
        return True
    return decision.verdict == "approve_required" and not decision.matched_rules[-1].startswith("<default:")


def test_every_shipped_policy_that_permits_something_has_a_table() -> None:
    assert sorted(TABLES) == sorted(shipped())


@pytest.mark.parametrize("name", TABLES)
def test_no_attack_passes(name: str) -> None:
    passed = [
        f"{tool} {args} {context} declared {declared}: {decision.verdict} by {decision.matched_rules}"
        for tool, args, *more in TABLES[name]["attacks"]
        for context, run in [((more[0] if more else {}), (more[1] if len(more) > 1 else None))]
        for bundle in shipped()[name]
        for declared in DECLARED
        if passes(decision := decide(bundle, tool, args, context, run, **declared))
    ]
    assert passed == []


@pytest.mark.parametrize("name", TABLES)
def test_every_permission_is_used_by_a_call_that_it_is_meant_for(name: str) -> None:
    unused = {rule.id for bundle in shipped()[name] for rule in bundle.rules if rule.verdict in PERMITS}
    for rule, tool, args, *more in TABLES[name]["works"]:
        context, run = (more[0] if more else {}), (more[1] if len(more) > 1 else None)
        decisions = [
            decide(bundle, tool, args, context, run, **declared) for bundle in shipped()[name] for declared in DECLARED
        ]
        assert any(passes(one) and one.matched_rules[0] == rule for one in decisions), (rule, args, decisions)
        unused.discard(rule)
    assert unused == set()


def test_the_starter_asks_a_person_for_nothing_but_what_its_table_names() -> None:
    """A tool without a rule is denied, whatever it declares, without an approval."""
    (bundle,) = shipped()["bobcat init"]
    for declared in DECLARED:
        assert decide(bundle, "anything", {"cmd": "rm -rf /"}, {}, **declared).verdict == "deny"
