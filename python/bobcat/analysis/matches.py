"""Matches of questions as policies of one rule, the form in which the core takes them."""

from __future__ import annotations

from collections.abc import Mapping

from bobcat.analysis.inputs import MatchInput
from bobcat.bundle.model import Policy
from bobcat.diagnostics.model import Span
from bobcat.diagnostics.render import render_text
from bobcat.errors import PolicyCompileError
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.strict.matches import MatchLowering
from bobcat.frontend.yaml.source import compose, from_mapping
from bobcat.ir import construct
from bobcat.ir.memory import used
from bobcat.ir.schema import Definition, Expr, VerdictName

PERMITS: VerdictName = "allow"
"""Verdict of a match that is read as a rule reads it that permits: absent is neither true nor false."""
RESTRICTS: VerdictName = "deny"
"""Verdict of a match that is read as a rule reads it that restricts: a missing path is false."""
_RULE = "match"


def match_policy(given: MatchInput, verdict: VerdictName = RESTRICTS, *, name: str = "match") -> Policy:
    """Return a match as a policy; `name` stands for its file in diagnostics. Raises `PolicyCompileError`."""
    report = DiagnosticCollector(name)
    root = compose(given, report) if isinstance(given, str) else from_mapping(given, report)
    if root is None and not report.has_errors():
        report.add("E0306", Span(name, 1, 1, 1, 2), where="the match", kind="an empty document")
    lowering = MatchLowering(report)
    expr = None if root is None or report.has_errors() else lowering.match(root, "the match")
    if expr is None or report.has_errors():
        found = report.diagnostics()
        raise PolicyCompileError(render_text(found, {name: given} if isinstance(given, str) else {}), found)
    return policy_of_match(expr, verdict, lowering.definitions)


def policy_of_match(expr: Expr, verdict: VerdictName, definitions: Mapping[str, Definition]) -> Policy:
    """Return a lowered match as a policy."""
    rules = [construct.rule(_RULE, expr, verdict)]
    return Policy.from_policy(construct.policy(rules, memory=used(rules, definitions)))
