"""A policy with further rules, each of which may have an end in time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from bobcat.bundle.model import Policy
from bobcat.bundle.source_map import RuleSource
from bobcat.ir import construct
from bobcat.ir.schema import IrRule
from bobcat.proposals.record import Proposal, ir_rule

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_PLACE = RuleSource(-1, 0, 0, 0, 0, "", 0)


def extended(policy: Policy, proposals: Iterable[Proposal]) -> Policy:
    """Return a policy with the rules of granted proposals, each of which fires before its end only.

    A rule that several have proposed has the last of their ends. Raises `ValueError` for a proposal that is not
    granted, or is about another policy, and for different rules with one id.
    """
    ends: dict[str, tuple[Proposal, datetime]] = {}
    for proposal in proposals:
        if proposal.status != "granted" or proposal.expires is None:
            raise ValueError(f"the proposal `{proposal.id}` is {proposal.status}")
        if proposal.policy != policy.id:
            raise ValueError(f"the proposal `{proposal.id}` is about another policy, {proposal.policy[:12]}")
        known, end = ends.get(proposal.rule_id, (proposal, proposal.expires))
        if known.rule != proposal.rule:
            raise ValueError(f"the proposals `{known.id}` and `{proposal.id}` have different rules `{known.rule_id}`")
        ends[proposal.rule_id] = known, max(end, proposal.expires)
    rules = [until(ir_rule(proposal), end) for proposal, end in ends.values()]
    return with_rules(policy, rules) if rules else policy


def until(rule: IrRule, end: datetime) -> IrRule:
    """Return a rule that fires before a point in time only."""
    micros = (end - _EPOCH) // timedelta(microseconds=1)
    clause = construct.leaf("context", ("timestamp",), "lt", {"timestamp": micros})
    return msgspec.structs.replace(rule, match=construct.all_([rule.match, clause]))


def with_rules(policy: Policy, rules: Iterable[IrRule]) -> Policy:
    """Return a policy with further rules, after its own of equal priority."""
    ir, places = policy.ir, policy.source_map
    own = places.rules if places is not None else (_NO_PLACE,) * len(ir.rules)
    pairs = [*zip(ir.rules, own, strict=True), *((rule, _NO_PLACE) for rule in rules)]
    pairs.sort(key=lambda pair: construct.evaluation_key(pair[0]))
    sources = tuple(place for _, place in pairs)
    return Policy.from_policy(
        msgspec.structs.replace(ir, rules=tuple(rule for rule, _ in pairs)),
        host_rules=tuple(function for _, _, function in policy.python_rules),
        source_map=None if places is None else msgspec.structs.replace(places, rules=sources),
        sources=policy.sources,
    )
