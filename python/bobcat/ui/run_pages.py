"""The pages about runs: the list, and the timeline of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import TypeGuard, assert_never
from urllib.parse import urlencode

from bobcat.approvals.inbox import Approvals
from bobcat.approvals.record import Approval
from bobcat.approvals.waking import JOB_KIND
from bobcat.errors import JobError
from bobcat.journal.records import StepRecord
from bobcat.pages.html import cell, code, facts, name, section, table, text
from bobcat.runtime.timeline import (
    AttemptEntry,
    EndEntry,
    Entry,
    StepEntry,
    Timeline,
    TransitionEntry,
    step_notes,
    timeline,
)
from bobcat.stores.protocol import DurableStore, RunStatus, RunSummary
from bobcat.text.display import safe_args, safe_json
from bobcat.ui.words import STATUS_STYLES, ago, approval_path, moment_text, run_path
from bobcat.workers.job import Job, job_from_json

STATUSES: tuple[RunStatus, ...] = ("queued", "running", "suspended", "succeeded", "failed", "cancelled")
PAGE = 50
"""Runs on one page."""
MAX_SCANNED = 1_000
"""Runs that one page looks at to find those that match its filters."""
MAX_RECORDS = 5_000
"""Records of a journal on one page."""
SHOWN_CHARS = 2_000
"""Characters of a message on a timeline."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The chosen runs; an empty field chooses all. `after` is the last run of the page before."""

    status: str = ""
    tenant: str = ""
    kind: str = ""
    after: str = ""

    @property
    def cursor(self) -> RunSummary | None:
        """The place in the list. Raises `ValueError`."""
        if not self.after:
            return None
        when, tilde, run_id = self.after.partition("~")
        moment = datetime.fromisoformat(when)
        if not tilde or moment.tzinfo is None:
            raise ValueError("not a place in the list")
        return RunSummary(run_id, "running", 0, 0, moment, moment, {})


@dataclass(frozen=True, slots=True)
class Page:
    """Runs with their jobs, and the place after them; empty at the end."""

    rows: tuple[tuple[RunSummary, Job | None], ...]
    after: str


async def find_runs(store: DurableStore, filters: Filters) -> Page:
    """Find the runs of one page. Raises `ValueError` for filters that are not valid."""
    if filters.status not in ("", *STATUSES):
        raise ValueError("not a status of runs")
    status = next((known for known in STATUSES if known == filters.status), None)
    rows: list[tuple[RunSummary, Job | None]] = []
    last, scanned = filters.cursor, 0
    while len(rows) < PAGE and scanned < MAX_SCANNED:
        found = await store.runs(status=status, limit=PAGE, after=last)
        for run in found:
            last, scanned = run, scanned + 1
            job = await _job_of(store, run.run_id)
            if run.detail.get("thread") is not True and _matches(filters, job):
                rows.append((run, job))
            if len(rows) == PAGE:
                break
        if len(found) < PAGE:
            return Page(tuple(rows), "" if len(rows) < PAGE or run is found[-1] else _place(run))
    return Page(tuple(rows), "" if last is None else _place(last))


def _matches(filters: Filters, job: Job | None) -> bool:
    tenant, kind = ("", "") if job is None else (job.tenant, job.name)
    return filters.tenant in ("", tenant) and filters.kind in ("", kind)


def _place(run: RunSummary) -> str:
    return f"{run.updated.isoformat()}~{run.run_id}"


async def _job_of(store: DurableStore, run_id: str) -> Job | None:
    entry = await store.get(JOB_KIND, run_id)
    if entry is None:
        return None
    try:
        return job_from_json(entry.body)
    except JobError:
        return None


