"""The unused grants in a store: listed for operators, and revoked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from bobcat.approvals.stored_gate import KIND, is_valid
from bobcat.errors import ApprovalError
from bobcat.stores.protocol import DurableStore, Entry, VersionConflict

ID_DIGITS = 16
_PAGE = 500


@dataclass(frozen=True, slots=True)
class HeldGrants:
    """The unused grants for one kind of call. `id` names them in their store; each approver is one grant.

    `gate` is the name of the gate that holds them. `target` is None for any target, `scope` None for every scope.
    `args` is the digest of the arguments that they are for, None for any.
    """

    id: str
    gate: str
    target: str | None
    scope: str | None
    args: str | None
    approvers: tuple[str, ...]
    expires: datetime | None
    """The end of the last of them; None if one has no end."""


class GrantList(NamedTuple):
    """The grants of a store, and the keys of documents that cannot be read."""

    grants: tuple[HeldGrants, ...]
    unreadable: tuple[str, ...]


async def list_grants(store: DurableStore) -> GrantList:
    """Read the grants that could be consumed now, in the order of their keys."""
    now, found, unreadable = await store.now(), list[HeldGrants](), list[str]()
    for entry in await _documents(store):
        try:
            held = _held(entry, now)
        except (KeyError, TypeError, ValueError, AttributeError):
            unreadable.append(entry.key)
            continue
        if held is not None:
            found.append(held)
    return GrantList(tuple(found), tuple(unreadable))


async def revoke_grants(store: DurableStore, id: str) -> HeldGrants:
    """Remove the unused grants with this id; return them.

    Raises `ApprovalError`: `unknown` for an id without unused grants, `ambiguous` for one that names several.
    """
    while True:
        now = await store.now()
        matching = [entry for entry in await _documents(store) if id and _id_of(entry).startswith(id)]
        if len(matching) > 1:
            raise ApprovalError("ambiguous", f"`{id}` names {len(matching)} grants; write more of the id")
        held = _held(matching[0], now) if matching else None
        if held is None:
            raise ApprovalError("unknown", f"no unused grant `{id}`")
        try:
            await store.put(KIND, matching[0].key, {**matching[0].body, "grants": []}, expected=matching[0].version)
        except VersionConflict:
            continue  # a grant was given or consumed meanwhile
        return held


async def _documents(store: DurableStore) -> Sequence[Entry]:
    found: list[Entry] = []
    while True:
        page = await store.scan(KIND, after=found[-1].key if found else "", limit=_PAGE)
        found.extend(page)
        if len(page) < _PAGE:
            return found


def _id_of(entry: Entry) -> str:
    return entry.key.rpartition("/")[2][:ID_DIGITS]


def _held(entry: Entry, now: datetime) -> HeldGrants | None:
    """The valid grants of a document; None without one. Raises for a document that is not one of grants."""
    body: Mapping[str, Any] = entry.body
    valid = [grant for grant in body["grants"] if is_valid(grant, now)]
    if not valid:
        return None
    ends = [None if grant["expires"] is None else datetime.fromisoformat(grant["expires"]) for grant in valid]
    return HeldGrants(
        _id_of(entry),
        entry.key.rpartition("/")[0],
        body["target"],
        body["scope"],
        body["args"],
        tuple(str(grant["approver"]) for grant in valid),
        None if None in ends else max(end for end in ends if end is not None),
    )
