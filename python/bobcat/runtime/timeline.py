"""Timelines of journaled runs, step by step, for `bobcat trace` and `bobcat ui`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from bobcat.journal.index import EFFECTFUL_VERDICTS, JournalIndex, index_journal
from bobcat.journal.legacy_names import is_refusal
from bobcat.journal.records import StepRecord
from bobcat.model.plain_fields import fields_to_json
from bobcat.runtime.hash_chain import DamagedJournal, check_chain

ONCE = frozenset(("none", "idempotent", "keyed", "transactional", "fenced"))
"""Effects that a repetition does not duplicate."""
_BEGINNINGS = ("run.started", "run.resumed")

Body = Mapping[str, Any]  # Any: JSON


@dataclass(slots=True)
class StepEntry:
    """One tool call. `at` is the time of its first record, `ended` the time of its result."""

    step: int
    tool: str
    args: Body
    at: datetime
    attempt: int
    key: str = ""
    verdict: str | None = None
    ok: bool | None = None
    message: str | None = None
    duration_ms: int | None = None
    ended: datetime | None = None
    approver: str | None = None
    waiting: bool = False
    uncertain: bool = False
    resolved_uncertain: bool = False
    effect: str | None = None
    reconciled: bool = False
    abandoned: str | None = None
    """The reason that an intent of the step was abandoned, if no later attempt began."""

    @property
    def denied(self) -> bool:
        """Return true if a rule or an approver denied the step."""
        return self.ok is False and is_refusal(self.message)

    @property
    def status(self) -> str:
        """Return `ok`, `failed`, `denied`, `uncertain` (it may have run), `waiting` (for an approval), or `unfinished`
        (not begun). A step with a result can also be `uncertain`: an earlier attempt may have run as well.
        """
        if self.ok is not None:
            return "ok" if self.ok else "denied" if self.denied else "failed"
        if self.uncertain:
            return "uncertain"
        return "waiting" if self.waiting else "unfinished"


@dataclass(slots=True)
class AttemptEntry:
    """One `run_agent` call for the run."""

    number: int
    at: datetime
    bundle_id: str | None
    restored: bool = False
    end: str | None = None
    """The recorded end without an answer, and its time."""
    ended: datetime | None = None


@dataclass(slots=True)
class TransitionEntry:
    """One handoff of a graph."""

    hop: int
    node: str
    next: str | None
    status: str | None
    denials: int
    at: datetime


@dataclass(slots=True)
class EndEntry:
    """The end of an attempt without an answer."""

    attempt: AttemptEntry


NOTES = {
    "uncertain": "intent without result: the action may have been executed",
    "waiting": "waiting for an approval",
    "unfinished": "neither intent nor result: the action did not begin",
}


class StepNote(NamedTuple):
    """A line about a step. `kind` is `plain`, `caution`, or the status that the line explains."""

    text: str
    kind: str


def step_notes(step: StepEntry) -> Iterator[StepNote]:
    """Yield the lines below a step; their texts hold untrusted text."""
    if step.approver is not None:
        yield StepNote(f"granted by {step.approver}", "plain")
    if step.resolved_uncertain:
        what, too = ("not run again after", "") if step.denied else ("retried after", " too")
        yield StepNote(f"{what} an uncertain attempt, which may have been executed{too}", "caution")
    if step.reconciled:
        yield StepNote("not run again: the reconciler found that an earlier attempt happened", "plain")
    if step.abandoned is not None and step.ok is None:
        yield StepNote(f"begun, but not finished: {step.abandoned}", "plain")
    if step.status in NOTES and not (step.status == "unfinished" and step.abandoned is not None):
        yield StepNote(NOTES[step.status], step.status)
    if step.message:
        yield StepNote(step.message, "plain")


Entry: TypeAlias = AttemptEntry | StepEntry | EndEntry | TransitionEntry


@dataclass(slots=True)
class Timeline:
    """A whole run. `missing` are the positions of missing records, `damage` describes other damage of the journal.

    `entries` are the events in journal order. A step appears under each attempt at it, with its state at that time,
    and under the last one with its current state.
    """

    run_id: str
    records: int
    started: datetime
    ended: datetime
    task: str | None = None
    attempts: list[AttemptEntry] = field(default_factory=list)
    steps: list[StepEntry] = field(default_factory=list)
    hops: list[TransitionEntry] = field(default_factory=list)
    final_answer: str | None = None
    finished: bool = False
    missing: list[int] = field(default_factory=list)
    damage: str | None = None
    entries: list[Entry] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Return plain data; points in time are RFC 3339 strings."""
        data = fields_to_json(replace(self, entries=[]))
        for attempt in data["attempts"]:
            if not attempt["restored"]:  # omitted unless true
                del attempt["restored"]
        del data["entries"]
        for step, row in zip(self.steps, data["steps"], strict=True):
            row["status"] = step.status
        return data


def timeline(records: Sequence[StepRecord]) -> Timeline:
    """Build the timeline from the records of one run, at least one record."""
    ordered = sorted(records, key=lambda record: record.seq)
    first, last = ordered[0], ordered[-1]
    times = [record.timestamp for record in ordered]
    line = Timeline(first.run_id, len(ordered), min(times), max(times))
    present = {record.seq for record in ordered}
    line.missing = [seq for seq in range(first.seq, last.seq) if seq not in present]
    line.damage = _damage(ordered)
    steps: dict[int, StepEntry] = {}
    effects: dict[int, set[str | None]] = {}
    for record in ordered:
        _take(line, steps, record)
        if record.kind == "action.intent" and record.body.get("verdict") in EFFECTFUL_VERDICTS:
            effects.setdefault(record.body["step"], set()).add(_text(record.body.get("effect")))
    _settle(line, steps, effects, index_journal(ordered))
    line.entries = _entries(ordered, line)
    return line


