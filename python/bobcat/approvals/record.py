"""An approval on record: the question, what it is bound to, and the answers so far.

It is one document of a store. Whoever asks and whoever answers read it, decide on a new body, and write that by
compare-and-set, so that of two answers one comes first everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

import msgspec

from bobcat.approvals.binding import canonical, question_digest
from bobcat.errors import ApprovalError
from bobcat.model import ApprovalRequest
from bobcat.stores.durable import Entry

KIND = "approval"
STEP_KIND = "approval-step"
"""One document for each step of a run: the approval it waits for."""

ApprovalStatus = Literal["pending", "granted", "denied", "expired", "withdrawn"]
"""Where an approval stands. `withdrawn`: the run asks something else by now."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One answer of one approver."""

    approver: str
    granted: bool
    at: datetime
    reason: str = ""
    digest: str = ""
    """Of a grant: policy, tool and the arguments that were granted, edited ones included. Older answers have none."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One question to people, and how it stands.

    `args` are the effective arguments: what a grant lets happen. `edited` replaces them when the approver gave others.
    `uncertain` says that an earlier attempt may have taken effect: a grant can make the action happen twice. `digest`
    names policy, tool, arguments, the tool's `definition` and `uncertain` together. `used` says when a run took the
    grant up, `told` whether the approvers were notified, `notify_error` how the last try failed.
    """

    id: str
    status: ApprovalStatus
    run_id: str
    step: int
    round: int
    tool: str
    args: Mapping[str, Any]
    reason: str
    rules: tuple[str, ...]
    bundle_id: str
    digest: str
    principal: str
    environment: str
    approvers: tuple[str, ...]
    needed: int
    created: datetime
    expires: datetime | None
    answers: tuple[GivenAnswer, ...] = ()
    edited: Mapping[str, Any] | None = None
    used: datetime | None = None
    told: bool = False
    definition: str = ""
    uncertain: bool = False
    notify_error: str = ""

    @property
    def granted_by(self) -> tuple[str, ...]:
        """Who has granted, in order."""
        return tuple(answer.approver for answer in self.answers if answer.granted)

    def as_of(self, now: datetime) -> Approval:
        """The approval with its end taken into account: a pending one whose time is over has expired."""
        if self.status == "pending" and self.expires is not None and now >= self.expires:
            return replace(self, status="expired")
        return self

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The approval as plain JSON data; points in time as ISO 8601."""
        return {
            "id": self.id,
            "status": self.status,
            "run_id": self.run_id,
            "step": self.step,
            "round": self.round,
            "tool": self.tool,
            "args": dict(self.args),
            "reason": self.reason,
            "rules": list(self.rules),
            "bundle_id": self.bundle_id,
            "digest": self.digest,
            "principal": self.principal,
            "environment": self.environment,
            "approvers": list(self.approvers),
            "needed": self.needed,
            "created": self.created.isoformat(),
            "expires": None if self.expires is None else self.expires.isoformat(),
            "answers": [
                {
                    "approver": one.approver,
                    "granted": one.granted,
                    "at": one.at.isoformat(),
                    "reason": one.reason,
                    "digest": one.digest,
                }
                for one in self.answers
            ],
            "edited": None if self.edited is None else dict(self.edited),
            "used": None if self.used is None else self.used.isoformat(),
            "told": self.told,
            **({"definition": self.definition} if self.definition else {}),
            "uncertain": self.uncertain,
            "notify_error": self.notify_error,
        }


def approval_at(entry: Entry) -> Approval:
    """The approval in a document of a store. Raises `ApprovalError` (`damaged`), also for one under another id."""
    approval = approval_from_json(entry.body)
    if approval.id != entry.key:
        raise ApprovalError("damaged", f"the approval `{entry.key}` of this store holds `{approval.id}`")
    return approval


def approval_from_json(body: Mapping[str, Any]) -> Approval:
    """The approval of a document. Raises `ApprovalError` (`damaged`) for what is none, or does not match its digest."""
    try:
        read = msgspec.convert(body, Approval)
        read = replace(read, args=body["args"], edited=body.get("edited"))
        _check(read)
    except (msgspec.ValidationError, ValueError) as error:  # an `EncodingError` is a `ValueError`
        raise ApprovalError("damaged", f"an approval of this store cannot be read: {str(error)[:200]}") from error
    return read


def _check(read: Approval) -> None:
    """What types do not say. Raises `ValueError`."""
    moments = (read.created, read.expires, read.used, *(answer.at for answer in read.answers))
    if any(moment is not None and moment.tzinfo is None for moment in moments):
        raise ValueError("a moment without an offset")
    if read.needed < 1:
        raise ValueError("an approval that nobody needs to give")
    if read.status == "denied" and not (read.answers and not read.answers[-1].granted):
        raise ValueError("an approval that nobody denied")
    if read.digest != _digest(read, read.args):
        raise ValueError("the question was changed: it does not match its digest")
    if read.id != _id(read.run_id, read.step, read.round, read.digest):
        raise ValueError("the question was changed: it does not match its id")
    granted = read.args if read.edited is None else read.edited
    if any(answer.digest not in ("", _digest(read, granted)) for answer in read.answers if answer.granted):
        raise ValueError("the arguments were changed: they do not match what was granted")


def granted_digest(approval: Approval) -> str:
    """The digest of what a grant of `approval` lets happen, with its edited arguments if it has some."""
    return _digest(approval, approval.args if approval.edited is None else approval.edited)


def _digest(approval: Approval, args: Mapping[str, Any]) -> str:
    return question_digest(approval.bundle_id, approval.tool, args, approval.definition, uncertain=approval.uncertain)


def _id(run_id: str, step: int, round: int, digest: str) -> str:
    return sha256(b"bobcat/approval/v1\0" + canonical([run_id, step, round, digest])).hexdigest()[:20]


def question(req: ApprovalRequest, created: datetime, expires: datetime | None) -> Approval:
    """The approval that a run asks for. Raises `EncodingError` when its arguments have no canonical form.

    The id follows from run, step, round and what is asked: whoever asks the same again means the same approval.
    """
    request, decision, step = req.request, req.decision, req.request.context.step_seq
    digest = question_digest(req.bundle_id, request.tool, request.args, req.definition, uncertain=req.uncertain)
    return Approval(
        id=_id(req.run_id, step, req.round, digest),
        status="pending",
        run_id=req.run_id,
        step=step,
        round=req.round,
        tool=request.tool,
        args=request.args,
        reason=decision.reason,
        rules=tuple(map(str, decision.matched_rules)),
        bundle_id=req.bundle_id,
        digest=digest,
        principal=request.context.principal.id,
        environment=request.context.environment,
        approvers=tuple(decision.approvers),
        needed=decision.approvals_needed,
        created=created,
        expires=expires,
        definition=req.definition,
        uncertain=req.uncertain,
    )


def step_key(run_id: str, step: int) -> str:
    """The key of the document that says which approval a step waits for."""
    return sha256(canonical([run_id, step])).hexdigest()
