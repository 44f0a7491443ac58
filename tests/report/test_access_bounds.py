"""The table of access never says of a call what its decision contradicts."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

import campaign
from bobcat import ActionRequest, Policy, Principal
from bobcat.bounds.decisions import Cell
from bobcat.bounds.known import Exactly
from bobcat.ir import construct
from bobcat.ir.schema import Defaults, Expr, IrPolicy
from bobcat.model.decision import ToolMetadata
from bobcat.report.access import AccessTable, access_table
from strategies import exprs, policies, requests, rules

TOOLS = ["a", "ab", "b", "c"]
ENVIRONMENTS = ["prod", "a", "dev"]
CALLERS = [("user", "x"), ("agent", "x"), ("service", "y")]

tests_of_callers = st.one_of(
    st.sampled_from(TOOLS).map(lambda tool: construct.leaf("tool", (), "eq", tool)),
    st.lists(st.sampled_from(TOOLS), max_size=3).map(lambda tools: construct.leaf("tool", (), "in", tools)),
    st.lists(st.sampled_from([*TOOLS, True, 1, None]), max_size=3).map(
        lambda tools: construct.leaf("tool", (), "not_in", tools)
    ),
    st.sampled_from(["a", "^a", "z"]).map(lambda text: construct.leaf("tool", (), "matches", text, "re2")),
    st.sampled_from(ENVIRONMENTS).map(lambda name: construct.leaf("context", ("environment",), "eq", name)),
    st.sampled_from(ENVIRONMENTS).map(lambda name: construct.leaf("context", ("environment",), "not_in", [name])),
    st.sampled_from(["user", "agent"]).map(lambda kind: construct.leaf("context", ("principal", "kind"), "eq", kind)),
    st.sampled_from(["x", "z"]).map(lambda id: construct.leaf("context", ("principal", "id"), "eq", id)),
    st.booleans().map(lambda value: construct.leaf("declared", ("reversible",), "eq", value)),
)
mixed: st.SearchStrategy[Expr] = st.recursive(
    st.one_of(tests_of_callers, tests_of_callers, exprs),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(construct.all_),
        st.lists(inner, max_size=2).map(construct.any_),
        inner.map(construct.not_),
    ),
    max_leaves=4,
)


@st.composite
def policies_about_callers(draw: st.DrawFn) -> IrPolicy:
    found = draw(policies())
    defaults = Defaults(found.defaults.on_no_match, found.defaults.on_missing_shadow, found.defaults.on_rule_error)
    drawn = [draw(rules(index)) for index in range(draw(st.integers(1, 5)))]
    changed = [
        construct.rule(
            rule.id, draw(mixed), rule.verdict, priority=rule.priority, reason="", approvers=(),
            timeout_seconds=None, transform=rule.transform,
        )
        for rule in drawn
    ]  # fmt: skip
    return construct.policy(changed, defaults=defaults)


@st.composite
def calls(draw: st.DrawFn) -> ActionRequest:
    request = draw(requests)
    kind, id = draw(st.sampled_from(CALLERS))
    context = replace(
        request.context, environment=draw(st.sampled_from(ENVIRONMENTS)), principal=Principal(kind, id, None)
    )
    return ActionRequest(draw(st.sampled_from(TOOLS)), request.args, request.declared, context)


def cell_of(table: AccessTable, request: ActionRequest) -> Cell:
    """The cell to which a call belongs."""
    row = next(row for row in table.rows if row.tool in (request.tool, None))
    caller = request.context.principal
    values = {
        ("context", "environment"): request.context.environment,
        ("context", "principal", "kind"): caller.kind,
        ("context", "principal", "id"): caller.id,
    }
    columns = table.columns.columns
    named = {path: {label for column in columns for at, label in column.labels if at == path} for path in values}
    wanted = {path: value if value in named[path] else None for path, value in values.items()}
    [index] = [
        index for index, column in enumerate(columns) if all(wanted[path] == label for path, label in column.labels)
    ]
    return row.cells[index]


def decided(policy: Policy, request: ActionRequest) -> str:
    return str(policy.evaluate(request).verdict)


@settings(max_examples=campaign.examples(120), deadline=None)
@given(policies_about_callers(), st.lists(calls(), min_size=8, max_size=8))
def test_every_decision_is_among_the_verdicts_of_its_cell(ir: IrPolicy, given_calls: list[ActionRequest]) -> None:
    policy, table = Policy.from_policy(ir), access_table(ir)
    for request in given_calls:
        assert decided(policy, request) in cell_of(table, request).verdicts


@settings(max_examples=campaign.examples(40), deadline=None)
@given(policies_about_callers(), calls(), st.booleans(), st.booleans(), st.data())
def test_a_known_declaration_is_as_sound(
    ir: IrPolicy, request: ActionRequest, reversible: bool, shadow: bool, data: st.DataObject
) -> None:
    declared = ToolMetadata("low", reversible, (), None, shadow, None, "unsafe")
    facts = {
        ("declared", name): Exactly(getattr(declared, name))
        for name in ("cost", "reversible", "has_shadow", "isolation", "effect")
    }
    table = access_table(ir, dict.fromkeys(TOOLS, facts))
    call = ActionRequest(request.tool, request.args, declared, request.context)
    assert decided(Policy.from_policy(ir), call) in cell_of(table, call).verdicts
    always = [row.cells[0].always for row in table.rows]
    assert all(verdict in (None, "allow", "deny", "dry_run", "approve_required", "transform") for verdict in always)
