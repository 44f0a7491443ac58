"""What happened in a journaled run, step by step: the journal as `bobcat trace` shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

from bobcat.journal import EFFECTFUL_VERDICTS, JournalIndex, StepRecord, index_journal
from bobcat.kernel.integrity import DamagedJournal, check_chain

ONCE = frozenset(("none", "idempotent", "keyed", "transactional", "fenced"))
"""Effects of which a repetition leaves one."""
_BEGINNINGS = ("run.started", "run.resumed")

Body = Mapping[str, Any]  # Any: JSON


@dataclass(slots=True)
class Step:
    """One tool call. `at` is when its first record was written, `ended` when its result was."""

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
    """Why an intent of the step came to nothing, when one did and nothing was begun since."""

    @property
    def denied(self) -> bool:
        """True when the step was refused: by a rule, or by an approver."""
        return self.ok is False and (self.message or "").startswith("[denied]")

    @property
    def status(self) -> str:
        """`ok`, `failed`, `denied`, `uncertain` (it may have run), `waiting` (for an approval), or `unfinished` (not
        begun). A step with a result can be `uncertain` all the same: an earlier attempt at it may have run as well.
        """
        if self.ok is not None:
            return "ok" if self.ok else "denied" if self.denied else "failed"
        if self.uncertain:
            return "uncertain"
        return "waiting" if self.waiting else "unfinished"


@dataclass(slots=True)
class Attempt:
    """One `run_agent` call on the run."""

    number: int
    at: datetime
    bundle_id: str | None
    restored: bool = False
    end: str | None = None
    """How it ended short of an answer, where that is on record, and when."""
    ended: datetime | None = None


@dataclass(slots=True)
class Hop:
    """One handoff of a graph."""

    hop: int
    node: str
    next: str | None
    status: str | None
    denials: int
    at: datetime


@dataclass(slots=True)
class End:
    """How an attempt ended short of an answer."""

    attempt: Attempt


Entry: TypeAlias = Attempt | Step | End | Hop


@dataclass(slots=True)
class Timeline:
    """A whole run. `missing` are the positions where the journal has holes, `damage` is what else is wrong with it.

    `entries` is what happened in the order of the journal. A step stands under each attempt at it, as it stood then,
    and under the last one as it stands now.
    """

    run_id: str
    records: int
    started: datetime
    ended: datetime
    task: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    final_answer: str | None = None
    finished: bool = False
    missing: list[int] = field(default_factory=list)
    damage: str | None = None
    entries: list[Entry] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Plain data; points in time are RFC 3339 strings."""
        data = asdict(replace(self, entries=[]))
        for attempt in data["attempts"]:
            if not attempt["restored"]:  # said only where it is so
                del attempt["restored"]
        del data["entries"]
        for step, row in zip(self.steps, data["steps"], strict=True):
            row["args"] = dict(step.args)
            row["status"] = step.status
        return data


def timeline(records: Sequence[StepRecord]) -> Timeline:
    """The timeline of the records of one run, at least one of them."""
    ordered = sorted(records, key=lambda record: record.seq)
    first, last = ordered[0], ordered[-1]
    times = [record.timestamp for record in ordered]
    line = Timeline(first.run_id, len(ordered), min(times), max(times))
    present = {record.seq for record in ordered}
    line.missing = [seq for seq in range(first.seq, last.seq) if seq not in present]
    line.damage = _damage(ordered)
    steps: dict[int, Step] = {}
    effects: dict[int, set[str | None]] = {}
    for record in ordered:
        _take(line, steps, record)
        if record.kind == "action.intent" and record.body.get("verdict") in EFFECTFUL_VERDICTS:
            effects.setdefault(record.body["step"], set()).add(_text(record.body.get("effect")))
    _settle(line, steps, effects, index_journal(ordered))
    line.entries = _entries(ordered, line)
    return line


