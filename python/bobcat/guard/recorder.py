"""Entries of one submission in the decision log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from bobcat.decision_log import DecisionLog, redact
from bobcat.guard.outcome import Outcome
from bobcat.model.decision import ActionRequest, Decision, obligations_of
from bobcat.model.masking import masked_body, redacted_paths, tags_of
from bobcat.runtime.state import RunState
from bobcat.text.json_text import format_exception, json_text

Body = Mapping[str, Any]  # Any: JSON

COMPLETED = "another process has completed this submission"


class Redaction(NamedTuple):
    """The paths whose values are stored as keyed digests, and the key."""

    paths: tuple[str, ...]
    key: bytes


class Recorder:
    """Writes the entries of one submission. Without a log it writes nothing.

    INVARIANT: the entry of a decision is durable before the effect that it permits.
    """

    def __init__(
        self,
        log: DecisionLog | None,
        record_id: str,
        about: Body,
        redaction: Redaction | None,
        *,
        resumes: bool = False,
        overtaken: Callable[[], bool] = lambda: False,
    ) -> None:
        self._log = log
        self._id = record_id
        self._about = about
        self._redaction = redaction
        self._resumes = resumes
        """True until the entry that the submission continues is written: before the first other entry."""
        self._overtaken = overtaken
        """Returns true if another process may have continued the submission."""
        self.run: RunState | None = None
        """The run of the call, once it is driven."""
        self._shown = 0
        """The number of divergences that the log has."""
        self._written: str | None = None
        """The decision that the log has."""

    async def decision(self, request: ActionRequest, decision: Decision) -> str | None:
        """Record a decision, once. Returns the problem of a log that cannot be written."""
        decided = _decided(decision)
        body = {**self._about, "args": request.args, **self._proposed(request.args), **decided, **self._divergences()}
        text = json_text(body)
        if self._log is None or text == self._written:
            return None
        problem = await self._append("decision", body)
        if problem is None:
            self._written, self._shown = text, len(self._diverged())
        return problem

    async def outcome(self, outcome: Outcome, *, final: bool = True) -> str | None:
        """Record the outcome, with the decision when that has no entry. Returns the problem, as above.

        One that is not final is not recorded behind the final outcome of another process.
        """
        problem = await self._append("outcome", self._outcome(outcome), final=final)
        return None if problem == COMPLETED else problem

    async def replayed(self, outcome: Outcome) -> str | None:
        """Record an outcome that the store has, unless the log has it: a process may have died in between."""
        if self._log is None:
            return None
        try:
            known = await asyncio.to_thread(self._log.record, self._id)
        except Exception as error:
            return f"the decision log cannot be read: {format_exception(error)}"
        return None if known is not None and known.status == outcome.status else await self.outcome(outcome)

    def outcome_at_once(self, outcome: Outcome) -> None:
        """Record the outcome of a submission that is being cancelled, without waiting in the event loop."""
        if self._log is not None:
            self._write("outcome", self._outcome(outcome), final=False)

    def _outcome(self, outcome: Outcome) -> dict[str, Any]:
        data = outcome.to_json()
        names = ("status", "error", "code", "value", "approvals", "duration_ms")
        body = {name: data[name] for name in names if data[name] not in (None, "", [])}
        if outcome.opened:
            body["opened"] = self._redacted_requests(data["opened"])
        if self._written is None:
            decided = {name: data[name] for name in ("verdict", "reason", "matched_rules")}
            body = {**self._about, "args": data["args"], **self._proposed(outcome.args), **decided, **body}
        return {**body, **(self._divergences() if len(self._diverged()) > self._shown else {})}

    def _proposed(self, args: Body) -> dict[str, Any]:
        """The arguments that the policy evaluated, where a transform may have replaced them by `args`.

        A log without them, of an earlier release, leaves open whether one of several rules was a transform.
        """
        if self.run is None or self.run.decided is None:
            return {}
        evaluated, (_, decision) = self.run.evaluated_args, self.run.decided
        may_differ = len(decision.matched_rules) > 1 or evaluated != args
        return {"proposed_args": evaluated} if may_differ else {}

    def _diverged(self) -> Sequence[Body]:
        """The divergences of a candidate policy so far."""
        return () if self.run is None else self.run.diverged

    def _divergences(self) -> dict[str, Any]:
        return {"diverged": [dict(each) for each in self._diverged()]} if self._diverged() else {}

    def _redacted_requests(self, opened: dict[str, Any]) -> dict[str, Any]:
        """The facts, with redacted arguments of the further requests that the action made."""
        judged = opened.get("judged")
        if self._redaction is None or not isinstance(judged, list):
            return opened
        paths, key = self._redaction
        return {**opened, "judged": [redact(each, paths, key) for each in judged if isinstance(each, dict)]}

    async def _append(self, kind: str, body: Body, *, final: bool = False) -> str | None:
        # A thread: a log that waits for its disk or its server must not stop the event loop.
        return None if self._log is None else await asyncio.to_thread(self._write, kind, body, final=final)

    def _write(self, kind: str, body: Body, *, final: bool) -> str | None:
        if self._log is None:
            return None
        try:
            if self._redaction is not None:
                body = redact(body, self._redaction.paths, self._redaction.key)
            body = self._obliged(body)
            if self._resumes:
                if not self._written_open(self._log, "resume", {"attempt": uuid4().hex}):
                    return COMPLETED
                self._resumes = False
            if final:
                self._log.append(self._id, kind, body)
            elif not self._written_open(self._log, kind, body):
                return COMPLETED
        except Exception as error:
            return f"the decision log cannot be written: {format_exception(error)}"
        return None

    def _obliged(self, body: Body) -> Body:
        """The body as the obligations of the decision want it shown: redacted, and with their tags."""
        known = None if self.run is None else self.run.decided
        obligations = () if known is None else obligations_of(known[1])
        if not obligations:
            return body
        shown, tags = masked_body(body, redacted_paths(obligations)), tags_of(obligations)
        return {**shown, "tags": tags} if tags and "args" in shown else shown

    def _written_open(self, log: DecisionLog, kind: str, body: Body) -> bool:
        return log.append_open(self._id, kind, body, when=self._overtaken) is not None


def _decided(decision: Decision) -> dict[str, Any]:
    rules: Sequence[str] = decision.matched_rules
    return {"verdict": str(decision.verdict), "reason": decision.reason or "", "matched_rules": list(rules)}
