"""Proposal of a rule: proved to stay within the envelope, and granted; or a question to an approver."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from bobcat.analysis.difference import diff
from bobcat.analysis.engine import Effort
from bobcat.analysis.inputs import PolicyInput, policy_of
from bobcat.analysis.model import Diff
from bobcat.analysis.summary import SAME, region_lines
from bobcat.approvals import Pending, durable_approvals
from bobcat.approvals.outlook import PROPOSE
from bobcat.approvals.record import KIND as APPROVAL
from bobcat.approvals.record import approval_at
from bobcat.bundle.model import Policy
from bobcat.ir.canonical import encode
from bobcat.ir.pretty import rule_text
from bobcat.ir.schema import IrRule
from bobcat.model.decision import ActionRequest, Decision, Principal, Verdict
from bobcat.model.defaults import CONTEXT, DECLARED
from bobcat.model.run import ApprovalRequest
from bobcat.proposals.extension import with_rules
from bobcat.proposals.proposed_rule import proposed_rule
from bobcat.proposals.record import KIND, Proposal, proposal_from_json
from bobcat.proposals.register import check_id
from bobcat.stores.protocol import DurableStore, VersionConflict

DAY = 86_400.0
MAX_SECONDS = 366 * DAY
MAX_NOTES = 200
"""Lines about the calls that a rule would permit; the rest is counted."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A proposal with what is needed to decide it."""

    policy: Policy
    envelope: Policy
    rule: IrRule
    widened: Policy


async def propose(
    store: DurableStore,
    policy: PolicyInput,
    rule: PolicyInput,
    *,
    envelope: PolicyInput,
    by: str,
    reason: str = "",
    seconds: float = DAY,
    approvers: Sequence[str] = (),
    budget: float | None = None,
) -> Proposal:
    """Propose a rule for a policy, and return the proposal as it is now on record.

    `rule` is a policy with one rule, which is added. A policy with it that permits no call more than before, or none
    more than `envelope`, and runs none with other arguments, is granted for `seconds`. Any other proposal is a question
    to `approvers`, with the calls that it would permit: propose it again for the answer. What is not proved is asked. A
    denial and a revocation are final for this rule, proposer and time; a grant or a question that has expired is
    followed by a new one.

    Raises `ValueError` for a rule that cannot be added, for another rule with this id that was proposed for the policy
    and is granted or waits, for a proposer who is among the approvers, and `PolicyCompileError`.
    """
    if not by.strip():
        raise ValueError("a proposal needs the name of who makes it")
    if by in approvers:
        raise ValueError(f"`{by}` proposes the rule, and cannot be its approver")
    if not 0 < seconds <= MAX_SECONDS or math.isnan(seconds):
        raise ValueError(f"seconds must be above 0 and at most {MAX_SECONDS:,.0f}, got {seconds!r}")
    question = _question(policy_of(policy), policy_of(rule), policy_of(envelope))
    id = _id(question, by, seconds)
    while True:
        entry = await store.get(KIND, id)
        now = await store.now()
        known = None if entry is None else proposal_from_json(entry.body).as_of(now)
        if known is not None and known.status in ("granted", "denied", "revoked"):
            return known
        asked = _proposal(question, id, by, reason, seconds, now, await _round(store, known, now))
        await check_id(store, asked)
        decided = await _decided(store, question, asked, approvers, budget)
        try:
            await store.put(KIND, id, decided.to_json(), expected=0 if entry is None else entry.version)
        except VersionConflict:
            continue  # another process proposed the same
        return decided


async def _round(store: DurableStore, known: Proposal | None, now: datetime) -> int:
    """Return the number of earlier grants and of questions without an answer in time."""
    if known is None:
        return 0
    entry = await store.get(APPROVAL, known.approval) if known.status == "pending" else None
    unanswered = entry is not None and approval_at(entry).as_of(now).status == "expired"
    return known.round + (unanswered or known.status == "expired")


