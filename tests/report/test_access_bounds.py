"""The table of access never says of a call what its decision contradicts."""

from __future__ import annotations

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import campaign
from bobcat import ActionRequest, Policy
from bobcat.bounds.known import declared_facts
from bobcat.errors import BundleError
from bobcat.ir import construct
from bobcat.ir.schema import IrPolicy
from bobcat.model.decision import ToolMetadata
from bobcat.report.access import access_table
from report.callers import TOOLS, calls, cell_of, decided, policies_about_callers


@settings(max_examples=campaign.examples(120), deadline=None)
@given(policies_about_callers(), st.lists(calls(), min_size=8, max_size=8))
def test_every_decision_is_among_the_verdicts_of_its_cell(ir: IrPolicy, given_calls: list[ActionRequest]) -> None:
    policy, table = Policy.from_policy(ir), access_table(ir)
    for request in given_calls:
        assert decided(policy, request) in cell_of(table, request).verdicts


@settings(max_examples=campaign.examples(40), deadline=None)
@given(policies_about_callers(), calls(), st.booleans(), st.booleans())
def test_a_known_declaration_is_as_sound(ir: IrPolicy, request: ActionRequest, reversible: bool, shadow: bool) -> None:
    declared = ToolMetadata("low", reversible, (), None, shadow, None, "unsafe")
    table = access_table(ir, dict.fromkeys(TOOLS, declared_facts(declared)))
    call = ActionRequest(request.tool, request.args, declared, request.context)
    assert decided(Policy.from_policy(ir), call) in cell_of(table, call).verdicts


@settings(max_examples=campaign.examples(25), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(policies_about_callers(), st.lists(calls(), min_size=8, max_size=8))
def test_the_table_of_the_lynx_profile_is_as_sound(ir: IrPolicy, given_calls: list[ActionRequest]) -> None:
    try:
        policy = Policy.from_policy(construct.policy(ir.rules, profile="lynx", defaults=ir.defaults))
    except BundleError:  # an operator that the profile lacks
        reject()
    table = access_table(policy.ir)
    for request in given_calls:
        assert decided(policy, request) in cell_of(table, request).verdicts
