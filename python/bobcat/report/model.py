"""The facts of a report on a policy, and their JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bobcat.bounds.decisions import Cell, is_monitored
from bobcat.bundle import Policy
from bobcat.bundle.explanation import KINDS, RuleKind
from bobcat.diagnostics.model import Diagnostic, Span
from bobcat.diagnostics.render import render_json
from bobcat.ir.pretty import definition_text, rule_text
from bobcat.ir.schema import IrRule
from bobcat.ir.spelling import run_path
from bobcat.report.access import AccessTable
from bobcat.testing.suites.coverage import PolicyCoverage, RuleCoverage
from bobcat.testing.suites.coverage_reports import coverage_json
from bobcat.traffic.changes import Tally
from bobcat.traffic.recorded import REASONS
from bobcat.traffic.usage import unused


@dataclass(frozen=True, slots=True)
class RuleFact:
    """One rule in evaluation order. `verdict` is None for Python rules; `lines` are the normal form of its match."""

    index: int
    id: str
    kind: RuleKind
    priority: int
    verdict: str | None
    lines: tuple[str, ...]
    span: Span | None
    place: str
    description: str
    monitored: bool
    """True for a rule that takes no part in decisions."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A key that has signed the bundle, and whether the signature was verified."""

    key: str
    verified: bool


@dataclass(frozen=True)
class PolicyReport:
    """Everything on the page. What was not asked for is empty or None.

    `findings` are those of `bobcat check`; None if the policy has no source to check. `cases` are the numbers of the
    cases that passed and that failed.
    """

    name: str
    policy: Policy
    access: AccessTable
    findings: tuple[Diagnostic, ...] | None
    signatures: tuple[Signature, ...] = ()
    coverage: Sequence[PolicyCoverage] = ()
    cases: tuple[int, int] | None = None
    traffic: Tally | None = None

    @cached_property
    def rules(self) -> tuple[RuleFact, ...]:
        """The rules, in evaluation order."""
        return tuple(self._rule(index) for index in range(len(self.policy.ir.rules)))

    def _rule(self, index: int) -> RuleFact:
        rule, places = self.policy.ir.rules[index], self.policy.source_map
        source = None if places is None else places.rules[index]
        span = None if places is None else places.rule_span(index)
        name = str(rule.id) if isinstance(rule, IrRule) else rule.name
        verdict = rule.verdict if isinstance(rule, IrRule) else None
        _, *lines = rule_text(rule, () if source is None else source.names).splitlines()
        place = "" if span is None else f"{span.file}:{span.line}" if span.line else f"{span.file} {span.path}"
        description = "" if source is None else source.description
        return RuleFact(
            index, name, KINDS[type(rule)], rule.priority, verdict, tuple(line[2:] for line in lines), span, place,
            description, is_monitored(rule),
        )  # fmt: skip

    @cached_property
    def definitions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The definitions of what the policy remembers: the path or name, and the lines of each."""
        memory = self.policy.ir.memory
        if not isinstance(memory, Mapping):
            return ()
        return tuple(
            (run_path(name, memory), tuple(definition_text(name, memory[name]).splitlines())) for name in sorted(memory)
        )

    def rule_at(self, span: Span | None) -> int | None:
        """The index of the rule in which a finding is."""
        return None if span is None else self._lines.get((span.file, span.line))

    @cached_property
    def _lines(self) -> Mapping[tuple[str, int], int]:
        """The rule at each line of the sources; of several in one line, the first."""
        found: dict[tuple[str, int], int] = {}
        for fact in self.rules:
            if fact.span is not None and fact.span.line:
                last = fact.span.end_line - (fact.span.end_column == 1 and fact.span.end_line > fact.span.line)
                for line in range(fact.span.line, last + 1):
                    found.setdefault((fact.span.file, line), fact.index)
        return found

    @cached_property
    def coverage_of(self) -> Mapping[str, RuleCoverage]:
        """The coverage of each rule, by id."""
        return {rule.id: rule for policy in self.coverage for rule in policy.rules}

    def to_json(self) -> dict[str, Any]:  # Any: JSON data
        """Return the report as plain JSON data."""
        defaults = self.policy.ir.defaults
        return {
            "version": 1,
            "policy": {
                "name": self.name,
                "digest": self.policy.id,
                "profile": self.policy.profile,
                "epoch": self.policy.epoch,
                "defaults": {
                    "on_no_match": defaults.on_no_match,
                    "on_missing_shadow": defaults.on_missing_shadow,
                    "on_rule_error": defaults.on_rule_error,
                },
                "signatures": [{"key": each.key, "verified": each.verified} for each in self.signatures],
            },
            "rules": [
                {
                    "id": fact.id, "kind": fact.kind, "priority": fact.priority, "verdict": fact.verdict,
                    "match": list(fact.lines), "place": fact.place, "description": fact.description,
                    "monitored": fact.monitored,
                }
                for fact in self.rules
            ],
            "access": self._access_json(),
            "findings": None if self.findings is None else json.loads(render_json(self.findings))["diagnostics"],
            "coverage": coverage_json(self.coverage) if self.coverage else None,
            "traffic": None if self.traffic is None else self._traffic_json(self.traffic),
        }  # fmt: skip

    def _access_json(self) -> dict[str, Any]:
        columns = self.access.columns.columns
        return {
            "columns": [{".".join(path): value for path, value in column.labels} for column in columns],
            "rows": [
                {
                    "tool": row.tool,
                    "named_by": list(row.sources),
                    "cells": [self._cell_json(cell) for cell in row.cells],
                }
                for row in self.access.rows
            ],
        }

    def _cell_json(self, cell: Cell) -> dict[str, Any]:
        rules = self.rules
        parts = [
            {"rule": None if part.rule is None else rules[part.rule].id, "verdict": part.verdict} for part in cell.parts
        ]
        return {"verdicts": list(cell.verdicts), "by": parts, "error_denies": cell.fails, "seen": list(cell.seen)}

    def _traffic_json(self, tally: Tally) -> dict[str, Any]:
        usage = tally.usage
        return {
            "decided": tally.decided,
            "rules": {
                fact.id: {
                    "fired": usage.rules[fact.id],
                    "last": usage.last[fact.id].isoformat() if fact.id in usage.last else None,
                }
                for fact in self.rules
            },
            "verdicts": [
                {"tool": tool, "verdict": verdict, "count": count}
                for (tool, verdict), count in sorted(usage.verdicts.items())
            ],
            "never_used": [each._asdict() for each in unused(self.policy, usage)],
            "not_decided": [
                {"code": code, "reason": REASONS[code], "count": count}
                for code, count in sorted(tally.undecided.items())
            ],
            "damaged": tally.damaged,
        }
