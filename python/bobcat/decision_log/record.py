"""Records: the entries of one submission folded into one view, with the latest status.

This module reads no file: `DecisionLog.records` feeds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bobcat.decision_log.entry import LogEntry, time_text

UNCERTAIN = "uncertain"
"""The status of a record whose last entry is no outcome: the effect may have happened."""
OPEN = frozenset(("waiting", UNCERTAIN))
"""The statuses that a later entry is expected to change."""
_PROVISIONAL = frozenset(("denied", "failed"))
"""The statuses that are final without a `code`; with one, the submission itself was refused or failed."""
PERMITTED = "permitted"
"""The status of a call of a coding agent that a hook permitted: its host runs it, and the outcome is not known here."""
ASKED = "asked"
"""The status of a call about which the host of a hook asks a person: the answer is not known here."""
STATUSES = ("ok", "denied", "previewed", "waiting", "unknown", "invalid", "failed", UNCERTAIN, PERMITTED, ASKED)


@dataclass(slots=True)
class LogRecord:
    """One submission. `body` holds the fields of its decision and of its last outcome. Any: JSON."""

    record_id: str
    status: str
    at: datetime
    """Time of the first entry."""
    updated: datetime
    """Time of the last entry."""
    first_seq: int
    last_seq: int
    resumes: int = 0
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def tool(self) -> str | None:
        """The tool's name, where an entry has it."""
        tool = self.body.get("tool")
        return tool if isinstance(tool, str) else None

    @property
    def principal(self) -> Mapping[str, Any]:
        """The principal's `kind` and `id`; empty where no entry has it."""
        principal = self.body.get("principal")
        return principal if isinstance(principal, dict) else {}

    @property
    def is_final(self) -> bool:
        """True if the call has the outcome that it keeps: neither open, nor refused or failed before it was made."""
        if self.status in _PROVISIONAL:
            return not self.body.get("code")
        return self.status not in OPEN

    def add(self, entry: LogEntry) -> None:
        """Fold a later entry into the record."""
        if entry.kind == "resume":
            self.resumes += 1
            self.status = UNCERTAIN
        else:
            status = entry.body.get("status") if entry.kind == "outcome" else UNCERTAIN
            self.status = status if isinstance(status, str) else UNCERTAIN
            if entry.kind == "outcome":
                for name in ("error", "code", "value", "approver", "duration_ms"):
                    self.body.pop(name, None)  # of an earlier outcome
            self.body.update(entry.body)
        self.updated, self.last_seq = entry.at, entry.seq

    def matches(
        self, statuses: Collection[str] | None, tools: Collection[str] | None, principal: str | None,
        since: datetime | None, *, diverged: bool = False,
    ) -> bool:  # fmt: skip
        """Return true if the record meets every given condition. `principal` is an id, or `kind:id`."""
        return (
            (statuses is None or self.status in statuses)
            and (tools is None or self.tool in tools)
            and (since is None or self.updated >= since)
            and (not diverged or bool(self.body.get("diverged")))
            and (principal is None or principal in self._principal_names())
        )

    def to_json(self) -> dict[str, Any]:
        """The record as plain data: the fields of `body` at the top level."""
        body = {name: value for name, value in self.body.items() if name != "status"}
        return {
            "record_id": self.record_id,
            "status": self.status,
            "at": time_text(self.at),
            "updated": time_text(self.updated),
            "resumes": self.resumes,
            **{name: value for name, value in body.items() if name not in _OWN},
        }

    def _principal_names(self) -> tuple[str, ...]:
        kind, id = self.principal.get("kind"), self.principal.get("id")
        return (str(id), f"{kind}:{id}") if id is not None else ()


_OWN = frozenset(("record_id", "status", "at", "updated", "resumes"))


def fold(entries: Iterable[LogEntry]) -> dict[str, LogRecord]:
    """Fold entries, in order of position, into records, in order of their first entry."""
    records: dict[str, LogRecord] = {}
    for entry in entries:
        record = records.get(entry.record_id)
        if record is None:
            record = LogRecord(entry.record_id, UNCERTAIN, entry.at, entry.at, entry.seq, entry.seq)
            records[entry.record_id] = record
        record.add(entry)
    return records
