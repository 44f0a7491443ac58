"""Requests made from the clauses of a strict policy: every operator is met, and not met."""

from __future__ import annotations

import pytest

from bobcat.bundle.model import PolicyBundle
from bobcat.compiler import compile_policy
from bobcat.doctor.probe_requests import probe_requests
from bobcat.model.request_json import request_from_json

CLAUSES = [
    "args.x.starts_with: /etc",
    "args.x.ends_with: [.pem, .key]",
    "args.x.glob: /srv/**/*.py",
    "args.x.length: 3",
    "args.x.length: {gt: 2, lt: 9}",
    "args.x.lower: {contains: drop}",
    "args.x.any: {eq: secret}",
    "args.x.all.ends_with: '@example.com'",
    "args.x.none: {lower: {starts_with: rm}}",
    "args.x.any.any.gt: 5",
    "args.x.eq: {ref: context.principal.id}",
    "args.x.in: {ref: args.y}",
    "args.x.contains: {ref: context.environment}",
    "args.x.gt: {ref: context.step_seq}",
    "args.x.le: {ref: args.y}",
    "args.x.starts_with: {ref: context.workspace}",
    "args.x.any.ends_with: {ref: tool}",
    "args.x.all.in: {ref: context.extra.known}",
    "args.x.length.ge: {ref: declared.blast_radius_hint}",
    "args.x.lower.eq: {ref: declared.cost}",
]


def bundle(clause: str) -> PolicyBundle:
    return compile_policy(f"rules: [{{id: r, match: {{{clause}}}, decision: deny}}]\ndefaults: {{on_no_match: allow}}")


@pytest.mark.parametrize("clause", CLAUSES)
def test_some_request_meets_the_clause_and_some_other_does_not(clause: str) -> None:
    policy = bundle(clause)
    found = {
        str(policy.evaluate(request_from_json(request)).matched_rules[0]).partition(":")[0]
        for request in probe_requests(policy.ir)
    }
    assert found == {"r", "<default", "<rule_error"}
