"""The table of access never says of a call what its decision contradicts."""

from __future__ import annotations

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import campaign
from bobcat import ActionRequest, Policy
from bobcat.errors import BundleError
from bobcat.ir import construct
from bobcat.ir.schema import IrPolicy
from bobcat.model.decision import ToolMetadata
from bobcat.report.access import access_table
from bobcat.report.probing import probed
from report.callers import TOOLS, calls, cell_of, decided, policies_about_callers


@settings(max_examples=campaign.examples(70), deadline=None)
@given(policies_about_callers(), st.lists(calls(), min_size=8, max_size=8))
def test_every_decision_is_among_the_verdicts_of_its_cell(ir: IrPolicy, given_calls: list[ActionRequest]) -> None:
    policy, table = Policy.from_policy(ir), access_table(ir)
    for request in given_calls:
        assert decided(policy, request) in cell_of(table, request).verdicts


@settings(max_examples=campaign.examples(12), deadline=None)
@given(policies_about_callers())
def test_example_calls_stay_within_the_bounds(ir: IrPolicy) -> None:
    table = access_table(ir)
    found = probed(Policy.from_policy(ir), table)
    for before, after in zip(table.rows, found.rows, strict=True):
        for bound, cell in zip(before.cells, after.cells, strict=True):
            assert set(cell.seen) <= set(bound.verdicts)
            assert cell.verdicts == bound.verdicts


@settings(max_examples=campaign.examples(25), deadline=None)
@given(policies_about_callers(), calls(), st.booleans(), st.booleans())
def test_a_known_declaration_is_as_sound(ir: IrPolicy, request: ActionRequest, reversible: bool, shadow: bool) -> None:
    declared = ToolMetadata("low", reversible, (), None, shadow, None, "unsafe")
    table = access_table(ir, dict.fromkeys(TOOLS, declared))
    call = ActionRequest(request.tool, request.args, declared, request.context)
    assert decided(Policy.from_policy(ir), call) in cell_of(table, call).verdicts


@settings(max_examples=campaign.examples(15), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(policies_about_callers(), st.lists(calls(), min_size=8, max_size=8))
def test_the_table_of_the_lynx_profile_is_as_sound(ir: IrPolicy, given_calls: list[ActionRequest]) -> None:
    try:
        policy = Policy.from_policy(construct.policy(ir.rules, profile="lynx", defaults=ir.defaults))
    except BundleError:  # an operator that the profile lacks
        reject()
    table = access_table(policy.ir)
    for request in given_calls:
        assert decided(policy, request) in cell_of(table, request).verdicts