def runs_parts(page: Page, filters: Filters, now: datetime) -> Iterator[str]:
    """The filters, the table and the link to the next page."""
    options = "".join(
        f'<option{" selected" if filters.status == status else ""} value="{status}">{status or "every status"}</option>'
        for status in ("", *STATUSES)
    )
    yield (
        f'<form method="get" action="/runs" role="search" class="card"><label>Status <select name="status">{options}'
        f'</select></label> <label>Kind <input name="kind" value="{name(filters.kind)}"></label> '
        f'<label>Tenant <input name="tenant" value="{name(filters.tenant)}"></label> <button>Show</button></form>'
    )
    columns = (("run", ""), ("status", ""), ("changed", ""), ("records", "n"), ("kind", ""), ("tenant", ""), ("", ""))
    if page.rows:
        yield table(columns, (_run_row(run, job, now) for run, job in page.rows), label="Runs")
    else:
        yield "<p>No run was found.</p>"
    if page.after:
        fields = {"status": filters.status, "kind": filters.kind, "tenant": filters.tenant, "after": page.after}
        yield f'<p><a rel="next" href="/runs?{text(urlencode(fields))}">Older runs</a></p>'


def _run_row(run: RunSummary, job: Job | None, now: datetime) -> str:
    problem = (run.status != "running" and run.detail.get("error")) or ""
    asked = run.detail.get("approvals") if run.status == "suspended" else None
    waits = f"waits for {len(asked)} approvals" if _listed(asked) else ""
    return (
        f'<tr><th scope="row"><a href="{run_path(run.run_id)}">{name(run.run_id, limit=80)}</a></th>'
        f"{cell(status_html(run.status))}{cell(ago(run.updated, now))}{cell(f'{run.records:,}', 'n')}"
        f"{cell('' if job is None else code(job.kind, limit=80))}{cell('' if job is None else name(job.tenant))}"
        f"{cell(text(problem, limit=200) or waits)}</tr>"
    )


def _listed(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple) and bool(value)


