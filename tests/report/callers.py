"""Policies that distinguish callers, calls of them, and the cell of a table to which a call belongs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from bobcat import ActionRequest, Policy, Principal
from bobcat.bounds.decisions import Cell
from bobcat.ir import construct
from bobcat.ir.schema import Defaults, Expr, IrPolicy
from bobcat.report.access import AccessTable
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
