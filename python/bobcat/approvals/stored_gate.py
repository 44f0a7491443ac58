"""Grants given ahead of time, kept in a store: valid in every process that opens it, consumed once among all of them.

Each grant key is one document, changed by compare-and-set: when two processes find the same grant, one consumes it and
the other reads the document again. Consumed grants are kept for a while, so that a run that lost its process between
the grant and its own record of it gets the same answer, not another refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from bobcat.approvals.gate import Gate, required
from bobcat.approvals.grants import (
    Grant,
    GrantKey,
    any_call_grant_key,
    check_approver,
    check_seconds,
    grant_key,
    may_approve,
)
from bobcat.approvals.handlers import ApprovalHandler
from bobcat.approvals.targets import tool_name
from bobcat.errors import ApprovalError
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ApprovalRequest
from bobcat.stores.protocol import DurableStore, Entry, VersionConflict
from bobcat.text.shortening import shortened

KIND = "grant"
SPENT_KEPT = 100
"""Number of consumed grants that a key remembers."""


@dataclass(frozen=True, slots=True)
class _StoredGrant:
    """A grant in its document."""

    approver: str
    expires: datetime | None


@dataclass(frozen=True, slots=True)
class _ConsumedGrant:
    """A consumed grant in its document."""

    approver: str
    by: str


@dataclass(frozen=True, slots=True)
class _Grants:
    """The content of a document beside its names."""

    grants: list[_StoredGrant]
    spent: list[_ConsumedGrant]


class StoredConfirmationGate(Gate):
    """`ConfirmationGate` over a store. Gates of the same `name` on the same store share their grants.

    Expiry goes by the store's clock. The methods are those of `ConfirmationGate`, as coroutines.
    """

    def __init__(
        self,
        store: DurableStore,
        *,
        name: str = "default",
        target: Callable[[ActionRequest], str] = tool_name,
        strict: bool = False,
        otherwise: ApprovalHandler | None = None,
    ) -> None:
        super().__init__(target, strict=strict, otherwise=otherwise)
        self._store = store
        self._name = name

    async def grant(
        self,
        target: str,
        *,
        args: Mapping[str, Any] | None = None,
        scope: str | None = None,
        approver: str = "gate",
        seconds: float | None = None,
        definition: str | None = None,
    ) -> None:
        """Allow one action on `target`, in any process. Raises as `ConfirmationGate.grant` does."""
        await self._add(grant_key(target, args, scope, definition), approver, seconds)

    async def grant_any(
        self, *, scope: str | None = None, approver: str = "gate", seconds: float | None = None
    ) -> None:
        """Allow one action on any target."""
        await self._add(any_call_grant_key(scope), approver, seconds)

    async def consume(
        self,
        target: str,
        *,
        args: Mapping[str, Any] | None = None,
        scope: str | None = None,
        approvers: Sequence[str] = (),
        granted_by: Sequence[str] = (),
        definition: str = "",
        by: str = "",
    ) -> Grant | None:
        """Consume the most specific matching grant and return it; None without one.

        `scope`, `approvers` and `granted_by` are those of `ConfirmationGate.consume`. `by` identifies the consumer: the
        same one gets the same grant again.
        """
        places = list(self._keys(target, args, scope, definition))
        if by:
            for slot in places:
                earlier = await self._spent(slot, by, approvers, granted_by)
                if earlier is not None:
                    return Grant(slot.target, slot.scope, earlier)
        for slot in places:
            approver = await self._take(slot, approvers, granted_by, by)
            if approver is not None:
                return Grant(slot.target, slot.scope, approver)
        return None

    async def require(self, target: str, *, args: Mapping[str, Any] | None = None, scope: str | None = None) -> Grant:
        """Consume a grant, or raise `ActionBlocked`. For the body of a tool."""
        return required(await self.consume(target, args=args, scope=scope), target)

    async def _consumed(self, target: str, req: ApprovalRequest) -> Grant | None:
        args, approvers = req.request.args, req.decision.approvers
        by = f"{req.run_id}/{req.request.context.step_seq}/{req.round}/{len(req.granted_by)}" if req.run_id else ""
        return await self.consume(
            target, args=args, approvers=approvers, granted_by=req.granted_by, definition=req.definition, by=by
        )

    def _key(self, slot: GrantKey) -> str:
        return f"{self._name}/{slot.key()}"

    async def _at(self, slot: GrantKey) -> Entry | None:
        """Read the document of a key. Raises `ApprovalError` (`damaged`) for an invalid one."""
        entry = await self._store.get(KIND, self._key(slot))
        if entry is not None:
            try:
                place = msgspec.convert(entry.body, _Grants)
                if any(given.expires is not None and given.expires.tzinfo is None for given in place.grants):
                    raise ValueError("a moment without an offset")
                if any(entry.body.get(name) != value for name, value in slot.names().items()):
                    raise ValueError("they are for another key")
            except (msgspec.ValidationError, ValueError) as error:
                raise ApprovalError(
                    "damaged", f"grants of this store cannot be read: {shortened(str(error), 200)}"
                ) from error
        return entry

    async def _add(self, slot: GrantKey, approver: str, seconds: float | None) -> None:
        check_seconds(seconds)
        expires = None if seconds is None else (await self._store.now() + timedelta(seconds=seconds)).isoformat()
        given = {"approver": check_approver(approver), "expires": expires}
        while True:
            entry = await self._at(slot)
            body = {**slot.names(), "grants": [], "spent": []} if entry is None else dict(entry.body)
            body["grants"] = [*body["grants"], given]
            try:
                await self._store.put(KIND, self._key(slot), body, expected=0 if entry is None else entry.version)
            except VersionConflict:
                continue  # another process wrote: that is progress
            return

    async def _spent(self, slot: GrantKey, by: str, approvers: Sequence[str], granted_by: Sequence[str]) -> str | None:
        """The approver of the grant that `by` has consumed here before."""
        entry = await self._at(slot)
        for spent in () if entry is None else entry.body["spent"]:
            if spent["by"] == by and may_approve(spent["approver"], approvers, granted_by):
                return str(spent["approver"])
        return None

    async def _take(self, slot: GrantKey, approvers: Sequence[str], granted_by: Sequence[str], by: str) -> str | None:
        """Consume the oldest valid grant of a slot and return its approver."""
        while True:
            entry = await self._at(slot)
            if entry is None or not entry.body["grants"]:
                return None
            now = await self._store.now()
            valid = [grant for grant in entry.body["grants"] if is_valid(grant, now)]
            taken = next((grant for grant in valid if may_approve(grant["approver"], approvers, granted_by)), None)
            if taken is None:
                return None
            valid.remove(taken)
            spent = [*entry.body["spent"], {"approver": taken["approver"], "by": by, "at": now.isoformat()}]
            body = {**entry.body, "grants": valid, "spent": spent[-SPENT_KEPT:]}
            try:
                await self._store.put(KIND, self._key(slot), body, expected=entry.version)
            except VersionConflict:
                continue
            return str(taken["approver"])


def is_valid(grant: Mapping[str, Any], now: datetime) -> bool:
    """Return true if a grant in a document has not expired."""
    return grant["expires"] is None or datetime.fromisoformat(grant["expires"]) > now
