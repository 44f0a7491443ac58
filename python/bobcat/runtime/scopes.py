"""Counts and sums with `by`: over all runs of one principal, session or tenant.

Each scope has a journal in the store, a `SharedJournal` of the calls that a measure of their policy counts for it. The
state of a scope is a tally, which a document of the store keeps from time to time, so that no process reads the whole
journal of an old scope.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal, TypeAlias

from msgspec import UnsetType

from bobcat._core import RunState as CoreState
from bobcat.bundle import Policy
from bobcat.ir.schema import Measure
from bobcat.journal.records import StepRecord
from bobcat.logs import logger
from bobcat.model.decision import ActionRequest
from bobcat.runtime.shared_journal import CALL, RELEASED, OpenCall, SharedJournal, request_of
from bobcat.runtime.tally import Amount, Tally
from bobcat.stores.protocol import DurableStore, VersionConflict
from bobcat.text.json_text import json_digest

By: TypeAlias = Literal["principal", "session", "tenant"]

TALLY = "memory.tally"
"""Kind of the documents that keep tallies. A key is the run id of the scope's journal and a digest of the measures."""
TALLY_EVERY = 256
"""Number of records after which a tally is kept anew."""
MAX_SCOPES = 256
"""Number of scopes whose tallies one guard or run holds in memory."""
NO_STATE = "no_state"
_DIGITS = 32

Json = Any  # Any: JSON

log = logger("runtime")


def measures_by(policy: Policy) -> dict[By, dict[str, Measure]]:
    """The measures of a policy over more than one run, by what they count over."""
    found: dict[By, dict[str, Measure]] = {}
    memory = policy.ir.memory
    for name, each in {} if isinstance(memory, UnsetType) else memory.items():
        if isinstance(each, Measure) and not isinstance(each.by, UnsetType):
            found.setdefault(each.by, {})[name] = each
    return found


def scope_id(by: By, *names: str) -> str:
    """The run id of the journal of a scope."""
    return f"scope:{by}:{json_digest([by, *names])[:_DIGITS]}"


def scope_names(by: By, request: ActionRequest, given: str | None = None) -> tuple[str, ...]:
    """The parts of the name of a call's scope, `given` or in its context; empty without one."""
    if by == "principal":
        principal = request.context.principal
        return (principal.kind, principal.id) if principal.id else ()
    name: object = given or request.context.extra.get(by)
    return (name,) if isinstance(name, str) and name else ()


def amounts_of(request: ActionRequest, measures: Mapping[str, Measure], counter: CoreState) -> dict[str, Amount]:
    """What a call adds to each measure that counts it, or the code of an error."""
    found: dict[str, Amount] = {}
    for name, amount in counter.amounts(request).items():
        if name in measures:
            found[name] = amount["error"] if isinstance(amount, dict) else amount  # type: ignore[assignment]
    return found


