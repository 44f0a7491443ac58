"""Journals of runs: their calls decided again, with what the rules of a policy remembered at each step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from bobcat.bundle import Policy
from bobcat.errors import ArgumentError, AuditError
from bobcat.journal.index import index_journal
from bobcat.journal.records import StepRecord
from bobcat.model.decision import ActionRequest, ExecutionContext
from bobcat.model.defaults import CONTEXT, DECLARED
from bobcat.model.frozen import deep_freeze
from bobcat.model.run import FinalAnswer
from bobcat.runtime.evaluate import with_known_verdict
from bobcat.runtime.recorded_step import RecordedStep, explain_step, recorded_steps
from bobcat.runtime.reply import reply_from_body
from bobcat.text.json_text import json_text
from bobcat.tools.signature import bind_arguments
from bobcat.tools.toolset import ToolSet
from bobcat.traffic.decider import Answer
from bobcat.traffic.reads import Reads
from bobcat.traffic.recorded import VERDICTS, Path, Recorded, redacted_paths

_SURROUNDINGS: tuple[Path, ...] = (
    ("declared",), ("context", "principal"), ("context", "environment"), ("context", "workspace"), ("context", "extra"),
    ("context", "task"), ("context", "correlation_id"),
)  # fmt: skip
"""Paths that only the journal of a run with rules that remember has values for."""
_DEFAULTS: Path = ("args", "\0")
"""Stands for the arguments that have defaults: a call that did not run is on record as the model proposed it."""

Records = Sequence[StepRecord]


class JournalCall(NamedTuple):
    """A call of a run and its time: its record and the answers of the policies, or the code of a call without."""

    at: str
    record: Recorded | None
    answers: tuple[Answer, ...]
    code: str = ""


def journal_calls(
    records: Records, policies: Sequence[Policy], tools: ToolSet | None = None, earlier: Sequence[Records] = ()
) -> Iterator[tuple[int, JournalCall]]:
    """Yield every call of a run with its step. Raises like `index_journal` for an invalid record."""
    run = _Run(records, tools)
    answers = [run.answers(policy, earlier) for policy in policies]
    for step in run.calls:
        result = run.results.get(step)
        if result is not None and result.get("verdict") is None:
            yield step, JournalCall(run.times[step], None, (), "before_policy")
            continue
        verdict = str((result or run.intents.get(step, {})).get("verdict") or "")
        args, _ = run.args_of(step, verdict)
        if verdict and verdict not in VERDICTS:
            yield step, JournalCall(run.times[step], None, (), "unknown_verdict")
            continue
        tool, text = json_text(run.calls[step].tool).encode(), json_text(dict(args)).encode()
        record = Recorded(step, f"{run.run_id}#{step}", run.times[step], tool, text, b"", verdict, ())
        yield step, JournalCall(record.at, record, tuple(found[step] for found in answers))


class _Run:
    """The calls of a run, with what its journal has of each."""

    def __init__(self, records: Records, tools: ToolSet | None) -> None:
        self.records, self._tools = records, tools
        self.run_id = records[0].run_id
        journal = index_journal(records)
        self.calls: dict[int, Any] = {}  # Any: a proposal
        self.times: dict[int, str] = {}
        self.results: Mapping[int, Mapping[str, Any]] = journal.results
        self.intents = {int(each.body["step"]): each.body for each in records if each.kind == "action.intent"}
        outputs = {
            int(each.body["step"]): each.timestamp.isoformat() for each in records if each.kind == "model.output"
        }
        for first in sorted(journal.replies):
            reply = reply_from_body(journal.replies[first])
            for step, call in enumerate(() if isinstance(reply, FinalAnswer) else reply, first):
                self.calls[step], self.times[step] = call, outputs[first]

    def args_of(self, step: int, verdict: str) -> tuple[Mapping[str, Any], bool]:
        """The arguments that were evaluated, and true if they have the defaults of the tool."""
        call, intent = self.calls[step], self.intents.get(step)
        if intent is not None and verdict != "transform":
            args = intent.get("args", call.args)
            return args, True
        tool = None if self._tools is None else self._tools.tools.get(call.tool)
        if tool is not None:
            try:
                return bind_arguments(tool, dict(call.args)), True
            except ArgumentError:
                return call.args, False
        return call.args, False

    def answers(self, policy: Policy, earlier: Sequence[Records]) -> dict[int, Answer]:
        """The answer of a policy to each call."""
        reads, found = Reads(policy), {}
        for step, recorded, missing in self._requests(policy, earlier):
            found[step] = self._answer(policy, reads, (step, recorded, missing))
        return {step: found.get(step, "incomplete") for step in self.calls}

    def _requests(
        self, policy: Policy, earlier: Sequence[Records]
    ) -> Iterator[tuple[int, RecordedStep, tuple[Path, ...]]]:
        """Yield each call with its context and its state; without the surroundings of the run, with what lacks."""
        try:
            for step, recorded in recorded_steps(self.records, policy, None, earlier):
                yield step, recorded, ()
        except AuditError:
            if policy.remembers:
                return
            for step, call in self.calls.items():
                tool = None if self._tools is None else self._tools.tools.get(call.tool)
                missing = _SURROUNDINGS if tool is None else _SURROUNDINGS[1:]
                declared = DECLARED if tool is None else tool.metadata
                request = ActionRequest(call.tool, call.args, declared, self._context(step))
                yield step, RecordedStep(request, None, None, None, None, ""), missing

    def _context(self, step: int) -> ExecutionContext:
        return replace(CONTEXT, timestamp=datetime.fromisoformat(self.times[step]), step_seq=step)

    def _answer(self, policy: Policy, reads: Reads, call: tuple[int, RecordedStep, tuple[Path, ...]]) -> Answer:
        step, recorded, missing = call
        request, state = recorded.request, recorded.state
        verdict = str((self.results.get(step) or self.intents.get(step, {})).get("verdict") or "")
        args, complete = self.args_of(step, verdict)
        args = deep_freeze(dict(args))
        request = ActionRequest(request.tool, args, request.declared, request.context)
        if not complete:
            missing = (*missing, _DEFAULTS, *(("args", name) for name in reads.arguments() - args.keys()))
        missing = (*missing, *(("args", *path) for path in redacted_paths(args)))
        if not missing or not reads.may_touch(missing):
            # The record's own policy is not checked here: the answers are compared with the record.
            again = recorded._replace(request=request, bundle_id=None)
            decision = with_known_verdict(explain_step(policy, again).decision)
        else:
            known = reads.decide(request, missing, state)
            if known is None:
                return "missing_field"
            decision = known
        is_open = reads.is_open(decision, missing, lambda: request, state)
        return "no_declaration" if is_open else decision
