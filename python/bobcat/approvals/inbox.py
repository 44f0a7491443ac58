"""`Approvals`: list, grant and deny the approvals that runs have recorded. `bobcat approvals` is its command line.

An answer is checked when it is given, and again, against the policy, when the run consumes it. The error shows which
check failed: an `ApprovalError` here, a refused call there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bobcat.approvals.binding import canonical
from bobcat.approvals.record import (
    KIND,
    STEP_KIND,
    Approval,
    ApprovalStatus,
    GivenAnswer,
    approval_at,
    granted_digest,
    step_key,
)
from bobcat.approvals.waking import look_soon, wake
from bobcat.errors import ApprovalError
from bobcat.ir.canonical import EncodingError
from bobcat.logs import logger
from bobcat.model.frozen import thaw
from bobcat.stores.protocol import DurableStore, VersionConflict
from bobcat.text.display import safe_text

PAGE = 100
log = logger("approvals")


@dataclass(frozen=True, slots=True)
class UnreadableApproval:
    """An approval in the store that cannot be read."""

    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class ApprovalList:
    """The selected approvals, oldest first, and all unreadable ones, whatever their status."""

    approvals: tuple[Approval, ...]
    unreadable: tuple[UnreadableApproval, ...]


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """Outcome of an answer. `changed` is false when the same answer had been given before, as by a double click."""

    approval: Approval
    changed: bool
    requeued: bool
    """True when the suspended run was put back in the queue.

    A run that was never queued continues when the program that began it calls `run_agent` again.
    """


class Approvals:
    """The approvals in a store."""

    def __init__(self, store: DurableStore) -> None:
        if not isinstance(store, DurableStore):
            raise TypeError(f"approvals need a DurableStore, such as SQLiteStore, got {type(store).__name__}")
        self._store = store

    async def list(
        self, *, status: ApprovalStatus | None = "pending", run_id: str | None = None
    ) -> tuple[Approval, ...]:
        """Approvals, oldest first; by default the pending ones. `status=None` lists all.

        An unreadable approval hides no other: it is omitted with a `RuntimeWarning`. `list_all` returns both.
        """
        found = await self.list_all(status=status, run_id=run_id)
        for item in found.unreadable:
            warnings.warn(
                safe_text(f"the approval `{item.id}` is omitted: {item.problem}"), RuntimeWarning, stacklevel=2
            )
        return found.approvals

    async def list_all(self, *, status: ApprovalStatus | None = "pending", run_id: str | None = None) -> ApprovalList:
        """As `list`, together with the unreadable approvals."""
        now = await self._store.now()
        found: list[Approval] = []
        unreadable: list[UnreadableApproval] = []
        after = ""
        while True:
            page = await self._store.scan(KIND, after=after, limit=PAGE)
            for entry in page:
                try:
                    approval = approval_at(entry).as_of(now)
                except ApprovalError as error:
                    unreadable.append(UnreadableApproval(entry.key, str(error)))
                    continue
                if status in (None, approval.status) and run_id in (None, approval.run_id):
                    found.append(approval)
            if len(page) < PAGE:
                ordered = sorted(found, key=lambda approval: (approval.created, approval.id))
                return ApprovalList(tuple(ordered), tuple(unreadable))
            after = page[-1].key

    async def show(self, id: str) -> Approval:
        """One approval. Raises `ApprovalError` (`unknown`)."""
        entry = await self._store.get(KIND, id)
        if entry is None:
            raise ApprovalError("unknown", f"there is no approval `{id}` in this store")
        return approval_at(entry).as_of(await self._store.now())

    async def grant(
        self,
        id: str,
        *,
        approver: str,
        args: Mapping[str, Any] | None = None,
        reason: str = "",
        uncertain: bool = False,
    ) -> AnswerResult:
        """Grant as `approver`, with other arguments if `args` are given; they are evaluated again before anything runs.

        Where several approvals are needed, the run continues after the last. `uncertain` is required for an `uncertain`
        approval, and rejected for any other: such a grant can make the action happen twice. Raises `ApprovalError`.
        """
        edited = None if args is None else _plain(args)

        def answered(approval: Approval, now: datetime) -> Approval:
            _check_certainty(approval, uncertain)
            if edited is not None and approval.needed > 1:
                raise ApprovalError("not_editable", f"`{id}` needs several approvals: its arguments cannot be edited")
            if approval.status == "denied":
                raise _closed(approval, f"`{id}` was denied by {approval.answers[-1].approver} already")
            same = edited is None or (approval.edited is not None and canonical(edited) == canonical(approval.edited))
            if approver in approval.granted_by and same:
                return approval
            if approval.status == "granted":
                raise _closed(approval, f"`{id}` was granted by {', '.join(approval.granted_by)} already")
            digest = granted_digest(replace(approval, edited=edited))
            answers = (*approval.answers, GivenAnswer(approver, True, now, reason, digest))
            enough = sum(answer.granted for answer in answers) >= approval.needed
            return replace(approval, answers=answers, edited=edited, status="granted" if enough else "pending")

        return await self._record_answer(id, approver, answered)

    async def deny(self, id: str, *, approver: str, reason: str = "") -> AnswerResult:
        """Refuse as `approver`. One refusal suffices, and it revokes a grant that no run has consumed yet.

        Raises `ApprovalError`.
        """

        def answered(approval: Approval, now: datetime) -> Approval:
            if approval.status == "denied":
                if approval.answers[-1].approver == approver:
                    return approval
                raise _closed(approval, f"`{id}` was denied by {approval.answers[-1].approver} already")
            if approval.used is not None:
                raise ApprovalError("used", f"the run consumed the grant of `{id}` at {approval.used.isoformat()}")
            return replace(
                approval, status="denied", answers=(*approval.answers, GivenAnswer(approver, False, now, reason))
            )

        return await self._record_answer(id, approver, answered)

    async def _record_answer(
        self, id: str, approver: str, answered: Callable[[Approval, datetime], Approval]
    ) -> AnswerResult:
        if not isinstance(approver, str) or not approver.strip():
            raise ApprovalError("not_entitled", "an answer needs the name of its approver")
        while True:
            entry = await self._store.get(KIND, id)
            if entry is None:
                raise ApprovalError("unknown", f"there is no approval `{id}` in this store")
            now = await self._store.now()
            before = approval_at(entry).as_of(now)
            await self._check(before, approver)
            after = answered(before, now)
            if after is before:
                return AnswerResult(before, changed=False, requeued=await self._requeue(before))
            if after.status != "pending":
                await look_soon(self._store, after.run_id)
            try:
                await self._store.put(KIND, id, after.to_json(), expected=entry.version)
            except VersionConflict:
                continue  # another answer came first: read it
            fields = {"run_id": after.run_id, "step": after.step, "tool": after.tool, "status": after.status}
            log.info(
                "approval %s of run %s: %s, answered by %s", id, after.run_id, after.status, approver, extra=fields
            )
            return AnswerResult(after, changed=True, requeued=await self._requeue(after))

    async def _check(self, approval: Approval, approver: str) -> None:
        """Reject an answer that cannot count, regardless of its content. Raises `ApprovalError`."""
        id = approval.id
        if approval.approvers and approver not in approval.approvers:
            names = ", ".join(approval.approvers)
            raise ApprovalError("not_entitled", f"`{approver}` is not among the approvers of `{id}` ({names})")
        if approval.status == "expired":
            raise ApprovalError("expired", f"the time to answer `{id}` ended at {approval.expires}")
        if approval.status == "withdrawn":
            pointer = await self._store.get(STEP_KIND, step_key(approval.run_id, approval.step))
            other = None if pointer is None else pointer.body["approval"]
            replaced_by = f"; it asks `{other}`" if other not in (None, id) else ""
            raise ApprovalError("withdrawn", f"the run no longer asks `{id}`{replaced_by}")
        run = await self._store.run(approval.run_id)
        if run is not None and run.status in ("succeeded", "cancelled"):
            raise ApprovalError("run_over", f"the run of `{id}` is over ({run.status})")

    async def _requeue(self, approval: Approval) -> bool:
        """Put the run of an answered approval back in the queue. The worker that takes it reads the answer itself."""
        if approval.status == "pending" or approval.used is not None:
            return False
        return await wake(self._store, approval.run_id, {"woken_by": approval.id})


def _check_certainty(approval: Approval, uncertain: bool) -> None:
    """Reject a grant whose `uncertain` does not match the approval. Raises `ApprovalError`."""
    if approval.uncertain and not uncertain:
        raise ApprovalError(
            "uncertain",
            f"an earlier attempt at `{approval.id}` may have taken effect: granting it can make it happen twice; "
            "check, then grant it with `uncertain=True`, or `bobcat approvals grant --uncertain`",
        )
    if uncertain and not approval.uncertain:
        raise ApprovalError(
            "not_uncertain", f"no earlier attempt at `{approval.id}` is uncertain: grant it without `uncertain`"
        )


def _plain(args: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(args, Mapping):
        raise TypeError(f"args must be a mapping, got {type(args).__name__}")
    try:
        canonical(args)
    except EncodingError as error:
        raise ApprovalError("not_editable", f"the arguments cannot be recorded: {error}") from error
    plain: dict[str, Any] = thaw(args)
    return plain


def _closed(approval: Approval, message: str) -> ApprovalError:
    return ApprovalError(approval.status, message)
