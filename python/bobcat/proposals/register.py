"""The proposals that a store holds: which are granted, and the end of a grant before its time."""

from __future__ import annotations

from dataclasses import replace

from bobcat.bundle.model import Policy
from bobcat.proposals.record import KIND, Proposal, proposal_from_json
from bobcat.stores.protocol import DurableStore, VersionConflict

_PAGE = 100


async def recorded(store: DurableStore) -> tuple[Proposal, ...]:
    """Return all proposals as they are now, in the order of their ids."""
    now = await store.now()
    found: list[Proposal] = []
    after = ""
    while True:
        page = await store.scan(KIND, after=after, limit=_PAGE)
        found += [proposal_from_json(entry.body).as_of(now) for entry in page]
        if len(page) < _PAGE:
            return tuple(found)
        after = page[-1].key


async def granted(store: DurableStore, policy: Policy) -> tuple[Proposal, ...]:
    """Return the proposals for a policy that are granted now, in the order of their ids."""
    return tuple([item for item in await recorded(store) if item.status == "granted" and item.policy == policy.id])


async def revoke(store: DurableStore, id: str, *, by: str, reason: str = "") -> Proposal:
    """End a grant before its time, and return the proposal.

    A bundle that was written with the rule has it until its end. Raises `ValueError` for a proposal that is not granted
    now.
    """
    if not by.strip():
        raise ValueError("a revocation needs the name of who makes it")
    while True:
        entry = await store.get(KIND, id)
        if entry is None:
            raise ValueError(f"there is no proposal `{id}`")
        known = proposal_from_json(entry.body).as_of(await store.now())
        if known.status != "granted":
            raise ValueError(f"the proposal `{id}` is {known.status}, and only a granted one is revoked")
        ended = replace(known, status="revoked", ended_by=by, ended_for=reason)
        try:
            await store.put(KIND, id, ended.to_json(), expected=entry.version)
        except VersionConflict:
            continue  # another process has changed it
        return ended


async def check_id(store: DurableStore, asked: Proposal) -> None:
    """Raise `ValueError` if another rule with the same id was proposed for the policy, and is granted or waits."""
    for other in await recorded(store):
        same_id = (other.policy, other.rule_id) == (asked.policy, asked.rule_id)
        if same_id and other.rule != asked.rule and other.status in ("granted", "pending"):
            state = "is granted" if other.status == "granted" else "waits for an approver"
            raise ValueError(f"another rule `{other.rule_id}`, of `{other.by}`, {state}; give this one another id")
