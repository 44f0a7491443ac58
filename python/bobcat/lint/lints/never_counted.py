"""A count or a sum that no call changes.

What it does: finds a count or a sum of the run over calls that no rule permits, with or without an approval.
Why: it stays 0, and the limit on it limits nothing; perhaps the name of the tool is misspelt.
Example: `run.count.send_mony.lt: 3` in a policy that permits `send_money`.
Use instead: `run.count.send_money.lt: 3`.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir.schema import Measure
from bobcat.lint.run_definitions import definitions, runs, tools_of
from bobcat.lint.subject import LintContext

CODES = ("W0146",)


def check(subject: LintContext) -> Findings:
    """Find these counts and sums."""
    for _, definition, facts, item in definitions(subject):
        if isinstance(definition, Measure) and not runs(subject, definition.of):
            yield subject.at_leaf("W0146", facts, item, tools=tools_of(definition.of))
