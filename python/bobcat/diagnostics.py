"""Diagnostics as values: what is wrong in a source, where, and what would put it right.

The front end and the lints make them, `render` turns them into text, JSON and SARIF, errors carry them.
This module knows no file and prints nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a diagnostic weighs: an error stops the compilation, a warning and a note do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a source text. Lines and columns count from 1, columns in code points; `end` is exclusive.

    A source without text (a mapping passed as a policy) has line 0, and `path` says where: `$.rules[0].match`.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains the first: where the other of two duplicates is."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `code` is stable for ever (`E0101`); `help` says what to write instead.

    `suppressed` is the reason that a comment of the source gives for ignoring it.
    """

    code: str
    severity: Severity
    message: str
    span: Span | None
    help: str | None = None
    related: tuple[Related, ...] = ()
    suppressed: str | None = None