def _question(policy: Policy, given: Policy, envelope: Policy) -> _Question:
    if policy.combine is not None or policy.profile != "strict":
        raise ValueError("a rule is proposed for a policy of the profile `strict` without layers")
    rule = proposed_rule(given)
    if any((item.id if isinstance(item, IrRule) else item.name) == rule.id for item in policy.ir.rules):
        raise ValueError(f"the policy has a rule `{rule.id}`; give the proposed one another id")
    return _Question(policy, envelope, rule, with_rules(policy, [rule]))


def _id(question: _Question, by: str, seconds: float) -> str:
    parts = (question.policy.id, question.envelope.id, encode(question.rule).hex(), by, repr(float(seconds)))
    return sha256("\0".join(("bobcat/proposal/v1", *parts)).encode("utf-8", "backslashreplace")).hexdigest()[:20]


def _proposal(
    question: _Question, id: str, by: str, reason: str, seconds: float, now: datetime, round: int
) -> Proposal:
    return Proposal(
        id,
        "pending",
        str(question.rule.id),
        encode(question.rule).decode(),
        question.policy.id,
        question.envelope.id,
        by,
        reason,
        seconds,
        now,
        None,
        round=round,
    )


async def _decided(
    store: DurableStore, question: _Question, asked: Proposal, approvers: Sequence[str], budget: float | None
) -> Proposal:
    """Grant a proposal that is proved to be harmless, else ask an approver."""
    effort = Effort.within(budget)
    own = await asyncio.to_thread(diff, question.policy, question.widened, budget=effort.left)
    if not own.may_exceed:
        return _granted(asked, "narrower", own)
    found = await asyncio.to_thread(diff, question.envelope, question.widened, budget=effort.left)
    # After a transform, other rules decide on the arguments that it makes.
    beyond = found if question.rule.verdict == "transform" else _by_rule(found, asked.rule_id)
    if not beyond.may_exceed:
        return _granted(asked, "envelope", own)
    opens = _lines(beyond.exceeding_part)
    answer = await durable_approvals(store)(_request(asked, opens, approvers, question.rule))
    if isinstance(answer, Pending):
        return replace(asked, approval=answer.approval, opens=opens)
    if answer.granted and answer.args is None and answer.approver != asked.by:
        return replace(_granted(asked, answer.approver, own), opens=opens)
    reason = answer.reason
    if answer.granted:
        reason = "the proposer cannot grant a rule" if answer.args is None else "an answer cannot change the rule"
    return replace(asked, status="denied", opens=opens, ended_by=answer.approver, ended_for=reason)


def _by_rule(found: Diff, rule: str) -> Diff:
    """Return the part of a difference that a rule decides: other calls are decided as they are without it."""
    return replace(found, regions=tuple(region for region in found.regions if region.new.rule.id == rule))


def _granted(asked: Proposal, by: str, own: Diff) -> Proposal:
    end = asked.created + timedelta(seconds=asked.seconds)
    return replace(asked, status="granted", expires=end, granted_by=by, opens=_lines(own))


def _lines(found: Diff) -> tuple[str, ...]:
    lines = [SAME] if found.same else list(region_lines(found))
    if len(lines) > MAX_NOTES:
        lines = [*lines[:MAX_NOTES], f"and {len(lines) - MAX_NOTES:,} more lines"]
    return tuple(lines)


def _request(asked: Proposal, opens: tuple[str, ...], approvers: Sequence[str], rule: IrRule) -> ApprovalRequest:
    """Return the question: the rule as arguments and as readable notes, then the calls beyond the envelope."""
    arguments: Mapping[str, object] = {"rule": asked.rule, "envelope": asked.envelope, "seconds": asked.seconds}
    context = replace(CONTEXT, principal=Principal("agent", asked.by), timestamp=asked.created)
    request = ActionRequest(PROPOSE, arguments, DECLARED, context)
    decision = Decision(Verdict.APPROVE_REQUIRED, asked.reason or f"proposed by {asked.by}", (asked.rule_id,),
                        approvers=tuple(approvers))  # fmt: skip
    return ApprovalRequest(
        request,
        decision,
        asked.id,
        run_id=f"proposal-{asked.id}",
        bundle_id=asked.policy,
        round=asked.round,
        notes=(*rule_text(rule).splitlines(), "beyond the envelope:", *opens),
    )
