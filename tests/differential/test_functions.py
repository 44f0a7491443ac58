"""Functions that run in the core against CPython, which runs the same functions from their source."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies

import campaign
from bobcat import pdp
from bobcat.bundle.model import PolicyBundle
from bobcat.ir import schema
from bobcat.ir.code import Statement
from bobcat.model.decision import ActionRequest, Decision
from oracle import function_source
from oracle.function_nodes import Functions, request

REQUESTS = 6
PARTS = max(1, campaign.SIZE // 200)
# The core reports functions that it cannot evaluate, and never guesses a decision.
OWN = ("unsupported", "too_many_steps", "too_large", "bad_unicode", "out_of_range", "wrong_type")


def policy(rule: schema.AnyRule) -> schema.IrPolicy:
    return schema.IrPolicy(schema.IR_VERSION, "strict", 1, schema.Defaults("allow", "deny", "deny"), (rule,))


def both(body: tuple[Statement, ...], slots: int) -> tuple[PolicyBundle, PolicyBundle]:
    """A function in the core, and the same one as a callable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CPython warns about the unusual code
        rule = function_source.function(body, slots)
    host = schema.HostRule("f", 0, "m", "q", "c")
    return (
        PolicyBundle.from_policy(policy(schema.FunctionRule("f", 0, slots, body))),
        PolicyBundle.from_policy(policy(host), host_rules=(rule,)),
    )


def shown(decision: Decision) -> str:
    """A decision as text: NaN is NaN, 1 is not True. Where a name is free in a comprehension CPython 3.11 says so."""
    return repr(decision).replace("NameError", "UnboundLocalError")


def is_own(decision: Decision) -> bool:
    return decision.matched_rules[-1].removeprefix("<rule_error:f:").removesuffix(">") in OWN


@given(strategies.integers(0, 2**40))
def test_a_function_decides_in_the_core_as_in_cpython(seed: int) -> None:
    random = Random(seed)
    body, slots = Functions(random).function()
    core, host = both(body, slots)
    for _ in range(REQUESTS):
        made = request(random)
        found = pdp.evaluate(core, made)
        if not is_own(found):
            assert shown(found) == shown(pdp.evaluate(host, made)), function_source.source(body, slots)


@given(strategies.integers(0, 2**40))
def test_a_function_decides_by_its_short_cuts_as_without_them(seed: int) -> None:
    random = Random(seed)
    body, slots = Functions(random).function()
    core, _ = both(body, slots)
    for _ in range(REQUESTS):
        made = request(random)
        plain = pdp.explain(core, made).decision  # along the plain path
        assert shown(pdp.evaluate(core, made)) == shown(plain), function_source.source(body, slots)


def as_json(made: ActionRequest) -> bytes:
    context, declared = made.context, made.declared
    data: dict[str, Any] = {
        "tool": made.tool,
        "args": made.args,
        "declared": {"cost": declared.cost, "reversible": declared.reversible, "scope": declared.scope},
        "context": {
            "principal": {"kind": context.principal.kind, "id": context.principal.id, "name": context.principal.name},
            "environment": context.environment,
            "workspace": context.workspace,
            "correlation_id": context.correlation_id,
            "step_seq": context.step_seq,
            "timestamp": context.timestamp.isoformat(),
            "extra": dict(context.extra),
        },
    }
    return json.dumps(data).encode()


@given(strategies.integers(0, 2**40))
def test_a_function_decides_on_json_as_on_objects(seed: int) -> None:
    random = Random(seed)
    body, slots = Functions(random).function()
    core, _ = both(body, slots)
    for _ in range(REQUESTS):
        made = request(random)
        (found,) = pdp.evaluate_json(core, as_json(made))
        wanted = pdp.evaluate(core, made)
        if found.matched_rules == ("<rule_error:f:cannot_transform>",):
            continue  # new arguments with keys that JSON does not have
        # A tuple that goes through JSON is a list, in new arguments.
        assert shown(found).replace("(", "[") == shown(wanted).replace("(", "["), function_source.source(body, slots)


def test_most_generated_functions_are_evaluated_and_some_decide() -> None:
    own, decided, total = 0, 0, 0
    for seed in range(150):
        random = Random(seed)
        core, _ = both(*Functions(random).function())
        for _ in range(REQUESTS):
            found = pdp.evaluate(core, request(random))
            total += 1
            own += is_own(found)
            decided += found.matched_rules == ("f",)
    assert own < total * 0.05
    assert decided > total * 0.1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_campaign_finds_no_difference(part: int, record_property: Callable[[str, int], None]) -> None:
    seeds = campaign.seeds(campaign.SIZE, part, PARTS)
    for seed in seeds:
        test_a_function_decides_in_the_core_as_in_cpython.hypothesis.inner_test(seed)  # type: ignore[attr-defined]
    record_property("functions of nodes that run as in CPython", len(seeds))