class ScopeJournal(SharedJournal):
    """The journal of one scope, and the values of the measures of one policy over it."""

    def __init__(self, store: DurableStore, run_id: str, measures: Mapping[str, Measure], counter: CoreState) -> None:
        super().__init__(store, run_id)
        self._tally = Tally(measures)
        self._counter = counter
        self._measures = measures
        self._document = f"{run_id}#{json_digest(sorted(measures))[:_DIGITS]}"
        self._kept: int | None = None
        """The position of the journal that the document has; None before it was read."""
        self._version = 0

    async def refresh(self, name: str = "", fence: int = 0) -> None:
        """`SharedJournal.refresh`, from the tally that the store keeps."""
        if self._kept is None:
            self._kept = await self._restore()
        await super().refresh(name, fence)
        if self._seq - self._kept >= TALLY_EVERY:
            await self._keep()

    def counts(self, request: ActionRequest) -> bool:
        """Return true if a measure counts the call, or cannot."""
        return bool(self._amounts(request))

    def _amounts(self, request: ActionRequest) -> dict[str, Amount]:
        return amounts_of(request, self._measures, self._counter)

    def values(self, request: ActionRequest) -> dict[str, Amount]:
        """The values for a decision on a request, or the codes of errors."""
        return self._tally.values(request.context.timestamp)

    def took(self, record: StepRecord) -> None:
        """Take in a call or its end."""
        if record.kind == CALL:
            request = request_of(record)
            self._tally.call(record.idempotency_key, self._amounts(request), request.context.timestamp)
        elif record.kind == RELEASED:
            self._tally.release(record.idempotency_key)
        else:
            self._tally.ended(record.idempotency_key)

    def _ended(self, name: str, kind: str) -> None:
        del self._keys[name]

    async def _restore(self) -> int:
        """Take over the tally in the store; return its position in the journal, 0 without a usable one."""
        entry = await self._store.get(TALLY, self._document)
        if entry is None:
            return 0
        self._version = entry.version
        tally = Tally(self._measures)
        try:
            tally.load(entry.body["tally"])
            opened = {
                key: OpenCall(name, datetime.fromisoformat(at), int(fence))
                for key, (name, at, fence) in entry.body["open"].items()
            }
            seq = int(entry.body["seq"])
        except (ValueError, TypeError, LookupError) as error:
            log.warning("the tally of %s cannot be read; its journal is read instead", self.run_id, exc_info=error)
            return 0
        self._tally, self._open, self._seq = tally, opened, seq
        self._keys = {call.name: key for key, call in opened.items()}
        return seq

    async def _keep(self) -> None:
        """Keep the tally. Another process may do it at the same time: one of them is enough."""
        opened = {key: [call.name, call.at.isoformat(), call.fence] for key, call in self._open.items()}
        body = {"seq": self._seq, "open": opened, "tally": self._tally.dump()}
        self._kept = self._seq
        with suppress(VersionConflict):
            self._version = (await self._store.put(TALLY, self._document, body, expected=self._version)).version
            return
        entry = await self._store.get(TALLY, self._document)
        self._version = 0 if entry is None else entry.version


class Scopes:
    """The scopes of the calls of a run or a guard. `session` and `tenant` are texts of the caller, or None."""

    def __init__(
        self, policy: Policy, store: DurableStore | None, *, session: str | None = None, tenant: str | None = None
    ) -> None:
        self._store = store
        self._given: dict[By, str | None] = {"session": session, "tenant": tenant}
        self._measures = measures_by(policy)
        self._counter = CoreState(policy)
        self._journals: OrderedDict[str, ScopeJournal] = OrderedDict()

    def __bool__(self) -> bool:
        """Return true if the policy has measures over more than one run."""
        return bool(self._measures)

    def journals(self, request: ActionRequest) -> list[ScopeJournal]:
        """The journals of the scopes of a call that the policy measures, in the order in which they are locked."""
        return [journal for _, journal in sorted(self._by(request).values(), key=lambda found: found[0])]

    def values(self, request: ActionRequest) -> dict[str, Amount]:
        """The value of each measure for a decision, from journals that were read, or the code of its error."""
        found: dict[str, Amount] = {}
        journals = self._by(request)
        for by, measures in self._measures.items():
            found.update(journals[by][1].values(request) if by in journals else dict.fromkeys(measures, NO_STATE))
        return found

    def _by(self, request: ActionRequest) -> dict[By, tuple[str, ScopeJournal]]:
        if self._store is None:
            return {}
        found = {}
        for by, measures in self._measures.items():
            names = scope_names(by, request, self._given.get(by))
            if names:
                id = scope_id(by, *names)
                found[by] = id, self._journal(self._store, id, measures)
        return found

    def _journal(self, store: DurableStore, id: str, measures: Mapping[str, Measure]) -> ScopeJournal:
        found = self._journals.get(id)
        if found is None:
            found = self._journals[id] = ScopeJournal(store, id, measures, self._counter)
            for old in list(self._journals.values())[: max(0, len(self._journals) - MAX_SCOPES)]:
                if not old.lock.locked() and not old.waits:
                    del self._journals[old.run_id]
        self._journals.move_to_end(id)
        return found
