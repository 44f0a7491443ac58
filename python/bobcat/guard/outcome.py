"""The outcome of a submission: its status, its value or error, and the decision."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from bobcat.errors import ActionBlocked, ActionFailed
from bobcat.model.frozen import FrozenDict
from bobcat.text.json_text import is_exact, json_text, safe_str

Status: TypeAlias = Literal["ok", "denied", "previewed", "waiting", "unknown", "invalid", "failed", "uncertain"]
"""Status of a submission.

* `ok`: the tool ran, also with transformed arguments.
* `denied`: the verdict is deny, or an approval was refused.
* `previewed`: a dry run; the tool did not run.
* `waiting`: an approval is open.
* `unknown`: no such tool. `invalid`: the arguments do not fit the tool.
* `failed`: the tool raised, or the submission could not be made; see `code`.
* `uncertain`: a timeout, a cancellation or a crash between the intent and the outcome.
"""
STATUSES: tuple[Status, ...] = get_args(Status)

_BLOCKED = ("denied", "previewed", "waiting", "unknown", "invalid")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of `Guard.submit`, `resume` or `check`.

    `args` are the effective arguments, `value` is the tool's return value, or the preview. `error` is the reason of
    every status but `ok`, for people; `code` is the cause for programs, where there is one. `approvals` are the ids of
    open approvals. `replayed`: an earlier submission with the same key, or before a restart, had this outcome; its
    value is the JSON form of the tool's. `log_error`: the outcome could not be written to the log, which shows the
    record as uncertain. `opened` are the facts that a tool recorded about what it really opened: an inode, an address.
    """

    status: Status
    record_id: str
    tool: str
    args: Mapping[str, Any] = field(default_factory=FrozenDict)
    value: Any = None
    error: str | None = None
    code: str = ""
    verdict: str = ""
    reason: str = ""
    matched_rules: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    duration_ms: int = 0
    replayed: bool = field(default=False, compare=False)
    log_error: str | None = field(default=None, compare=False)
    opened: Mapping[str, Any] = field(default_factory=FrozenDict, compare=False)

    @property
    def ok(self) -> bool:
        """True when the tool ran and returned."""
        return self.status == "ok"

    def raise_for_status(self) -> Outcome:
        """Return this outcome when it is `ok`.

        Raises `ActionBlocked` (a `PermissionError`) when the tool did not run, and `ActionFailed` when it failed or its
        outcome is uncertain.
        """
        if self.status == "ok":
            return self
        text = f"`{self.tool}` is {self.status}: {self.error or self.reason or 'no reason given'}"
        raise ActionBlocked(text, self.tool) if self.status in _BLOCKED else ActionFailed(text)

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values. A value without a JSON form is its `str`."""
        opened = {"opened": json.loads(json_text(self.opened))} if self.opened else {}
        return {
            "status": self.status,
            "record_id": self.record_id,
            "tool": self.tool,
            "args": json.loads(json_text(self.args)),
            "value": json.loads(json_text(self.value)) if is_exact(self.value) else safe_str(self.value),
            "error": self.error,
            "code": self.code,
            "verdict": self.verdict,
            "reason": self.reason,
            "matched_rules": list(self.matched_rules),
            "approvals": list(self.approvals),
            "duration_ms": self.duration_ms,
            **opened,
        }


def outcome_from_json(data: Mapping[str, Any]) -> Outcome:
    """Read an outcome as `to_json` writes it, as a replayed one. Raises `KeyError`, `TypeError` or `ValueError`."""
    if data["status"] not in STATUSES:
        raise ValueError(f"unknown status {data['status']!r}")
    return Outcome(
        data["status"],
        data["record_id"],
        data["tool"],
        FrozenDict(data["args"]),
        data["value"],
        data["error"],
        data["code"],
        data["verdict"],
        data["reason"],
        tuple(data["matched_rules"]),
        tuple(data["approvals"]),
        data["duration_ms"],
        replayed=True,
        opened=FrozenDict(data.get("opened", {})),
    )
