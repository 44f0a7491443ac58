"""A condition on the sequence of events that has one value in every run.

What it does: finds a sequence whose events no rule permits, or that is true or false by its form.
Why: the condition has no effect, or the rule never fires; perhaps the name of a tool is misspelt.
Example: `run.after: {tool: read_pages}` in a policy that permits `read_page`.
Use instead: `run.after: {tool: read_page}`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir.schema import FormulaDefinition
from bobcat.lint.run_definitions import constant, definitions
from bobcat.lint.subject import LintContext

CODES = ("W0148",)


def check(subject: LintContext) -> Findings:
    """Find these sequences."""
    for _, definition, facts, item in definitions(subject):
        if isinstance(definition, FormulaDefinition):
            value = constant(subject, definition.formula)
            if value is not None:
                yield subject.at_leaf("W0148", facts, item, value=str(value).lower())
