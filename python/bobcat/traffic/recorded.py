"""One recorded decision, and the reasons for which a record cannot be decided again."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from bobcat.decision_log.redaction import MARK

Path: TypeAlias = tuple[str, ...]
"""A path in a request: a head, then steps."""

DECLARED: Path = ("declared",)
"""The declaration of a tool as a whole."""

REASONS = {
    "no_args": "the record has no arguments",
    "digested": "the record has a digest of the arguments only",
    "redacted": "a rule reads an argument that is redacted",
    "inexact": "the record shows values that JSON cannot hold",
    "transformed": "the record has the arguments after a transform only",
    "missing_field": "a rule reads a field that the record lacks",
    "no_declaration": "no rule decides, and the default depends on the declaration of the tool: give `--tools`",
    "needs_state": "the policy has rules that remember, and the record has no state",
    "no_verdict": "the record has no verdict: compare with `--against`",
    "unknown_verdict": "the verdict is not one of this release",
    "before_policy": "the call was refused before a policy was asked",
    "not_a_request": "the recorded call is not a valid request",
    "not_mapped": "the record has no text at the path of the tool",
    "incomplete": "the journal lacks the principal, the environment and the declarations of its run",
}
"""Codes of the reasons, with their texts."""

VERDICTS = frozenset(("allow", "deny", "dry_run", "approve_required", "transform"))


class Undecided(NamedTuple):
    """A record that cannot be decided again: the code of the reason, and its time, or an empty text."""

    code: str
    at: str


class Recorded(NamedTuple):
    """A recorded decision. Byte fields are JSON text.

    `args` are the arguments that were evaluated, `effective` those after a transform where the record has both;
    `fields` continues the object of a request: `,"declared":...,"context":...`. `missing` are the paths that the record
    has no value for, `redacted` those of keyed digests. `line` is an audit event that the runtime decides again.
    """

    place: int | str
    id: str
    at: str
    tool: bytes
    args: bytes
    fields: bytes
    verdict: str
    rules: tuple[str, ...]
    missing: tuple[Path, ...] = ()
    redacted: bool = False
    effective: bytes | None = None
    approvals: tuple[tuple[str, ...], int] | None = None
    line: bytes | None = None

    def with_declared(self, declared: bytes) -> Recorded:
        """The record with a declaration that it lacks."""
        missing = tuple(path for path in self.missing if path != DECLARED)
        return self._replace(fields=b',"declared":%b%b' % (declared, self.fields), missing=missing)

    def request(self) -> bytes:
        """The request as one line of JSON."""
        return b'{"tool":%b,"args":%b%b}' % (self.tool, self.args, self.fields)


_DIGEST = re.compile(re.escape(MARK) + "[0-9a-f]{64}")
_MARK_IN_JSON = f'"{MARK}'.encode()


def may_be_redacted(args: bytes) -> bool:
    """Return true if a JSON text may hold a keyed digest of the decision log."""
    return _MARK_IN_JSON in args


def redacted_paths(value: object, path: Path = ()) -> list[Path]:
    """The paths of keyed digests in decoded JSON."""
    if isinstance(value, str):
        return [path] if _DIGEST.fullmatch(value) else []
    if isinstance(value, dict):
        return [found for name, item in value.items() for found in redacted_paths(item, (*path, name))]
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in redacted_paths(item, (*path, str(index)))]
    return []


def moment(text: str) -> datetime | None:
    """A recorded time; None for a text that is not one. Without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
