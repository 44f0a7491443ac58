"""Actions of capabilities: the tools of `bobcat.providers`, with the keys that each takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bobcat.frontend.suggest import synonyms

RULE_KEYS = {
    "action": "action",
    "id": "id",
    "description": "description",
    "decision": "decision",
    "priority": "priority",
    "reason": "reason",
    "approvers": "approvers",
    "approvals_needed": "approvals_needed",
    "approval_timeout_seconds": "timeout_seconds",
    "undo": "undo",
    "obligations": "obligations",
    "mode": "mode",
}
"""The keys of every capability, and those of the rule that they are passed to."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action: the arguments that a resource names, and the keys that it needs and takes.

    `content` is the argument whose bytes `max_bytes` limits; empty if the argument of that name is the limit. `text` is
    the argument with a statement. `writes`: the action changes what it names.
    """

    target: Literal["path", "url", ""] = ""
    arguments: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    content: str = ""
    text: str = ""
    writes: bool = False
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys that it needs and takes beside those of every capability."""
        return (*self.required, *self.optional)


def _files(*optional: str, content: str = "", writes: bool = False, to: bool = False) -> Action:
    arguments = ("path", "to") if to else ("path",)
    return Action("path", arguments, ("resource",), optional, content, "", writes, {"resource": '"ws:**"'})


ACTIONS: dict[str, Action] = {
    "fs.read": _files("max_bytes"),
    "fs.list": _files(),
    "fs.stat": _files(),
    "fs.write": _files("max_bytes", content="content", writes=True),
    "fs.append": _files("max_bytes", content="content", writes=True),
    "fs.delete": _files(writes=True),
    "fs.move": _files(writes=True, to=True),
    "fs.mkdir": _files(writes=True),
    "proc.run": Action(required=("program",), optional=("argv", "timeout_seconds"), examples={"program": "git"}),
    "net.http": Action(
        "url", ("url",), ("resource",), ("methods", "redirects", "max_bytes", "timeout_seconds"), content="body",
        examples={"resource": '"https://api.example.com/v1/**"'},
    ),
    "mcp.call": Action(required=("server",), optional=("tools",), examples={"server": "scholar"}),
    "sql.query": Action(
        required=("database",), optional=("statements", "max_rows"), text="query", examples={"database": "main"}
    ),
    "sql.execute": Action(
        required=("database",), optional=("statements",), text="statement", writes=True, examples={"database": "main"}
    ),
}  # fmt: skip
"""The actions by the names of their tools."""

SYNONYMS = synonyms(
    {
        "action": "tool name",
        "resource": "resources path paths file url target",
        "program": "command cmd executable programs",
        "argv": "args arguments",
        "timeout_seconds": "timeout",
        "max_bytes": "max_size size bytes limit",
        "methods": "method verbs",
        "redirects": "redirect follow_redirects",
        "server": "servers",
        "database": "databases db",
        "statements": "statement kinds kind",
        "max_rows": "rows",
        "description": "desc comment",
        "decision": "verdict effect",
        "reason": "message because",
        "approvers": "approver",
    }
)
