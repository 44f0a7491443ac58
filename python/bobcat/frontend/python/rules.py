"""Python rules of a policy, compiled or kept. PERF: a policy without any needs no compiler of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bobcat.bundle.host_code import HostFunction
from bobcat.bundle.source_map import RuleSource
from bobcat.frontend.observation import Finding
from bobcat.ir.schema import AnyRule, Definition

Priorities = Mapping[str, int] | Iterable[tuple[str, int]] | Sequence[int]
"""Priorities of Python rules: by name, or one for each rule in order. The default is that of `@rule`, or 0."""

Uncompiled = Literal["error", "callable"]
"""Handling of a Python rule that cannot be compiled: an error, or a callable that the bundle needs."""


@dataclass(frozen=True, slots=True)
class PythonRules:
    """Python rules in evaluation order. `places` and `files` are parallel to `rules`; a callable has no file.

    `callables` have the order of the host rules in `rules`. `sources` are texts by file, and
    `memory` has the definitions that the rules read.
    """

    rules: tuple[AnyRule, ...] = ()
    places: tuple[RuleSource, ...] = ()
    callables: tuple[HostFunction, ...] = ()
    memory: Mapping[str, Definition] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
