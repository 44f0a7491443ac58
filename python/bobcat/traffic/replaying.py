"""Chunks of logs decided again, in this process or in several, and summed up in one tally."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec

from bobcat.bundle import Policy, load_bundle
from bobcat.journal.records import StepRecord
from bobcat.model.decision import Decision
from bobcat.model.decision_change import Then, compare, then_of_decision
from bobcat.model.request_json import declared_data
from bobcat.stores.urls import open_store
from bobcat.text.json_text import format_exception, json_text
from bobcat.tools.toolset import ToolSet
from bobcat.traffic.changes import (
    Example,
    Tally,
    key_of,
    then_of_record,
)
from bobcat.traffic.decider import Answer, Decider
from bobcat.traffic.formats import Parser, parse_entry, parse_event
from bobcat.traffic.journals import journal_calls
from bobcat.traffic.opa import opa_parser
from bobcat.traffic.recorded import DECLARED, Recorded, moment
from bobcat.traffic.sources import MAX_LINE_BYTES, Chunk, CutShort, Log, carried_chunk, is_marker

BATCH = 2_000
"""Records in one call of the core."""
RUNS = 100
"""Runs in one page of a store."""
KILLED = "a process of the replay was killed, perhaps because memory ran out: there is no result"
IN_PROCESS_BYTES = 8 * 1024 * 1024
"""A smaller log is not worth the start of processes."""


def _no_runs(_run_id: str) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Options:
    """What is replayed, and how much of it is shown."""

    examples: int = 3
    since: datetime | None = None
    until: datetime | None = None
    usage: bool = False
    """Sum up the use of the policy instead of changes."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Paths of the fields of a decision log like those of OPA."""
    tools: ToolSet | None = None
    """Declarations and argument defaults for records that lack them."""
    earlier_runs: Callable[[str], Sequence[str]] = _no_runs
    """The ids of the runs that a run continues, such as the turns of a thread before a turn."""


Progress = Callable[[Log, int], None]
"""Called with a log and the bytes of a chunk that is done."""


