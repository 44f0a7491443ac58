"""An approval on record: the question, its digests, and the answers so far.

It is one document of a store. Runs and approvers read it, decide on a new body, and write that by compare-and-set, so
that of two answers the same one is first for every reader.

INVARIANT: no field of the question changes after it was asked. The id identifies the action and the permitted
approvers, and a run computes it anew; the fingerprint covers the whole question, and the run's journal keeps it.
Neither has a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal

import msgspec

from bobcat.approvals.binding import canonical, question_digest
from bobcat.errors import ApprovalError
from bobcat.journal.legacy_names import APPROVAL_NOTIFIED
from bobcat.model.plain_fields import fields_to_json
from bobcat.model.run import ApprovalRequest
from bobcat.stores.protocol import Entry
from bobcat.text.shortening import shortened

KIND = "approval"
STEP_KIND = "approval-step"
"""Kind of the document for each step of a run that holds the approval it waits for."""

ApprovalStatus = Literal["pending", "granted", "denied", "expired", "withdrawn"]
"""The status of an approval. `withdrawn`: the run asks another question now."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One answer of one approver."""

    approver: str
    granted: bool
    at: datetime
    reason: str = ""
    digest: str = ""
    """Digest of the granted question and arguments, edited ones included. Older answers have none."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One question to people, and its status.

    `args` are the effective arguments that a grant permits. `edited` replaces them when the approver gave others.
    `uncertain` is true when an earlier attempt may have taken effect: a grant can make the action happen twice.
    `digest` covers policy, tool, arguments, the tool's `definition` and `uncertain` together. `used` is the time when a
    run consumed the grant, `notified` is true after the approvers were notified, `notify_error` is the problem of the
    last attempt. `fingerprint` covers the whole question, with its permitted approvers and its expiry; questions of
    older releases have none.
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
    notified: bool = False
    definition: str = ""
    uncertain: bool = False
    notify_error: str = ""
    fingerprint: str = ""
    notes: tuple[str, ...] = ()
    """Lines for people: where the arguments came from, and what the run has done before."""

    @property
    def granted_by(self) -> tuple[str, ...]:
        """The approvers who granted, in order."""
        return tuple(answer.approver for answer in self.answers if answer.granted)

    def as_of(self, now: datetime) -> Approval:
        """The approval at a time: a pending one past its expiry has expired."""
        if self.status == "pending" and self.expires is not None and now >= self.expires:
            return replace(self, status="expired")
        return self

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """The approval as plain JSON data; points in time as ISO 8601."""
        data = {APPROVAL_NOTIFIED if name == "notified" else name: it for name, it in fields_to_json(self).items()}
        return {name: it for name, it in data.items() if it or name not in ("definition", "fingerprint", "notes")}


def approval_at(entry: Entry) -> Approval:
    """Read the approval in a document of a store. Raises `ApprovalError` (`damaged`), also for one under another id."""
    approval = approval_from_json(entry.body)
    if approval.id != entry.key:
        raise ApprovalError("damaged", f"the approval `{entry.key}` of this store holds `{approval.id}`")
    return approval


def approval_from_json(body: Mapping[str, Any]) -> Approval:
    """Parse the approval of a document. Raises `ApprovalError` (`damaged`) for an invalid one, or a wrong digest."""
    try:
        notified = body.get(APPROVAL_NOTIFIED, False)
        read = msgspec.convert({**body, "notified": notified}, Approval)
        read = replace(read, args=body["args"], edited=body.get("edited"))
        _check(read)
    except (msgspec.ValidationError, ValueError) as error:  # an `EncodingError` is a `ValueError`
        raise ApprovalError(
            "damaged", f"an approval of this store cannot be read: {shortened(str(error), 200)}"
        ) from error
    return read


def _check(read: Approval) -> None:
    """Check the constraints beyond types. Raises `ValueError`."""
    moments = (read.created, read.expires, read.used, *(answer.at for answer in read.answers))
    if any(moment is not None and moment.tzinfo is None for moment in moments):
        raise ValueError("a moment without an offset")
    if read.needed < 1:
        raise ValueError("the number of approvals needed must be at least 1")
    if read.status == "denied" and not (read.answers and not read.answers[-1].granted):
        raise ValueError("a denied approval without a denial")
    if read.digest != _digest(read, read.args):
        raise ValueError("the question was changed: it does not match its digest")
    if read.id != (_id(read) if read.fingerprint else _first_id(read)):
        raise ValueError("the question was changed: it does not match its id")
    if read.fingerprint:
        _check_answers(read)
    unnamed = () if read.fingerprint else ("",)
    granted = granted_digest(read)
    if any(answer.digest not in (granted, *unnamed) for answer in read.answers if answer.granted):
        raise ValueError("the arguments were changed: they do not match what was granted")


def _check_answers(read: Approval) -> None:
    """Check a question and its answers against its fingerprint. Raises `ValueError`."""
    if read.fingerprint != fingerprint(read):
        raise ValueError("the question was changed: it does not match its fingerprint")
    if read.approvers and not {answer.approver for answer in read.answers} <= set(read.approvers):
        raise ValueError("an answer by an approver whom the rule does not name")
    if read.status == "granted" and len(set(read.granted_by)) < read.needed:
        raise ValueError("a grant by too few approvers")


def granted_digest(approval: Approval) -> str:
    """The digest of the action that a grant of `approval` permits, with its edited arguments if it has some."""
    args = approval.args if approval.edited is None else approval.edited
    if not approval.fingerprint:
        return _digest(approval, args)
    return sha256(b"bobcat/grant/v1\0" + canonical([approval.fingerprint, args])).hexdigest()


def fingerprint(approval: Approval) -> str:
    """The digest of a whole question: its text for people, its permitted approvers and its expiry.

    The id stands for the fields that it is computed from.
    """
    moments = [None if at is None else at.astimezone(UTC).isoformat() for at in (approval.created, approval.expires)]
    notes = [approval.notes] if approval.notes else []
    return sha256(b"bobcat/asked/v1\0" + canonical([_id(approval), approval.reason, *moments, *notes])).hexdigest()


def _digest(approval: Approval, args: Mapping[str, Any]) -> str:
    return question_digest(approval.bundle_id, approval.tool, args, approval.definition, uncertain=approval.uncertain)


def _first_id(asked: Approval) -> str:
    """The id in older releases, which does not depend on the permitted approvers."""
    about = [asked.run_id, asked.step, asked.round, asked.digest]
    return sha256(b"bobcat/approval/v1\0" + canonical(about)).hexdigest()[:20]


def _id(asked: Approval) -> str:
    """The id of a question: every part that a run repeats identically, so without its reason and its times.

    A reason can contain the time of day, and the question is still the same.
    """
    about = [
        asked.run_id,
        asked.step,
        asked.round,
        asked.digest,
        asked.rules,
        asked.principal,
        asked.environment,
        asked.approvers,
        asked.needed,
    ]
    return sha256(b"bobcat/approval/v2\0" + canonical(about)).hexdigest()[:20]


def first_form(asked: Approval) -> Approval:
    """The same question in the form of older releases, which has another id and no fingerprint."""
    return replace(asked, id=_first_id(asked), fingerprint="")


def same_question(one: Approval, other: Approval) -> bool:
    """Return true if two questions ask the same of the same approvers, regardless of form, reason and times."""
    return _id(one) == _id(other)


def question(req: ApprovalRequest, created: datetime, expires: datetime | None) -> Approval:
    """The approval that a run asks for. Raises `EncodingError` when its arguments have no canonical form.

    The id is derived from run, step, round, subject and approvers: a run that asks the same again gets the same
    approval.
    """
    request, decision, step = req.request, req.decision, req.request.context.step_seq
    digest = question_digest(req.bundle_id, request.tool, request.args, req.definition, uncertain=req.uncertain)
    asked = Approval(
        id="",
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
        notes=req.notes,
    )
    return replace(asked, id=_id(asked), fingerprint=fingerprint(asked))


def step_key(run_id: str, step: int) -> str:
    """The key of the document with the approval that a step waits for."""
    return sha256(canonical([run_id, step])).hexdigest()
