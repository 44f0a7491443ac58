"""What the submissions of a guard remember together, under the policy that is in force."""

from __future__ import annotations

from uuid import uuid4

from bobcat.bundle import Policy
from bobcat.runtime.scopes import Scopes
from bobcat.runtime.session_memory import SessionMemory
from bobcat.runtime.shared_memory import SharedMemory
from bobcat.stores.protocol import DurableStore


class GuardMemory:
    """The memory of one session. `shared` is the store for counts over several runs, if there is one.

    Under another policy the memory is made again from the journal of the session, which has its earlier calls.
    """

    def __init__(
        self, store: DurableStore, shared: DurableStore | None, *, task: str | None, session: str | None,
        tenant: str | None,
    ) -> None:  # fmt: skip
        self._store, self._shared, self._task = store, shared, task
        self._given = {"session": session, "tenant": tenant}
        self._session = session or f"guard-{uuid4().hex}"
        self._made: tuple[SessionMemory, Scopes] | None = None

    def of(self, policy: Policy, record_id: str) -> SharedMemory | None:
        """The memory of one submission under a policy; None if the policy does not remember."""
        if not policy.remembers:
            return None
        made = self._made
        if made is None or made[0].policy is not policy:
            memory = SessionMemory(policy, self._store, self._session, self._task)
            made = self._made = memory, Scopes(policy, self._shared, **self._given)
        return SharedMemory(*made, record_id)