def _entries(ordered: Sequence[StepRecord], line: Timeline) -> list[Entry]:
    """Return the events in journal order. Times are not ordered: clocks are adjusted, and differ between workers."""
    attempts: list[list[StepRecord]] = [[]]
    for record in ordered:
        if record.kind in _BEGINNINGS and attempts[-1]:
            attempts.append([])
        attempts[-1].append(record)
    found: list[Entry] = []
    last: dict[int, int] = {}
    first = 0
    for records in attempts:
        first += records[0].kind in _BEGINNINGS
        part = Timeline(line.run_id, 0, line.started, line.ended)
        then: dict[int, StepEntry] = {}
        for record in records:
            seen, hops, ended = len(then), len(part.hops), len(part.attempts) and part.attempts[-1].ended
            _take(part, then, record)
            for number in list(then)[seen:]:
                last[number] = len(found)
                found.append(then[number])
            if record.kind in _BEGINNINGS:
                part.attempts[-1].number = first
                found.append(part.attempts[-1])
            elif part.attempts and part.attempts[-1].ended != ended:
                found.append(EndEntry(part.attempts[-1]))
            found.extend(part.hops[hops:])
        _settle(part, then, {}, index_journal(records))
    now = {step.step: step for step in line.steps}
    for position, entry in enumerate(found):
        if isinstance(entry, StepEntry):
            whole = now[entry.step]
            current = whole if last[entry.step] == position else entry
            found[position] = replace(current, at=entry.at, tool=whole.tool, args=entry.args or whole.args)
    return found


def _damage(ordered: Sequence[StepRecord]) -> str | None:
    """Return the damage that the records' hashes show; missing records are reported elsewhere."""
    if any(record.seq != position for position, record in enumerate(ordered)):
        return None
    try:
        check_chain(ordered, ordered[0].run_id)
    except DamagedJournal as damaged:
        return str(damaged)
    return None


def _take(line: Timeline, steps: dict[int, StepEntry], record: StepRecord) -> None:
    body, at = record.body, record.timestamp
    attempt = len(line.attempts)
    match record.kind:
        case "run.started" | "run.resumed":
            line.attempts.append(
                AttemptEntry(attempt + 1, at, _text(body.get("bundle_id")), body.get("restored") is True)
            )
            line.task = _text(body.get("task", line.task))
        case "model.output":
            for number, call in _calls(body):
                steps[number] = StepEntry(number, str(call.get("tool")), call.get("args") or {}, at, attempt)
        case "approval.requested" | "approval.granted":
            step = _step(steps, record, attempt)
            step.waiting = record.kind == "approval.requested"
            step.approver = _text(body.get("approver"))
            step.args = body.get("edited") or body.get("args") or step.args
        case "action.intent" | "action.result":
            step = _step(steps, record, attempt)
            step.key, step.verdict = record.idempotency_key, _text(body.get("verdict"))
            step.args = body.get("args", step.args)
            step.effect, step.abandoned = _text(body.get("effect", step.effect)), None
            if record.kind == "action.result":
                step.ok, step.message = body.get("ok") is True, _text(body.get("message"))
                step.duration_ms, step.ended, step.attempt = body.get("duration_ms"), at, attempt
                step.resolved_uncertain = body.get("uncertain_retry") is True
                step.reconciled = body.get("reconciled") is True
        case "action.abandoned":
            _step(steps, record, attempt).abandoned = _text(body.get("reason"))
        case "run.failed" | "run.cancelled" | "run.suspended":
            if line.attempts:
                waits = f"suspended: waiting for approval {', '.join(map(str, body.get('approvals', ())))}"
                line.attempts[-1].end = waits if record.kind == "run.suspended" else _text(body.get("error"))
                line.attempts[-1].ended = at
        case "final":
            line.finished, line.final_answer = True, _text(body.get("final_answer"))
        case "handoff":
            following, status = _text(body.get("next")), _text(body.get("status"))
            hop = TransitionEntry(
                body.get("hop", 0), str(body.get("node")), following, status, body.get("denials", 0), at
            )
            line.hops.append(hop)
            line.finished = hop.next is None
        case _:
            pass  # a kind that a later version writes


def _step(steps: dict[int, StepEntry], record: StepRecord, attempt: int) -> StepEntry:
    """Return the step of a record, even if no reply has announced it."""
    number = record.body["step"]
    return steps.setdefault(number, StepEntry(number, str(record.body.get("tool")), {}, record.timestamp, attempt))


def _text(value: object) -> str | None:
    """Return a field of an untrusted record as text."""
    return None if value is None else str(value)


def _calls(body: Body) -> Iterator[tuple[int, Body]]:
    """Yield the tool calls of a reply, each with its step."""
    kind, step = body.get("type"), body["step"]
    if kind == "tool_calls":
        yield from enumerate(body["calls"], step)
    elif kind != "final_answer":
        yield step, body


def _settle(
    line: Timeline, steps: dict[int, StepEntry], effects: Mapping[int, set[str | None]], journal: JournalIndex
) -> None:
    line.steps = [steps[number] for number in sorted(steps)]
    for step in line.steps:
        if step.ok is None:
            step.uncertain = journal.uncertain(step.step) is not None
        elif step.resolved_uncertain and not step.reconciled:
            step.uncertain = not _is_settled(step, effects.get(step.step, set()))


def _is_settled(step: StepEntry, effects: set[str | None]) -> bool:
    """Return true if a step's result also settles its earlier attempts: either they had no effect, or the tool's
    declared effect guarantees that the successful attempt replaces them.
    """
    if effects == {"none"}:
        return True
    return step.ok is True and step.verdict != "dry_run" and bool(effects) and effects <= ONCE