class Replay:
    """Decides the records of chunks by a policy, and compares with the record or with the decision of another."""

    def __init__(self, policy: Policy, against: Policy | None, options: Options) -> None:
        self._policy, self._against, self._options = policy, against, options
        self._new = Decider(policy)
        self._old = None if against is None else Decider(against)
        self._declared = _declarations(options.tools)
        self._parsers: dict[str, Parser] = {
            "decision_log": parse_entry, "audit": parse_event, "opa": opa_parser(options.paths),
        }  # fmt: skip

    def run(self, logs: list[Log], *, processes: int | None = None, progress: Progress | None = None) -> Tally:
        """Replay logs. Raises `OSError` and `DecisionLogError` where one cannot be read, `ChildProcessError` where a
        process of the replay was killed.
        """
        total = Tally()
        for log in logs:
            if log.kind == "store":
                asyncio.run(self._store(total, log))
        logs = [log for log in logs if log.kind != "store"]
        count = self._processes(logs) if processes is None else processes
        if count <= 1:
            for log in logs:
                self._log(total, log, map(self._paired, _until_cut(total, log)), progress)
            return total
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        old = None if self._against is None else self._against.to_bytes(sources=False)
        given = self._policy.to_bytes(sources=False), old, self._for_processes()
        try:
            with ProcessPoolExecutor(count, context, _start, given) as pool:
                for log in logs:
                    self._log(total, log, _spread(pool, _until_cut(total, log), count), progress)
        except BrokenProcessPool as error:
            raise ChildProcessError(KILLED) from error
        return total

    def _for_processes(self) -> tuple[Mapping[bytes, bytes], Options]:
        """The options without the functions of the user, which no process can be sent, and the declarations."""
        return self._declared, replace(self._options, tools=None, earlier_runs=_no_runs)

    def _processes(self, logs: list[Log]) -> int:
        """The number of processes: one where Python callables decide, which no process can be sent."""
        policies = (self._policy, self._against)
        if any(policy is not None and policy.manifest.host_rules for policy in policies):
            return 1
        small = all(log.kind != "entries" for log in logs) and sum(log.size for log in logs) < IN_PROCESS_BYTES
        return 1 if small else os.cpu_count() or 1

    def _paired(self, chunk: Chunk) -> tuple[Chunk, Tally]:
        return chunk, self.chunk(chunk)

    def _log(self, total: Tally, log: Log, tallies: Iterator[tuple[Chunk, Tally]], progress: Progress | None) -> None:
        """Add the tallies of one log, whose places are numbers until here."""
        before, marker = 0, None
        for chunk, tally in tallies:
            first = before + 1 if chunk.first is None else chunk.first
            before = first - 1 + tally.lines
            marker = tally.marker or marker
            _name_places(tally, log, first - 1)
            total.add(tally, self._options.examples)
            if progress is not None:
                progress(log, chunk.end - chunk.start or len(chunk.data))
        if marker is not None and log.kind != "entries":
            tally = self.chunk(carried_chunk(marker))
            tally.lines = 0
            _name_places(tally, log, 0, suffix=" (kept by a pruning)")
            total.add(tally, self._options.examples)

    async def _store(self, total: Tally, log: Log) -> None:
        """Decide the calls of every run of a store."""
        async with aclosing(open_store(log.target, must_exist=True)) as store:
            last = None
            while page := await store.runs(limit=RUNS, after=last):
                for summary in page:
                    earlier = [await store.load(each) for each in self._options.earlier_runs(summary.run_id)]
                    await asyncio.to_thread(self._run, total, await store.load(summary.run_id), earlier)
                last = page[-1]

    def _run(self, total: Tally, records: Sequence[StepRecord], earlier: Sequence[Sequence[StepRecord]]) -> None:
        if not records:
            return
        policies = [self._policy] if self._against is None else [self._policy, self._against]
        run_id = records[0].run_id
        try:
            calls = list(journal_calls(records, policies, self._options.tools, earlier))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            total.count_damage(run_id, f"the journal cannot be read: {format_exception(error)}")
            return
        for step, call in calls:
            if not self._within(call.at):
                continue
            if call.record is None:
                total.count_undecided(call.code, f"{run_id}#{step}")
            else:
                record = call.record._replace(place=f"{run_id}#{step}")
                self._answered(total, record, *call.answers, *([None] * (2 - len(call.answers))))

    def chunk(self, chunk: Chunk) -> Tally:
        """Decide the records of one chunk; places in the tally are numbers of its lines, from 1."""
        tally, parse, declared = Tally(), self._parsers[chunk.format], self._declared
        batch: list[Recorded] = []
        number = 0
        for number, line in enumerate(chunk.lines(), 1):
            try:
                if len(line) > MAX_LINE_BYTES:
                    raise ValueError(f"longer than {MAX_LINE_BYTES} bytes")
                parsed = parse(line, number)
            except (ValueError, msgspec.MsgspecError, RecursionError, OverflowError) as error:
                if line.strip():
                    tally.count_damage(str(number), str(error))
                continue
            if isinstance(parsed, Recorded):
                if declared and DECLARED in parsed.missing and parsed.tool in declared:
                    parsed = parsed.with_declared(declared[parsed.tool])
                if self._within(parsed.at):
                    batch.append(parsed)
                if len(batch) >= BATCH:
                    self._batch(tally, batch)
                    batch = []
            elif parsed is not None:
                if self._within(parsed.at):
                    tally.count_undecided(parsed.code, str(number))
            elif chunk.format == "decision_log" and is_marker(line):
                tally.marker = line
        self._batch(tally, batch)
        tally.lines = number
        return tally

    def _within(self, at: str) -> bool:
        since, until = self._options.since, self._options.until
        if since is None and until is None:
            return True
        when = moment(at)
        return when is not None and (since is None or when >= since) and (until is None or when < until)

    def _batch(self, tally: Tally, records: list[Recorded]) -> None:
        answers = self._new.decide(records)
        olds: list[Answer] | list[None] = [None] * len(records) if self._old is None else self._old.decide(records)
        for record, now, old in zip(records, answers, olds, strict=True):
            self._answered(tally, record, now, old)

    def _answered(self, tally: Tally, record: Recorded, now: Answer, old: Answer | None) -> None:
        if isinstance(now, str):
            tally.count_undecided(now, str(record.place))
        elif isinstance(old, str):
            tally.count_undecided(old, str(record.place))
        elif self._options.usage:
            tally.decided += 1
            tally.usage.count(record, now)
        elif old is None and not record.verdict:
            tally.count_undecided("no_verdict", str(record.place))
        else:
            self._compare(tally, record, now, old)

    def _compare(self, tally: Tally, record: Recorded, now: Decision, old: Decision | None) -> None:
        tally.decided += 1
        if old is not None and record.verdict and record.verdict != old.verdict.value:
            tally.unlike_old += 1
        # PERF: most records are decided as before: nothing but the verdicts is compared then.
        if old is None and now.transform_args is None and record.approvals is None:
            verdict = now.verdict.value
            if record.verdict == verdict and record.rules == now.matched_rules:
                tally.verdicts[verdict, verdict] += 1
                tally.alike += 1
                return
        then: Then = then_of_record(record) if old is None else then_of_decision(old)
        tally.verdicts[then.verdict, now.verdict.value] += 1
        direction = compare(then, now)
        if direction is None or direction == "other_rules":
            tally.alike += 1
        if direction is None:
            return
        group = tally.group(key_of(direction, record, then, now))
        at = moment(record.at) if record.at else None
        group.add(1, at, at)
        if len(group.examples) < self._options.examples:
            group.examples.append(Example(str(record.place), record.id, record.at, record.args))


