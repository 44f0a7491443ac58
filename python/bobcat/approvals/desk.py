"""`Approvals`: what people do with the questions that runs have put on record. `bobcat approvals` is this on the shell.

An answer is checked when it is given, and again, against the policy, when the run takes it up. Every refusal says which
of the two it is: an `ApprovalError` here, a refused call there.
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
from bobcat.display import safe_text
from bobcat.errors import ApprovalError
from bobcat.frozen import thaw
from bobcat.ir.canonical import EncodingError
from bobcat.logs import logger
from bobcat.stores.durable import DurableStore, RunStatus, StatusConflict, VersionConflict, change_status

PAGE = 100
SUSPENDED: tuple[RunStatus, ...] = ("suspended",)
log = logger("approvals")
JOB_KIND = "job"
"""The kind of the documents that workers make runs from; `bobcat.workers` writes them."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """An approval of the store that cannot be read."""

    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The approvals that were asked for, the oldest first, and all that cannot be read, whatever they were."""

    approvals: tuple[Approval, ...]
    damaged: tuple[Damaged, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """What an answer came to. `changed` is false when it had been given before: a double click is no second answer."""

    approval: Approval
    changed: bool
    woken: bool
    """True when the suspended run was put back in the queue. A run that was never queued goes on when the program
    that began it calls `run_agent` again.
    """


class Approvals:
    """The approvals in a store."""

    def __init__(self, store: DurableStore) -> None:
        if not isinstance(store, DurableStore):
            raise TypeError(f"approvals are kept in a DurableStore, such as SQLiteStore, got {type(store).__name__}")
        self._store = store

    async def list(
        self, *, status: ApprovalStatus | None = "pending", run_id: str | None = None
    ) -> tuple[Approval, ...]:
        """Approvals, the oldest first; by default those that wait for an answer. `status=None` lists all.

        One that cannot be read hides no other: it is left out with a `RuntimeWarning`. `look` returns both.
        """
        found = await self.look(status=status, run_id=run_id)
        for item in found.damaged:
            warnings.warn(
                safe_text(f"the approval `{item.id}` is left out: {item.problem}"), RuntimeWarning, stacklevel=2
            )
        return found.approvals

    async def look(self, *, status: ApprovalStatus | None = "pending", run_id: str | None = None) -> Listing:
        """As `list`, with those that cannot be read beside the others."""
        now = await self._store.now()
        found: list[Approval] = []
        damaged: list[Damaged] = []
        after = ""
        while True:
            page = await self._store.scan(KIND, after=after, limit=PAGE)
            for entry in page:
                try:
                    approval = approval_at(entry).as_of(now)
                except ApprovalError as error:
                    damaged.append(Damaged(entry.key, str(error)))
                    continue
                if status in (None, approval.status) and run_id in (None, approval.run_id):
                    found.append(approval)
            if len(page) < PAGE:
                ordered = sorted(found, key=lambda approval: (approval.created, approval.id))
                return Listing(tuple(ordered), tuple(damaged))
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
    ) -> Answered:
        """Grant as `approver`, with other arguments if `args` are given; they are judged again before anything runs.

        Where several approvals are needed, the run goes on after the last. `uncertain` is needed for an `uncertain`
        approval, and allowed for no other: such a grant can make the action happen twice. Raises `ApprovalError`.
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

        return await self._settle(id, approver, answered)

    async def deny(self, id: str, *, approver: str, reason: str = "") -> Answered:
        """Refuse as `approver`. One refusal is enough, and a grant that no run has taken up yet is taken back by it.

        Raises `ApprovalError`.
        """

        def answered(approval: Approval, now: datetime) -> Approval:
            if approval.status == "denied":
                if approval.answers[-1].approver == approver:
                    return approval
                raise _closed(approval, f"`{id}` was denied by {approval.answers[-1].approver} already")
            if approval.used is not None:
                raise ApprovalError("used", f"the run took the grant of `{id}` up at {approval.used.isoformat()}")
            return replace(
                approval, status="denied", answers=(*approval.answers, GivenAnswer(approver, False, now, reason))
            )

        return await self._settle(id, approver, answered)

    async def _settle(self, id: str, approver: str, answered: Callable[[Approval, datetime], Approval]) -> Answered:
        if not isinstance(approver, str) or not approver.strip():
            raise ApprovalError("not_entitled", "an answer needs the name of who gives it")
        while True:
            entry = await self._store.get(KIND, id)
            if entry is None:
                raise ApprovalError("unknown", f"there is no approval `{id}` in this store")
            now = await self._store.now()
            before = approval_at(entry).as_of(now)
            await self._check(before, approver)
            after = answered(before, now)
            if after is before:
                return Answered(before, changed=False, woken=await self._wake(before))
            try:
                await self._store.put(KIND, id, after.to_json(), expected=entry.version)
            except VersionConflict:
                continue  # another answer came first: look at it
            fields = {"run_id": after.run_id, "step": after.step, "tool": after.tool, "status": after.status}
            log.info(
                "approval %s of run %s: %s, answered by %s", id, after.run_id, after.status, approver, extra=fields
            )
            return Answered(after, changed=True, woken=await self._wake(after))

    async def _check(self, approval: Approval, approver: str) -> None:
        """Refuse an answer that cannot count, whatever it says. Raises `ApprovalError`."""
        id = approval.id
        if approval.approvers and approver not in approval.approvers:
            names = ", ".join(approval.approvers)
            raise ApprovalError("not_entitled", f"`{approver}` is not among the approvers of `{id}` ({names})")
        if approval.status == "expired":
            raise ApprovalError("expired", f"the time to answer `{id}` was over at {approval.expires}")
        if approval.status == "withdrawn":
            pointer = await self._store.get(STEP_KIND, step_key(approval.run_id, approval.step))
            other = None if pointer is None else pointer.body["approval"]
            now_asks = f"; it asks `{other}`" if other not in (None, id) else ""
            raise ApprovalError("withdrawn", f"the run no longer asks `{id}`{now_asks}")
        run = await self._store.run(approval.run_id)
        if run is not None and run.status in ("succeeded", "cancelled"):
            raise ApprovalError("run_over", f"the run of `{id}` is over ({run.status})")

    async def _wake(self, approval: Approval) -> bool:
        """Put the run of an answered approval back in the queue. Whoever takes it asks for the answer itself."""
        if approval.status == "pending" or approval.used is not None:
            return False
        run = await self._store.run(approval.run_id)
        if run is None or run.status != "suspended":
            return False
        if await self._store.get(JOB_KIND, approval.run_id) is None:
            return False  # no worker knows how to make it: the program that began it calls `run_agent` again
        detail = {**run.detail, "woken_by": approval.id}
        try:
            await change_status(self._store, approval.run_id, "queued", expected=SUSPENDED, detail=detail)
        except StatusConflict:  # somebody else has woken or ended it
            return False
        return True


def _check_certainty(approval: Approval, uncertain: bool) -> None:
    """Refuse a grant that does not say the same as the question about an earlier attempt. Raises `ApprovalError`."""
    if approval.uncertain and not uncertain:
        raise ApprovalError(
            "uncertain",
            f"an earlier attempt at `{approval.id}` may have taken effect: granting it can make it happen twice; "
            "check, then grant it with `uncertain=True`, or `bobcat approvals grant --uncertain`",
        )
    if uncertain and not approval.uncertain:
        raise ApprovalError("not_uncertain", f"no earlier attempt at `{approval.id}` is in doubt: grant it plainly")


def _plain(args: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(args, Mapping):
        raise TypeError(f"args must be a mapping, got {type(args).__name__}")
    try:
        canonical(args)
    except EncodingError as error:
        raise ApprovalError("not_editable", f"the arguments cannot be put on record: {error}") from error
    plain: dict[str, Any] = thaw(args)
    return plain


def _closed(approval: Approval, message: str) -> ApprovalError:
    return ApprovalError(approval.status, message)
