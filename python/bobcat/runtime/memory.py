"""Memory of a run: the calls and results that rules of the policy remember, as a function of the journal.

The core holds the state (`bobcat._core.RunState`) and decides with it. This module gives it the run's intents and
results in the order of the journal, live or from the records of an earlier attempt, in the same form both times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from bobcat._core import RunState as CoreState
from bobcat.bundle import Policy
from bobcat.journal.index import JournalIndex
from bobcat.journal.records import StepRecord
from bobcat.model.decision import ActionRequest, ExecutionContext, ToolMetadata, Verdict
from bobcat.model.defaults import DECLARED
from bobcat.model.frozen import FrozenDict, deep_freeze
from bobcat.runtime.memory_notes import notes_of
from bobcat.runtime.memory_values import NotRemembered, exact, remembered
from bobcat.runtime.shared_journal import SharedJournal
from bobcat.runtime.tally import Amount

Json = Any  # Any: JSON


def reads_task(policy: Policy) -> bool:
    """Return true if a rule may read the user's task: by its IR, or as a Python callable."""
    return policy.reads_task or bool(policy.manifest.host_rules)


class RunMemory:
    """The state that the rules of one policy remember."""

    fence = 0
    """The fence of the run's lease."""
    read: Mapping[str, Json] = FrozenDict()
    """The field of a recorded decision about what was read for it, beside the journal of the run."""

    def __init__(self, policy: Policy, task: str | None) -> None:
        self.policy = policy
        self._state = CoreState(policy, task=task)

    @classmethod
    def of(cls, policy: Policy, task: str | None) -> RunMemory | None:
        """The empty memory of a run; None for a policy without rules that remember."""
        return cls(policy, task) if policy.remembers else None

    @classmethod
    def load(cls, policy: Policy, data: bytes) -> RunMemory:
        """The memory of a snapshot. Raises `ValueError`."""
        memory = cls(policy, None)
        memory.restore(data)
        return memory

    def restore(self, data: bytes) -> None:
        """Return to the state of a snapshot. Raises `ValueError`."""
        self._state = CoreState.load(self.policy, data)

    @property
    def state(self) -> CoreState:
        """The state of the core."""
        return self._state

    def journals(self, request: ActionRequest) -> Sequence[SharedJournal]:
        """The shared journals that must have a call before it runs, in the order in which they are locked."""
        return ()

    def waiting(self) -> Sequence[SharedJournal]:
        """The shared journals that have outcomes to record."""
        return ()

    def share(self, request: ActionRequest) -> Mapping[str, Amount]:
        """Give the state the values of measures over more than the run, for a decision on a request; return them."""
        return {}

    def notes(self, request: ActionRequest) -> tuple[str, ...]:
        """Notes for an approver of the call."""
        return notes_of(self.policy, self.state, request)

    def next_turn(self, task: str | None) -> None:
        """Begin another run of the same conversation: values of results stay, counts and formulas start anew."""
        self.state.next_turn(task=task)

    def next_reply(self) -> None:
        """Begin the calls of another reply: they may use the results of those before."""
        self.state.next_reply()

    def intended(self, request: ActionRequest, key: str) -> None:
        """Count a call that is about to run. A repeated attempt under the same key counts once."""
        self.state.call(ActionRequest(request.tool, exact(request.args), request.declared, request.context), key)

    def refused(self, key: str) -> None:
        """Do nothing: a run counts a call when it is about to run, after its approval."""

    def refused_before(self, request: ActionRequest) -> None:
        """Do nothing: an earlier attempt counted nothing for a call that was refused."""

    def released(self, key: str) -> None:
        """Take back a call that certainly did not happen."""
        self.state.release(key)

    def finished(self, *, suspended: bool) -> None:
        """Do nothing: no call is counted before it is about to run."""

    def returned(self, key: str, value: object, at: datetime) -> Mapping[str, Json]:
        """Take in the result of a call that succeeded; return its fields for the journal."""
        result = remembered(value)
        self.state.result(key, result.value, at)
        return result.fields

    def failed(self, key: str, at: datetime) -> None:
        """Take in that a call ran and failed."""
        self.state.failed(key, at)

    def replayed(self, intent: StepRecord, request: ActionRequest, result: Mapping[str, Json] | None) -> None:
        """Take in a call of an earlier attempt, and its recorded result where it has one."""
        key = key_of(intent)
        self.state.call(request, key)
        if result is None:
            return
        at = _time(result.get("at"), request.context.timestamp)
        if result.get("ok") is True:
            self.state.result(key, NotRemembered() if "value" not in result else result["value"], at)
        else:
            self.state.failed(key, at)


SESSION = "session"
"""Key of a recorded decision in a session: its journal, and the number of records that the decision came after."""
RETRY = "uncertain_effect"
"""Key of a recorded decision on an uncertain retry: the effect of the action that may have happened."""


def decision_fields(request: ActionRequest, read: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a recorded decision that rebuild its context and its state; `read` has `RETRY` and `SESSION`."""
    return {"at": request.context.timestamp.isoformat(), **read}


def intent_fields(request: ActionRequest, attempt: int, read: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of an intent that a resumed run needs to remember it."""
    fields = {"args": request.args, **decision_fields(request, read)}
    return {**fields, "attempt": attempt} if attempt else fields


def replay_attempts(
    memory: RunMemory,
    journal: JournalIndex,
    step: int,
    declared: ToolMetadata | None,
    context_at: Callable[[datetime, bool], ExecutionContext],
    result: Mapping[str, Json] | None = None,
) -> str:
    """Give the recorded attempts at a step to the memory, the last one with `result`, its record of the journal.

    `context_at` makes the context of an attempt from its time, and true for an uncertain retry. A preview after them is
    not their result. Returns the name of the last one in the memory; empty without one.
    """
    intents = journal.begun.get(step, ())
    if result is not None and result.get("verdict") == Verdict.DRY_RUN.value:
        result = None
    latest = {key_of(intent): intent for intent in intents}  # attempts that count once are counted at the last one
    for intent in latest.values():
        args = deep_freeze(dict(intent.body.get("args") or {}))
        context = context_at(_time(intent.body.get("at"), intent.timestamp), RETRY in intent.body)
        request = ActionRequest(intent.body["tool"], args, DECLARED if declared is None else declared, context)
        memory.replayed(intent, request, result if intent is intents[-1] else None)
    return key_of(intents[-1]) if intents else ""


def key_of(intent: StepRecord) -> str:
    """The name of a recorded call in the memory."""
    return call_key(int(intent.body["step"]), intent.body.get("attempt", 0))


def call_key(step: int, attempt: int = 0) -> str:
    """The name of a call in the memory: its step, and its attempt where earlier ones may have happened beside it."""
    return f"{step}#{attempt}" if attempt else str(step)


def _time(text: object, otherwise: datetime) -> datetime:
    if not isinstance(text, str):
        return otherwise
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return otherwise
