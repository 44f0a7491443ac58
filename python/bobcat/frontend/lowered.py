"""What a front end hands to the compiler: the policy, its source map, and everything it found on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics import Diagnostic, Severity
from bobcat.ir.schema import Policy


@dataclass(frozen=True, slots=True)
class Lowered:
    """The outcome of one front end. `policy` and `source_map` are None exactly when a diagnostic is an error.

    `data` gives the policy as plain Python data, for the incumbent's 16-hex id; it is built when called, or raises
    ValueError where that id is not defined. `source` is the text the diagnostics point into, None for a mapping.
    """

    policy: Policy | None
    source_map: SourceMap | None
    diagnostics: tuple[Diagnostic, ...]
    # Any: plain YAML data.
    data: Callable[[], Any] | None = None
    source: str | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that stop the compilation."""
        return tuple(item for item in self.diagnostics if item.severity is Severity.ERROR)
