"""Views of a compiled policy for users and tools: its defaults and its declarative rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from bobcat.bundle.source_map import SourceMap
from bobcat.ir.schema import AnyRule, Defaults, IrRule
from bobcat.model.decision import Verdict

if TYPE_CHECKING:
    from bobcat.diagnostics.model import Span


class PolicyDefaults(msgspec.Struct, frozen=True):
    """Verdicts when no rule decides, and when a rule has an error."""

    on_missing_shadow: Verdict = Verdict.APPROVE_REQUIRED
    on_no_match: Verdict = Verdict.DENY
    on_rule_error: Literal["deny", "continue"] = "deny"


class RuleView(msgspec.Struct, frozen=True):
    """One declarative rule, for users and tools. `order` is its position in its file, `digest` 64 hexadecimal
    digits. A `monitored` rule takes no part in decisions.
    """

    id: str
    priority: int
    description: str
    verdict: Verdict
    order: int
    source_location: str
    span: Span | None
    digest: str
    monitored: bool = False


def defaults_of(defaults: Defaults) -> PolicyDefaults:
    """Return the view of a policy's defaults."""
    return PolicyDefaults(Verdict(defaults.on_missing_shadow), Verdict(defaults.on_no_match), defaults.on_rule_error)


def views_of(rules: Sequence[AnyRule], source_map: SourceMap | None, digests: Sequence[str]) -> tuple[RuleView, ...]:
    """Return the views of the declarative rules, in evaluation order."""
    return tuple(
        [
            _view_of(rule, index, source_map, digests[index])
            for index, rule in enumerate(rules)
            if isinstance(rule, IrRule)
        ]
    )


def _view_of(rule: IrRule, index: int, source_map: SourceMap | None, digest: str) -> RuleView:
    source = source_map.rules[index] if source_map is not None else None
    name = "<unknown>"
    if source_map is not None and source is not None and source.file >= 0:
        name = source_map.files[source.file]
    order = source.order if source is not None else index
    place = source.place if source is not None else f"rules[{index}]"
    return RuleView(
        id=rule.id if isinstance(rule.id, str) else str(rule.id),
        priority=rule.priority,
        description=source.description if source is not None else "",
        verdict=Verdict(rule.verdict),
        order=order,
        source_location=f"{name}:{place.replace('rules', 'rule', 1)}",
        span=source_map.rule_span(index) if source_map is not None else None,
        digest=digest,
        monitored=not isinstance(rule.mode, msgspec.UnsetType),
    )
