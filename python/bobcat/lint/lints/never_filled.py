"""A source that no result fills.

What it does: finds a source over the results of calls that no rule permits, with or without an approval.
Why: it stays empty, and `from` is true of nothing that it should have; perhaps the name of the tool is misspelt.
Example: `directory: {tool: search_contact, fields: [email]}` in a policy that permits `search_contacts`.
Use instead: `directory: {tool: search_contacts, fields: [email]}`.
Fix: correct the name, or permit the tool.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.ir.schema import Source
from bobcat.ir.spelling import source_name
from bobcat.lint.run_definitions import definitions, runs, tools_of
from bobcat.lint.subject import LintContext

CODES = ("W0147",)


def check(subject: LintContext) -> Findings:
    """Find these sources, at the first test that uses each."""
    for name, definition, facts, item in definitions(subject):
        if isinstance(definition, Source) and not runs(subject, definition.of):
            source = source_name(name)
            yield subject.at_leaf("W0147", facts, item, source=source, tools=tools_of(definition.of))
