"""A proposal on record: the rule, the policy and the envelope that it was proposed for, and its status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import msgspec

from bobcat.ir.canonical import encode
from bobcat.ir.schema import IrRule
from bobcat.model.plain_fields import fields_to_json
from bobcat.text.shortening import shortened

KIND = "rule-proposal"
Status = Literal["granted", "pending", "denied", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposed rule.

    `rule` is the canonical JSON of the rule, `policy` and `envelope` are digests. `opens` lists what the rule would
    permit: beyond the envelope if there is such a call, else in comparison with the policy. `granted_by` is `envelope`,
    `narrower`, or the approver. `ended_by` is who denied or revoked it, with the text `ended_for`. `approval` is the id
    of the question to an approver. `round` counts earlier grants, and questions without an answer in time.
    """

    id: str
    status: Status
    rule_id: str
    rule: str
    policy: str
    envelope: str
    by: str
    reason: str
    seconds: float
    created: datetime
    expires: datetime | None
    opens: tuple[str, ...] = ()
    granted_by: str = ""
    approval: str = ""
    round: int = 0
    ended_by: str = ""
    ended_for: str = ""

    def as_of(self, now: datetime) -> Proposal:
        """Return the proposal at a time: a granted one past its end has expired."""
        ended = self.status == "granted" and self.expires is not None and now >= self.expires
        return replace(self, status="expired") if ended else self

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the proposal as plain JSON data; points in time as ISO 8601."""
        return fields_to_json(self)


def proposal_from_json(body: Mapping[str, Any]) -> Proposal:
    """Read the proposal of a document. Raises `ValueError` for anything else."""
    read = msgspec.convert(body, Proposal)
    if read.expires is not None and read.expires.tzinfo is None:
        raise ValueError("a moment without an offset")
    if read.status == "granted" and read.expires is None:
        raise ValueError("a grant without an end")
    if encode(ir_rule(read)).decode() != read.rule:
        raise ValueError(f"the rule {shortened(read.rule, 100)} is not in canonical form")
    return read


def ir_rule(proposal: Proposal) -> IrRule:
    """Return the rule of a proposal. Raises `ValueError` for anything else."""
    return msgspec.json.decode(proposal.rule, type=IrRule)
