"""The memory of a run that shares journals with other runs: that of its session, and those of its scopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bobcat._core import RunState as CoreState
from bobcat.journal.records import StepRecord
from bobcat.model.decision import ActionRequest, Decision
from bobcat.runtime.memory import SESSION, RunMemory, call_key
from bobcat.runtime.memory_notes import notes_of
from bobcat.runtime.memory_values import remembered
from bobcat.runtime.scopes import Scopes
from bobcat.runtime.session_memory import SessionMemory
from bobcat.runtime.shared_journal import SharedJournal
from bobcat.runtime.tally import Amount

Json = Any  # Any: JSON


class SharedMemory(RunMemory):
    """The memory `of` one run or of a session, and the counts and sums over the `scopes` of its calls.

    A call is on record in the journals since it was decided. One that is refused, or never begins, is taken back.
    """

    def __init__(self, of: RunMemory | SessionMemory, scopes: Scopes | None, run_id: str) -> None:
        self.policy = of.policy
        self._own = of if isinstance(of, RunMemory) else None
        self._session = of if isinstance(of, SessionMemory) else None
        self._of = of
        self._scopes = scopes
        self._run_id = run_id
        self._shared: Mapping[str, Amount] = {}
        """The values of the last decision."""
        self._reserved: dict[str, dict[SharedJournal, str]] = {}
        """The journals that have a call of this process, with its key in each, by its name."""
        self._begun: set[str] = set()
        """The names of calls that may have happened."""
        self._uncertain: set[str] = set()
        self._used: dict[SharedJournal, None] = {} if self._session is None else {self._session: None}
        self.read: Mapping[str, Json] = {}
        self.certain: tuple[str, Decision] | None = None
        """The decision on the same call as if no earlier attempt were uncertain, before this one was recorded."""

    @property
    def state(self) -> CoreState:
        """The state of the run, or of the session."""
        return self._of.state

    def journals(self, request: ActionRequest) -> Sequence[SharedJournal]:
        """The journals that must have a call before it runs, in the order in which they are locked."""
        found = [] if self._scopes is None else self._scopes.journals(request)
        self._used.update(dict.fromkeys(found))
        return found if self._session is None else [self._session, *found]

    def waiting(self) -> Sequence[SharedJournal]:
        """The journals that have outcomes to record."""
        return [each for each in self._used if each.waits]

    def share(self, request: ActionRequest) -> Mapping[str, Amount]:
        """Give the state the values of the scopes for a decision on a request; return them."""
        if self._scopes is not None:
            self._shared = self._scopes.values(request)
            self.state.share(self._shared)
        return self._shared

    def decides(self) -> None:
        """Take in that the call is decided after the session as far as its journal was read."""
        if self._session is not None and not self.read:
            self.read = {SESSION: [self._session.run_id, self._session.position]}

    def notes(self, request: ActionRequest) -> tuple[str, ...]:
        """Notes for an approver of the call, with the values of its decision."""
        self.state.share(self._shared)
        return notes_of(self.policy, self.state, request)

    def name(self, key: str) -> str:
        """The name of a call in the journals."""
        return f"{self._run_id}:{key.partition('#')[0]}"

    def keeps_earlier(self, name: str) -> bool:
        """Return true if an earlier attempt at a call may have happened beside the one that is decided."""
        return name in self._uncertain

    def reserved(self, name: str, keys: dict[SharedJournal, str]) -> None:
        """Take in that a permitted call is on record."""
        self._reserved[name] = keys

    def next_reply(self) -> None:
        """Begin the calls of another reply. In a session, each decision sees the results that are on record."""
        if self._own is not None:
            self._own.next_reply()

    def intended(self, request: ActionRequest, key: str) -> None:
        """Take in that a call is about to run."""
        self._begun.add(self.name(key))
        if self._own is not None:
            self._own.intended(request, key)

    def refused(self, key: str) -> None:
        """Take back a call that was permitted and then refused."""
        self._take_back(self.name(key))

    def refused_before(self, request: ActionRequest) -> None:
        """Take back a call that an earlier attempt of the run reserved, and that was refused."""
        for journal in self.journals(request):
            journal.take_back(self.name(call_key(request.context.step_seq)), fence=self.fence)

    def released(self, key: str) -> None:
        """Take back a call that certainly did not happen."""
        if self._own is not None:
            self._own.released(key)
        self._take_back(self.name(key))

    def finished(self, *, suspended: bool) -> None:
        """Take back the calls that were permitted and never began, unless the run will continue with them."""
        for name in () if suspended else self._reserved.keys() - self._begun:
            self._take_back(name)

    def returned(self, key: str, value: object, at: datetime) -> Mapping[str, Json]:
        """Take in the result of a call that succeeded; return its fields for the journal."""
        fields = remembered(value).fields if self._own is None else self._own.returned(key, value, at)
        self._end(self.name(key), {"ok": True, "at": at.isoformat()}, fields, at)
        return fields

    def failed(self, key: str, at: datetime) -> None:
        """Take in that a call ran and failed."""
        if self._own is not None:
            self._own.failed(key, at)
        self._end(self.name(key), {"ok": False, "at": at.isoformat()}, {}, at)

    def replayed(self, intent: StepRecord, request: ActionRequest, result: Mapping[str, Json] | None) -> None:
        """Take in a call of an earlier attempt, and its outcome, if the process died before it recorded that.

        An attempt without a result may have happened: it stays counted.
        """
        if self._own is not None:
            self._own.replayed(intent, request, result)
        name = self.name(call_key(request.context.step_seq))
        if self._session is not None:
            self._session.put_call(request, name, self.fence)
        if result is None:
            self._uncertain.add(name)
            return
        at = request.context.timestamp
        self.journals(request)
        fields = {"value": result["value"]} if "value" in result else {}
        self._end(name, {"ok": result.get("ok") is True, "at": at.isoformat()}, fields, at)

    def _end(self, name: str, body: dict[str, Json], fields: Mapping[str, Json], at: datetime) -> None:
        for journal, key in (self._reserved.pop(name, None) or dict.fromkeys(self._used, "")).items():
            journal.put_result(name, key, {**body, **fields} if journal.keeps_values else body, at)

    def _take_back(self, name: str) -> None:
        for journal, key in self._reserved.pop(name, {}).items():
            journal.take_back(name, key=key)
