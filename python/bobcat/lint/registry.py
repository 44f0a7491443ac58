"""Registry of lints: the codes and the function of each, in one tuple."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.ir.schema import IrPolicy
from bobcat.lint.argument_schema import Tools
from bobcat.lint.calls import MAX_STEPS, MAX_STEPS_EACH
from bobcat.lint.lints import (
    allow_before_deny,
    allow_everything,
    any_element,
    append_to_text,
    blocklist,
    climbing_path,
    default_allow,
    empty_list_allow,
    errors_ignored,
    hidden_characters,
    listed_environments,
    missing_lower_bound,
    missing_shadow_allowed,
    negative_only,
    never_fires,
    open_command,
    open_pattern,
    open_prefix,
    open_tool,
    open_url,
    shadowed_rule,
    unanchored_allow,
    unescaped_dot,
    unnamed_approvers,
)
from bobcat.lint.subject import LintContext
from bobcat.lint.tool_check import check_tools

Check = Callable[[LintContext], Iterable[Diagnostic]]


@dataclass(frozen=True, slots=True)
class Lint:
    """A lint function over a whole policy, in normal form and in evaluation order."""

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
    Lint("open-command", ("W0119",), open_command.check),
    Lint("open-pattern", ("W0120",), open_pattern.check),
    Lint("open-prefix", ("W0121",), open_prefix.check),
    Lint("climbing-path", ("W0122",), climbing_path.check),
    Lint("open-url", ("W0123",), open_url.check),
    Lint("unescaped-dot", ("W0124",), unescaped_dot.check),
    Lint("empty-list-allow", ("W0125",), empty_list_allow.check),
    Lint("missing-lower-bound", ("W0126",), missing_lower_bound.check),
    Lint("negative-only", ("W0127",), negative_only.check),
    Lint(
        "blocklist",
        (
            "W0128",
            "W0129",
        ),
        blocklist.check,
    ),
    Lint("listed-environments", ("W0130",), listed_environments.check),
    Lint("open-tool", ("W0131",), open_tool.check),
    Lint("append-to-text", ("W0132",), append_to_text.check),
    Lint("unnamed-approvers", ("W0133",), unnamed_approvers.check),
    Lint("allow-everything", ("W0134",), allow_everything.check),
    Lint("any-element", ("W0135",), any_element.check),
    Lint("hidden-characters", ("W0220",), hidden_characters.check),
)


def run_lints(policy: IrPolicy, source_map: SourceMap, tools: Tools | None = None) -> tuple[Diagnostic, ...]:
    """Run every lint and the tool check, and add a note if a lint omitted comparisons."""
    subject = LintContext(policy, source_map, tools)
    found = [item for lint in LINTS for item in lint.check(subject)]
    shadowed = {item.span for item in found if item.code in ("W0101", "W0108") and item.span is not None}
    found = [item for item in found if item.code != "W0102" or item.span not in shadowed]  # report each code once
    if tools is not None:
        found.extend(check_tools(subject, tools))
    what = [f"{name} for {count:,} rule{'s' if count > 1 else ''}" for name, count in subject.capped.items()]
    if subject.calls.exhausted:
        what.append(f"calls that get through, after {MAX_STEPS:,} steps")
    elif subject.calls.ended:
        what.append(f"calls that get through, in {subject.calls.ended:,} searches of {MAX_STEPS_EACH:,} steps each")
    if what:
        found.append(diagnose("N0101", None, what=", ".join(what)))
    return tuple(found)