def _declarations(tools: ToolSet | None) -> Mapping[bytes, bytes]:
    """The declarations of a tool set by the names of the tools, both as JSON text."""
    found = {} if tools is None else tools.tools
    return {json_text(name).encode(): json_text(declared_data(tool.metadata)).encode() for name, tool in found.items()}


def _until_cut(total: Tally, log: Log) -> Iterator[Chunk]:
    """Yield the chunks of a log; the damage of a compressed one is counted where it begins."""
    next_line = 1
    try:
        for chunk in log.chunks():
            next_line = (chunk.first or next_line) + chunk.data.count(b"\n")
            yield chunk
    except CutShort as error:
        total.count_damage(log.place(next_line), str(error))


def _name_places(tally: Tally, log: Log, before: int, suffix: str = "") -> None:
    """Replace the numbers of lines by places."""

    def named(number: str) -> str:
        return log.place(before + int(number)) + suffix

    tally.first_undecided = {code: named(place) for code, place in tally.first_undecided.items()}
    tally.damage = [(named(place), problem) for place, problem in tally.damage]
    for group in tally.groups.values():
        for example in group.examples:
            example.place = named(example.place)


_replay: list[Replay] = []  # of a worker process, which serves one replay only


def _start(policy: bytes, against: bytes | None, given: tuple[Mapping[bytes, bytes], Options]) -> None:
    """Begin a worker process."""
    old = None if against is None else load_bundle(against, profile=None)
    replay = Replay(load_bundle(policy, profile=None), old, given[1])
    replay._declared = given[0]
    _replay[:] = [replay]


def _work(chunk: Chunk) -> Tally:
    return _replay[0].chunk(chunk)


def _spread(pool: ProcessPoolExecutor, chunks: Iterator[Chunk], count: int) -> Iterator[tuple[Chunk, Tally]]:
    """Yield the chunks with their tallies, in order; a few are in work at a time."""
    waiting: deque[tuple[Chunk, Future[Tally]]] = deque()
    for chunk in chunks:
        waiting.append((chunk, pool.submit(_work, chunk)))
        if len(waiting) > 2 * count:
            done, future = waiting.popleft()
            yield done, future.result()
    while waiting:
        done, future = waiting.popleft()
        yield done, future.result()