def _entries(ordered: Sequence[StepRecord], line: Timeline) -> list[Entry]:
    """What happened in the order of the journal. Times are no order: clocks are set, and each worker has its own."""
    attempts: list[list[StepRecord]] = [[]]
    for record in ordered:
        if record.kind in _BEGINNINGS and attempts[-1]:
            attempts.append([])
        attempts[-1].append(record)
    found: list[Entry] = []
    last: dict[int, int] = {}
    begun = 0
    for records in attempts:
        begun += records[0].kind in _BEGINNINGS
        part = Timeline(line.run_id, 0, line.started, line.ended)
        then: dict[int, Step] = {}
        for record in records:
            seen, hops, ended = len(then), len(part.hops), len(part.attempts) and part.attempts[-1].ended
            _take(part, then, record)
            for number in list(then)[seen:]:
                last[number] = len(found)
                found.append(then[number])
            if record.kind in _BEGINNINGS:
                part.attempts[-1].number = begun
                found.append(part.attempts[-1])
            elif part.attempts and part.attempts[-1].ended != ended:
                found.append(End(part.attempts[-1]))
            found.extend(part.hops[hops:])
        _settle(part, then, {}, index_journal(records))
    now = {step.step: step for step in line.steps}
    for position, entry in enumerate(found):
        if isinstance(entry, Step):
            whole = now[entry.step]
            stands = whole if last[entry.step] == position else entry
            found[position] = replace(stands, at=entry.at, tool=whole.tool, args=entry.args or whole.args)
    return found


def _damage(ordered: Sequence[StepRecord]) -> str | None:
    """What the hashes of the records say is wrong with them; a hole is said elsewhere."""
    if any(record.seq != position for position, record in enumerate(ordered)):
        return None
    try:
        check_chain(ordered, ordered[0].run_id)
    except DamagedJournal as damaged:
        return str(damaged)
    return None


def _take(line: Timeline, steps: dict[int, Step], record: StepRecord) -> None:
    body, at = record.body, record.timestamp
    attempt = len(line.attempts)
    match record.kind:
        case "run.started" | "run.resumed":
            line.attempts.append(Attempt(attempt + 1, at, _text(body.get("bundle_id")), body.get("restored") is True))
            line.task = _text(body.get("task", line.task))
        case "model.output":
            for number, call in _calls(body):
                steps[number] = Step(number, str(call.get("tool")), call.get("args") or {}, at, attempt)
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
            hop = Hop(body.get("hop", 0), str(body.get("node")), following, status, body.get("denials", 0), at)
            line.hops.append(hop)
            line.finished = hop.next is None
        case _:
            pass  # a kind that a later version writes


def _step(steps: dict[int, Step], record: StepRecord, attempt: int) -> Step:
    """The step that a record is about, which no reply may have announced."""
    number = record.body["step"]
    return steps.setdefault(number, Step(number, str(record.body.get("tool")), {}, record.timestamp, attempt))


def _text(value: object) -> str | None:
    """A field of a record that others wrote, as text."""
    return None if value is None else str(value)


def _calls(body: Body) -> Iterator[tuple[int, Body]]:
    """The tool calls of a reply, each with its step."""
    kind, step = body.get("type"), body["step"]
    if kind == "tool_calls":
        yield from enumerate(body["calls"], step)
    elif kind != "final_answer":
        yield step, body


def _settle(
    line: Timeline, steps: dict[int, Step], effects: Mapping[int, set[str | None]], journal: JournalIndex
) -> None:
    line.steps = [steps[number] for number in sorted(steps)]
    for step in line.steps:
        if step.ok is None:
            step.uncertain = journal.uncertain(step.step) is not None
        elif step.resolved_uncertain and not step.reconciled:
            step.uncertain = not _is_settled(step, effects.get(step.step, set()))


def _is_settled(step: Step, effects: set[str | None]) -> bool:
    """True when the result of a step leaves no doubt about its earlier attempts: none of them had an effect, or the one
    that succeeded stands for all, as the tool's effect promises.
    """
    if effects == {"none"}:
        return True
    return step.ok is True and step.verdict != "dry_run" and bool(effects) and effects <= ONCE
