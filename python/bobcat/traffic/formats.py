"""Lines of logs: entries of a decision log, audit events and decision logs of OPA, parsed into recorded decisions.

A parser takes one line and its number, and returns a record, the reason for which it cannot be decided again, or None
for a line that holds no decision. It raises `ValueError` for a damaged line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from bobcat.decision_log.entry import KINDS, RECORD_KINDS
from bobcat.journal.legacy_names import UNCERTAIN_EFFECT
from bobcat.runtime.decide_again import DECISIONS
from bobcat.traffic.recorded import VERDICTS, Path, Recorded, Undecided, may_be_redacted

FormatName: TypeAlias = Literal["decision_log", "audit", "opa"]
Parsed: TypeAlias = Recorded | Undecided | None
Parser: TypeAlias = Callable[[bytes, int], Parsed]

_ENTRY_KEYS = frozenset(("record_id", "kind", "at", "body", "seq"))
_EVENT_KEYS = frozenset(("correlation_id", "bundle_id", "kind", "timestamp", "body"))

_NEVER: tuple[Path, ...] = (
    ("declared",), ("context", "principal", "name"), ("context", "correlation_id"), ("context", "step_seq"),
    ("context", "task"),
)  # fmt: skip
"""Paths that no entry of a decision log has a value for."""


class Body(msgspec.Struct):
    """The fields of a body of the decision log that a decision needs."""

    tool: Raw | UnsetType = UNSET
    args: Raw | UnsetType = UNSET
    proposed_args: Raw | UnsetType = UNSET
    verdict: str | UnsetType | None = UNSET
    matched_rules: tuple[str, ...] = ()
    principal: Raw | UnsetType = UNSET
    environment: Raw | UnsetType = UNSET
    workspace: Raw | UnsetType = UNSET
    extra: Raw | UnsetType = UNSET


class Entry(msgspec.Struct):
    """One line of a decision log."""

    seq: int
    record_id: str
    kind: str
    at: str
    body: Body


class Event(msgspec.Struct):
    """One line of a sink."""

    correlation_id: str
    seq: int
    kind: str
    timestamp: str
    body: Raw


class EventBody(msgspec.Struct, rename={"uncertain": UNCERTAIN_EFFECT}):
    """The fields of a decision event."""

    tool: Raw | UnsetType = UNSET
    verdict: str | None = None
    matched_rules: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    approvals_needed: int = 1
    args: Raw | UnsetType = UNSET
    judged_args: Raw | UnsetType = UNSET
    completed_args: Raw | UnsetType = UNSET
    args_sha256: str | UnsetType = UNSET
    judged_args_sha256: str | UnsetType = UNSET
    declared: Raw | UnsetType = UNSET
    context: Raw | UnsetType = UNSET
    code: str | None = None
    inexact: bool = False
    uncertain: str | UnsetType = UNSET


_entry = msgspec.json.Decoder(Entry).decode
_event = msgspec.json.Decoder(Event).decode
_event_body = msgspec.json.Decoder(EventBody).decode


def detect(line: bytes) -> FormatName | None:
    """The format of a log, by one of its lines; None for a line that does not show it."""
    try:
        keys = msgspec.json.decode(line, type=dict[str, Raw]).keys()
    except (msgspec.MsgspecError, ValueError):
        return None
    if keys >= _ENTRY_KEYS:
        return "decision_log"
    if keys >= _EVENT_KEYS:
        return "audit"
    return "opa" if "input" in keys else None


def parse_entry(line: bytes, number: int) -> Parsed:
    """Parse an entry of a decision log."""
    entry = _entry(line)
    if entry.kind not in RECORD_KINDS:
        if entry.kind not in KINDS:
            raise ValueError(f"`{entry.kind}` is not a kind of entry of this release")
        return None
    body = entry.body
    if not body.verdict:  # an outcome after its decision, or a call that no policy was asked about
        return None if body.tool is UNSET else Undecided("before_policy", entry.at)
    if body.tool is UNSET:
        raise ValueError("the decision names no tool")
    if body.verdict not in VERDICTS:
        return Undecided("unknown_verdict", entry.at)
    proposed = body.args if body.proposed_args is UNSET else body.proposed_args
    if proposed is UNSET:
        return Undecided("no_args", entry.at)
    of_guard = body.workspace is UNSET
    if body.proposed_args is UNSET and of_guard and _may_be_transformed(body):
        return Undecided("transformed", entry.at)
    args = bytes(proposed)
    fields, missing = _context(entry.at, body)
    effective = None if body.proposed_args is UNSET or body.args is UNSET else bytes(body.args)
    return Recorded(
        number, entry.record_id, entry.at, bytes(body.tool), args, fields, body.verdict, body.matched_rules, missing,
        may_be_redacted(args), effective,
    )  # fmt: skip


def _may_be_transformed(body: Body) -> bool:
    """Return true if a rule may have replaced the arguments that the policy evaluated."""
    rules = body.matched_rules
    return body.verdict == "transform" or (len(rules) > 1 and sum(not name.startswith("<") for name in rules) > 1)


def _context(at: str, body: Body) -> tuple[bytes, tuple[Path, ...]]:
    """The context of a decision, and the paths that the entry has no value for."""
    given = b',"context":{"timestamp":"%b"' % at.encode()
    missing = _NEVER
    # PERF: no loop, because every record of a log comes through here.
    if body.principal is UNSET:
        missing = (*missing, ("context", "principal"))
    else:
        given = b'%b,"principal":%b' % (given, bytes(body.principal))
    if body.environment is UNSET:
        missing = (*missing, ("context", "environment"))
    else:
        given = b'%b,"environment":%b' % (given, bytes(body.environment))
    if body.workspace is UNSET:
        missing = (*missing, ("context", "workspace"))
    else:
        given = b'%b,"workspace":%b' % (given, bytes(body.workspace))
    if body.extra is UNSET:
        missing = (*missing, ("context", "extra"))
    else:
        given = b'%b,"extra":%b' % (given, bytes(body.extra))
    return given + b"}", missing


def parse_event(line: bytes, number: int) -> Parsed:
    """Parse an audit event."""
    event = _event(line)
    if event.kind not in DECISIONS:
        return None
    body = _event_body(event.body)
    if body.code is not None:
        return Undecided("before_policy", event.timestamp)
    if body.verdict not in VERDICTS:
        return Undecided("unknown_verdict", event.timestamp)
    if body.args_sha256 is not UNSET or body.judged_args_sha256 is not UNSET:
        return Undecided("digested", event.timestamp)
    if body.inexact:
        return Undecided("inexact", event.timestamp)
    evaluated = body.args if body.judged_args is UNSET else body.judged_args
    if evaluated is UNSET:
        return Undecided("no_args", event.timestamp)
    if body.tool is UNSET or body.declared is UNSET or body.context is UNSET:
        return Undecided("missing_field", event.timestamp)
    args = bytes(evaluated)
    changed = None if body.judged_args is UNSET or body.args is UNSET else bytes(body.args)
    special = body.completed_args is not UNSET or body.uncertain is not UNSET
    fields = b',"declared":%b,"context":%b' % (bytes(body.declared), bytes(body.context))
    return Recorded(
        number, f"{event.correlation_id}#{event.seq}", event.timestamp, bytes(body.tool), args, fields, body.verdict,
        body.matched_rules, (), may_be_redacted(args), changed, (body.approvers, body.approvals_needed),
        line if special else None,
    )  # fmt: skip
