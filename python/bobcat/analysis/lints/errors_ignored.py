"""A rule that cannot be judged is skipped.

What it does: finds `defaults.on_rule_error: continue`.
Why: the caller chooses the arguments: one of the wrong type makes a `deny` vanish.
Example: `defaults: {on_rule_error: continue}`.
Use instead: `on_rule_error: deny`, which is the default.
Fix: leave the line out.
"""

from __future__ import annotations

from collections.abc import Iterator

from bobcat.bundle.source_map import SourceMap
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir.schema import Policy


def check(policy: Policy, source_map: SourceMap) -> Iterator[Diagnostic]:
    """The one finding, at the value of `on_rule_error`."""
    if policy.defaults.on_rule_error == "continue":
        yield diagnose("W0104", source_map.default_span(2))
