"""Events of a thread, in the order of its journal.

Each has a `seq`, which counts the events of the thread from 1 without a gap, and the number of its `turn`. The same
journal gives the same events in every process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bobcat.model.deltas import TextDelta, ThinkingDelta
from bobcat.model.run import Usage


class ThreadEvent:
    """Base of all events. Each ends with its position in the thread, its turn, and its time."""

    __slots__ = ()

    seq: int
    turn: int
    at: datetime


@dataclass(frozen=True, slots=True)
class TurnStarted(ThreadEvent):
    """A turn has begun with the user's `text` and the digests of its `attachments`."""

    text: str
    attachments: tuple[str, ...] = ()
    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ThreadText(ThreadEvent, TextDelta):
    """Further text of the model's reply. An agent without `stream` gives its text as one."""

    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ThreadThinking(ThreadEvent, ThinkingDelta):
    """Further text of the model's thinking, where the provider shows it."""

    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ReplyDiscarded(ThreadEvent):
    """The reply whose text came last was not completed: its text counts for nothing."""

    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class CallProposed(ThreadEvent):
    """The model proposes a call: `step` counts the calls of the turn."""

    step: int
    call_id: str
    tool: str
    args: Mapping[str, Any]  # Any: JSON
    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Decided(ThreadEvent):
    """The policy has decided on the call of `step`."""

    step: int
    verdict: str
    reason: str
    rules: tuple[str, ...]
    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Asked(ThreadEvent):
    """The turn waits for the approvals with these ids; it continues when they are answered."""

    step: int
    approvals: tuple[str, ...]
    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class CallStarted(ThreadEvent):
    """The tool of `step` starts: from here on it may have taken effect."""

    step: int
    tool: str
    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class CallResult(ThreadEvent):
    """The result of `step`. `message` is what the model gets: `[ok]`, `[error]`, `[denied]` or `[dry_run]` first."""

    step: int
    tool: str
    ok: bool
    message: str
    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ThreadUsage(ThreadEvent, Usage):
    """The usage of one model reply, and its cost in micro-dollars where the thread has a ledger."""

    cost_micros: int | None = None
    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Ended(ThreadEvent):
    """The turn has ended: `outcome`, `answer`, `error` and `code` are those of its `RunResult`."""

    outcome: str
    answer: str | None = None
    error: str | None = None
    code: str | None = None
    seq: int = field(kw_only=True)
    turn: int = field(kw_only=True)
    at: datetime = field(kw_only=True)
