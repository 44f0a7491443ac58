"""Result of a front end: the policy, its source map, and all findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.observation import Finding, errors
from bobcat.ir.schema import IrPolicy


@dataclass(frozen=True, slots=True)
class LoweringResult:
    """Result of one front end. `policy` and `source_map` are None exactly when a finding is an error.

    `data` returns the policy as plain Python data, for lynx-agent's 16-hex id; it is built on call, or raises
    ValueError if that id is not defined. `source` is the text that the findings refer to, None for a mapping.
    """

    policy: IrPolicy | None
    source_map: SourceMap | None
    findings: tuple[Finding, ...]
    # Any: plain YAML data.
    data: Callable[[], Any] | None = None
    source: str | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that stop the compilation."""
        return tuple(errors(self.findings))
