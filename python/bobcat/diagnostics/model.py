"""Diagnostics as values: the problem in a source, its position, and the suggested correction.

The front end and the lints create them, `render` formats them as text, JSON and SARIF, errors contain them.
This module reads no file and prints nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Severity(StrEnum):
    """Severity of a diagnostic: an error stops the compilation, a warning or a note does not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of a source text. Lines and columns count from 1, columns in code points; `end` is exclusive.

    A source without text (a mapping passed as a policy) has line 0, and `path` is the position: `$.rules[0].match`.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A second position that explains the first, such as the other of two duplicates."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `code` is stable for ever (`E0101`); `help` suggests a correction.

    `suppressed` is the reason in the source comment that ignores it.
    """

    code: str
    severity: Severity
    message: str
    span: Span | None
    help: str | None = None
    related: tuple[Related, ...] = ()
    suppressed: str | None = None


Findings: TypeAlias = Iterator[Diagnostic]
"""The diagnostics of one check, in the order in which it finds them."""
