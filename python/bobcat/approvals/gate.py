"""Grants given ahead of time, one action each: as an approval handler, and on their own.

    gate = ConfirmationGate()
    gate.grant("refund", args={"amount": 40}, scope="run-7", approver="alice")
    await run_agent(..., run_id="run-7", on_approval=gate)

The first matching action consumes a grant. Of several matching grants, the most specific one is consumed: target and
arguments before target alone, any target last; the scope before every scope.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

from bobcat.approvals.grants import (
    Grant,
    GrantKey,
    any_call_grant_key,
    check_approver,
    check_seconds,
    grant_key,
    matching_grant_keys,
    may_approve,
)
from bobcat.approvals.handlers import ApprovalHandler, Pending, not_answered
from bobcat.approvals.run_scope import current_scope
from bobcat.approvals.targets import checked, target_of, tool_name
from bobcat.errors import ActionBlocked
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ApprovalDecision, ApprovalRequest


class Gate(ABC):
    """An approval handler that answers with grants. Subclasses keep them, and consume one in `_consumed`."""

    spends = True

    def __init__(
        self, target: Callable[[ActionRequest], str], *, strict: bool, otherwise: ApprovalHandler | None
    ) -> None:
        self._target = target
        self._strict = strict
        self._otherwise = otherwise

    async def __call__(self, req: ApprovalRequest, /) -> ApprovalDecision | Pending:
        """Answer an approval of a run; never one for an action that may already have happened."""
        if req.uncertain:
            return await not_answered(req, "gate", self._otherwise)
        target = target_of(self._target, req.request)
        grant = await self._consumed(target, req)
        if grant is not None:
            return ApprovalDecision(True, grant.approver)
        if self._otherwise is not None:
            return await self._otherwise(req)
        return ApprovalDecision(False, "gate", f"no grant for {target!r}")

    @abstractmethod
    async def _consumed(self, target: str, req: ApprovalRequest) -> Grant | None:
        """The grant for an action of a run, which is consumed."""

    def _keys(
        self, target: str, args: Mapping[str, Any] | None, scope: str | None, definition: str
    ) -> Iterator[GrantKey]:
        """The keys under which a grant may be found, the most specific first. The scope defaults to the current one."""
        place = current_scope() if scope is None else scope
        return matching_grant_keys(checked(target), args, place, strict=self._strict, definition=definition)


def required(grant: Grant | None, target: str) -> Grant:
    """The grant, or `ActionBlocked` without one."""
    if grant is None:
        raise ActionBlocked(f"no grant for {target!r}", target)
    return grant


class ConfirmationGate(Gate):
    """Grants in the memory of one process, safe between its threads. `StoredConfirmationGate` keeps them in a store.

    `target` maps a tool call to its target; by default the tool's name. A `strict` gate consumes, inside a scope, only
    grants that were given for that scope, and outside of every scope none. As a handler the gate asks `otherwise` when
    it has no grant, and about an action that may already have happened: a grant given ahead of time is for the first
    attempt.
    """

    def __init__(
        self,
        *,
        target: Callable[[ActionRequest], str] = tool_name,
        strict: bool = False,
        otherwise: ApprovalHandler | None = None,
    ) -> None:
        super().__init__(target, strict=strict, otherwise=otherwise)
        self._lock = Lock()
        self._grants: dict[GrantKey, list[tuple[str, float]]] = {}

    def grant(
        self,
        target: str,
        *,
        args: Mapping[str, Any] | None = None,
        scope: str | None = None,
        approver: str = "gate",
        seconds: float | None = None,
        definition: str | None = None,
    ) -> None:
        """Allow one action on `target`: with exactly `args` and in `scope`, where given, within `seconds`.

        With a `definition` (`ToolDef.definition`), the grant is valid only for a tool with that definition.

        Raises `EncodingError` for arguments that are not JSON: a grant cannot be bound to them.
        """
        self._add(grant_key(target, args, scope, definition), approver, seconds)

    def grant_any(self, *, scope: str | None = None, approver: str = "gate", seconds: float | None = None) -> None:
        """Allow one action on any target."""
        self._add(any_call_grant_key(scope), approver, seconds)

    def consume(
        self,
        target: str,
        *,
        args: Mapping[str, Any] | None = None,
        scope: str | None = None,
        approvers: Sequence[str] = (),
        granted_by: Sequence[str] = (),
        definition: str = "",
    ) -> Grant | None:
        """Consume the most specific matching grant and return it; None without one.

        `scope` defaults to the current one. With `approvers`, only a grant by one of them matches, and none by one of
        `granted_by`.
        """
        with self._lock:
            for slot in self._keys(target, args, scope, definition):
                approver = self._take(slot, approvers, granted_by)
                if approver is not None:
                    return Grant(slot.target, slot.scope, approver)
        return None

    def require(self, target: str, *, args: Mapping[str, Any] | None = None, scope: str | None = None) -> Grant:
        """Consume a grant, or raise `ActionBlocked`. For the body of a tool."""
        return required(self.consume(target, args=args, scope=scope), target)

    async def _consumed(self, target: str, req: ApprovalRequest) -> Grant | None:
        args, approvers = req.request.args, req.decision.approvers
        return self.consume(
            target, args=args, approvers=approvers, granted_by=req.granted_by, definition=req.definition
        )

    def _add(self, slot: GrantKey, approver: str, seconds: float | None) -> None:
        check_seconds(seconds)
        expires = math.inf if seconds is None else time.monotonic() + seconds
        with self._lock:
            self._grants.setdefault(slot, []).append((check_approver(approver), expires))

    def _take(self, slot: GrantKey, approvers: Sequence[str], granted_by: Sequence[str]) -> str | None:
        """Remove the oldest valid grant of a slot and return its approver. The caller holds the lock."""
        now = time.monotonic()
        alive = [grant for grant in self._grants.get(slot, ()) if grant[1] > now]
        found = next((index for index, (by, _) in enumerate(alive) if may_approve(by, approvers, granted_by)), None)
        taken = None if found is None else alive.pop(found)[0]
        if alive:
            self._grants[slot] = alive
        else:
            self._grants.pop(slot, None)
        return taken
