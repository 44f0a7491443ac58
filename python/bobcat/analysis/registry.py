"""The lints, in one tuple: which codes each gives, and the function that looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bobcat.analysis.lints import (
    allow_before_deny,
    default_allow,
    errors_ignored,
    missing_shadow_allowed,
    never_fires,
    shadowed_rule,
    unanchored_allow,
)
from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics import Diagnostic
from bobcat.ir.schema import Policy

Check = Callable[[Policy, SourceMap], Iterable[Diagnostic]]


@dataclass(frozen=True, slots=True)
class Lint:
    """A look at a whole policy, in normal form and in evaluation order."""

    name: str
    codes: tuple[str, ...]
    check: Check


LINTS: tuple[Lint, ...] = (
    Lint("shadowed-rule", ("W0101", "W0108"), shadowed_rule.check),
    Lint("allow-before-deny", ("W0102",), allow_before_deny.check),
    Lint("default-allow", ("W0103",), default_allow.check),
    Lint("errors-ignored", ("W0104",), errors_ignored.check),
    Lint("missing-shadow-allowed", ("W0105",), missing_shadow_allowed.check),
    Lint("unanchored-allow", ("W0106",), unanchored_allow.check),
    Lint("never-fires", ("W0112",), never_fires.check),
)


def run_lints(policy: Policy, source_map: SourceMap) -> tuple[Diagnostic, ...]:
    """Every finding of every lint."""
    return tuple(found for lint in LINTS for found in lint.check(policy, source_map))
