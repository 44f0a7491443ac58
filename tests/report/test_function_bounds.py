"""The bounds of compiled Python functions: what a function does is among what is said of it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import campaign
from bobcat import Policy
from bobcat.bounds.decisions import Bounds
from bobcat.bounds.known import TOOL, Exactly, Known, Other
from bobcat.build.rule_module import load_rules
from bobcat.frontend.python.lower import lower_function
from bobcat.ir.schema import FunctionRule
from bobcat.report.access import access_table
from pyrules.calls import request
from pyrules.differential_rules import compiled
from pyrules.grammar import forget, rule_of
from pyrules.rules import corpus

CALLS = 25
TOOLS = frozenset(("read_file", "deploy", "t"))
LOWERED = {
    name: found.rule for name, rule in corpus().items() if (found := lower_function(rule, name, 0)).rule is not None
}


def check(rule: FunctionRule, seed: int) -> None:
    policy = compiled(rule)
    bounds, rng = Bounds(policy.ir), Random(seed)
    for _ in range(CALLS):
        call = request(rng)
        named = Known({TOOL: Exactly(call.tool), ("context", "environment"): Exactly(call.context.environment)})
        verdict = str(policy.evaluate(call).verdict)
        assert verdict in bounds.of(named).verdicts
        if call.tool not in TOOLS:
            assert verdict in bounds.of(Known({TOOL: Other(TOOLS)})).verdicts
        assert verdict in bounds.of(Known({})).verdicts


@pytest.mark.parametrize("name", LOWERED)
def test_a_rule_of_the_corpus_stays_within_its_bounds(name: str) -> None:
    check(LOWERED[name], 1)


def test_generated_functions_stay_within_their_bounds() -> None:
    for seed in range(campaign.rounds(40)):
        rule = lower_function(rule_of(seed), f"rule{seed}", 0).rule
        if rule is not None:
            check(rule, seed)
        forget(seed)


MODULE = """
from bobcat import deny, rule


@rule(priority=9)
def careful(request, context):
    if request.tool not in ("pay", "refund") or context.environment == "dev":
        return None
    if request.args.get("amount") == 1:
        return deny("no")
    return None
"""


def test_a_function_about_two_tools_leaves_the_others_alone(tmp_path: Path) -> None:
    (tmp_path / "careful.py").write_text(MODULE)
    rules = load_rules(MODULE, str(tmp_path / "careful.py")).rules
    policy = Policy.compile({"rules": [{"id": "all", "match": {}, "decision": "allow"}]}, python_rules=rules)
    table = access_table(policy.ir)
    assert [row.tool for row in table.rows] == ["pay", "refund", None]
    assert [column.labels[0][1] for column in table.columns.columns] == ["dev", None]
    pay, _, other = table.rows
    assert [cell.verdicts for cell in pay.cells] == [("allow",), ("allow", "deny")]
    assert [cell.verdicts for cell in other.cells] == [("allow",), ("allow",)]