def status_html(status: str) -> str:
    """A status as a word in its colour."""
    return f'<b class="{STATUS_STYLES.get(status, "quiet")}">{text(status)}</b>'


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run: its state, its job, its first records and its approvals."""

    run: RunSummary
    job: Job | None
    records: Sequence[StepRecord]
    approvals: Sequence[Approval]


async def find_run(store: DurableStore, run_id: str) -> RunFacts | None:
    """Read one run; None for an unknown one."""
    run = await store.run(run_id)
    if run is None:
        return None
    records = await store.load_from(run_id, limit=MAX_RECORDS)
    asked = await Approvals(store).list_all(status=None, run_id=run_id)
    return RunFacts(run, await _job_of(store, run_id), records, asked.approvals)


def run_parts(found: RunFacts, now: datetime) -> Iterator[str]:
    """The state of a run, its approvals, and its timeline."""
    run, job = found.run, found.job
    rows = [
        ("status", status_html(run.status)),
        ("changed", f"{moment_text(run.updated)}, {ago(run.updated, now)}"),
        ("created", moment_text(run.created)),
        ("records", f"{run.records:,}"),
        ("error", text(run.detail.get("error") or (job.error if job is not None else None) or "")),
        ("restored", "the store was restored since then: unsafe actions wait for approvals" if run.restored else ""),
    ]
    if job is not None:
        rows += [
            ("kind", code(job.kind)),
            ("tenant", name(job.tenant)),
            ("thread", name(job.thread)),
            ("input", f"<code>{escape(safe_json(job.payload, limit=SHOWN_CHARS))}</code>"),
            ("attempts", f"{job.attempts:,}"),
        ]
    rows.append(("model", _usage(found.records)))
    yield facts(rows)
    if found.approvals:
        yield section("approvals", "Approvals", [_approvals(found.approvals, now)])
    yield section("timeline", "Timeline", _timeline(found.records, run.records))


def _usage(records: Sequence[StepRecord]) -> str:
    """The tokens and the costs that the journal has."""
    totals = {"input_tokens": 0, "output_tokens": 0}
    micros = 0
    for record in records:
        usage = record.body.get("usage") if record.kind == "model.output" else None
        cost = record.body.get("cost_micros") if record.kind == "model.output" else None
        micros += cost if type(cost) is int else 0
        for field in totals if isinstance(usage, Mapping) else ():
            count = usage.get(field) if isinstance(usage, Mapping) else None
            totals[field] += count if type(count) is int else 0
    if not any(totals.values()) and not micros:
        return ""
    cost_text = f", {micros / 1_000_000:.6f} dollars" if micros else ""
    return f"{totals['input_tokens']:,} input tokens, {totals['output_tokens']:,} output tokens{cost_text}"


def _approvals(approvals: Sequence[Approval], now: datetime) -> str:
    rows = (
        f'<tr><th scope="row"><a href="{approval_path(each.id)}">step {each.step}: {name(each.tool)}</a></th>'
        f"{cell(status_html(each.status))}{cell(ago(each.created, now))}{cell(text(each.reason))}"
        f"{cell('<br>'.join(text(note) for note in each.notes))}</tr>"
        for each in approvals
    )
    return table((("approval", ""), ("status", ""), ("asked", ""), ("reason", ""), ("notes", "")), rows)


def _timeline(records: Sequence[StepRecord], known: int) -> Iterator[str]:
    if not records:
        yield "<p>The run has no records.</p>"
        return
    if known > len(records):
        yield f'<p class="notice">The first {len(records):,} of {known:,} records are shown.</p>'
    try:
        line = timeline(records)
        rows = [row for entry in line.entries for row in _entry(line, entry)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        yield f'<p class="notice">The journal cannot be read: {text(f"{type(error).__name__}: {error}", limit=200)}</p>'
        return
    if line.task is not None:
        yield f"<p>Task: {text(line.task, limit=SHOWN_CHARS)}</p>"
    if line.damage is not None and known <= len(records):
        yield f'<p class="notice"><b class="bad">The journal was changed:</b> {text(line.damage)}</p>'
    if line.missing:
        yield f'<p class="notice">Records are missing: {", ".join(map(str, line.missing[:100]))}</p>'
    yield table((("time", "n"), ("event", ""), ("verdict", ""), ("outcome", ""), ("duration", "n")), rows)
    if line.final_answer is not None:
        yield f"<h3>Final answer</h3><p>{text(line.final_answer, limit=SHOWN_CHARS)}</p>"


def _entry(line: Timeline, entry: Entry) -> Iterator[str]:
    match entry:
        case AttemptEntry():
            restored = ", after a restore of the store" if entry.restored else ""
            yield _row(
                line, entry.at, f"attempt {entry.number}, policy {code((entry.bundle_id or '?')[:16])}{restored}"
            )
        case EndEntry(attempt):
            yield _row(line, attempt.ended or attempt.at, text(attempt.end or "", limit=SHOWN_CHARS))
        case TransitionEntry():
            words = f"{name(entry.node)} {text(entry.status or '')} → {name(entry.next or 'done')}"
            yield _row(line, entry.at, f"hop {text(entry.hop)}: {words}")
        case StepEntry():
            notes = "".join(
                f"<br><span class=quiet>{text(note.text, limit=SHOWN_CHARS)}</span>" for note in step_notes(entry)
            )
            shown = safe_args(entry.args, indent="", limit=SHOWN_CHARS)
            args = "".join(f"<br><code>{escape(each)}</code>" for each in shown)
            event = f"<b>step {entry.step}: {name(entry.tool)}</b>{args}{notes}"
            took = "" if entry.duration_ms is None else f"{text(entry.duration_ms)} ms"
            yield _row(line, entry.at, event, text(entry.verdict or "-"), status_html(entry.status), took)
        case _:
            assert_never(entry)


def _row(line: Timeline, at: datetime, event: str, *cells: str) -> str:
    offset = f"{(at - line.started).total_seconds():+.3f} s"
    rest = "".join(cell(each, kind) for each, kind in zip(cells or ("", "", ""), ("", "", "n"), strict=True))
    return f"<tr>{cell(offset, 'n')}{cell(event)}{rest}</tr>"
