"""A difference as text: a short summary, its regions as lines, and the same in Markdown for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bobcat.analysis.calls import call_text
from bobcat.analysis.deciding import DecidingRules
from bobcat.analysis.engine import DEFAULT, rule_ref
from bobcat.analysis.model import Diff, Reason, Region, RuleRef, Side
from bobcat.analysis.permissions import Permission
from bobcat.bundle.model import Policy
from bobcat.diagnostics.render import place
from bobcat.model.decision import Decision
from bobcat.text.display import safe_name, safe_text

SAME = "proved: both policies decide every call alike"
_HEADS = {"loosening": "permits more", "arguments": "other arguments", "tightening": "permits less"}
MOST_SHOWN = 100
"""Regions of one direction that text and Markdown show."""
_MARKER = re.compile(r"(?:(?P<layer>[a-z][a-z0-9_-]*):)?<(?P<kind>rule_error|default|layer_conflict):(?P<of>.*)>")
_BACKTICKS = re.compile("`+")


def summary_lines(found: Diff) -> list[str]:
    """Return one line for each region, what became permitted first, after a line with the counts."""
    if found.same:
        return [SAME]
    return [counts_line(found), *(_one_line(region) for region in found.regions), *map(reason_text, found.reasons)]


def counts_line(found: Diff) -> str:
    """Return the numbers of regions in one line."""
    parts = [
        f"{len(found.loosening)} loosened" if found.loosening else "",
        f"{len(found.tightening)} tightened" if found.tightening else "",
        f"{len(found.unknown) + len(found.reasons)} unknown" if found.unknown or found.reasons else "",
    ]
    return ", ".join(filter(None, parts)) or "no difference found, which is not a proof"


def _one_line(region: Region) -> str:
    mark = "?" if region.witness is None else "+" if region.loosens else "-"
    old, new = region.old.rule, region.new.rule
    return f"{mark} {tool_text(region)}: {verdicts_text(region)} (was {rule_text(old)}, now {rule_text(new)})"


def region_lines(found: Diff) -> Iterator[str]:
    """Yield the regions as text, grouped by the direction of the change."""
    for head in _HEADS:
        group = [region for region in found.found if region.change == head]
        if group:
            yield f"{_HEADS[head]}:"
            yield from _group(group)
    if found.unknown or found.reasons:
        yield "unknown:"
        yield from _group(found.unknown)
        for reason in found.reasons:
            yield f"  {reason_text(reason)}"


def _group(regions: Sequence[Region]) -> Iterator[str]:
    for region in regions[:MOST_SHOWN]:
        yield from _region(region)
    if len(regions) > MOST_SHOWN:
        yield f"  and {len(regions) - MOST_SHOWN:,} more; `--format json` has all of them"


def _region(region: Region) -> Iterator[str]:
    recorded = "" if region.recorded is None else f"   {region.recorded:,} recorded call{'s' * (region.recorded != 1)}"
    yield f"  {tool_text(region)}: {verdicts_text(region)}{recorded}"
    if region.witness is not None:
        yield f"    call  {call_text(region.witness.request)}"
    old, new = _sides(region)
    yield f"    old   {old}"
    yield f"    new   {new}"
    for reason in region.reasons:
        yield f"    {reason_text(reason)}"


def markdown_lines(found: Diff, old: str, new: str) -> Iterator[str]:
    """Yield a difference in Markdown: a headline, then a table for each direction."""
    yield f"### Policy change: {_code(old)} → {_code(new)}"
    yield ""
    if found.same:
        yield "Proved: both policies decide every call alike."
        return
    yield f"**{counts_line(found)}**"
    for head, title in _HEADS.items():
        yield from _table(title, [region for region in found.found if region.change == head])
    yield from _table("unknown", found.unknown)
    if found.reasons:
        yield ""
        yield from (f"- {_escaped(reason_text(reason))}" for reason in found.reasons)
    if found.traffic is not None:
        yield ""
        yield f"{found.traffic.changed:,} of {found.traffic.calls:,} recorded calls are decided differently."


def _table(title: str, regions: Sequence[Region]) -> Iterator[str]:
    if not regions:
        return
    yield ""
    yield f"#### {title[0].upper()}{title[1:]}"
    yield ""
    counted = any(region.recorded is not None for region in regions)
    yield f"| tool | verdict | a call | old rule | new rule |{' recorded |' if counted else ''}"
    yield f"|---|---|---|---|---|{'---|' if counted else ''}"
    for region in regions[:MOST_SHOWN]:
        call = _code(call_text(region.witness.request)) if region.witness is not None else _unknown(region.reasons)
        rules = " | ".join(map(_escaped, _sides(region)))
        row = f"| {_escaped(tool_text(region))} | {verdicts_text(region)} | {call} | {rules} |"
        yield f"{row} {region.recorded:,} |" if region.recorded is not None else row
    if len(regions) > MOST_SHOWN:
        yield ""
        yield f"and {len(regions) - MOST_SHOWN:,} more"


def _unknown(reasons: Iterable[Reason]) -> str:
    return _escaped("; ".join(map(reason_text, reasons)))


def _code(text: str) -> str:
    """Return a text as code of Markdown, also one with backticks or the sign between cells."""
    shown = safe_text(text).replace("|", "\\|")
    longest = max(map(len, _BACKTICKS.findall(shown)), default=0)
    space = " " if longest else ""
    return f"{'`' * (longest + 1)}{space}{shown}{space}{'`' * (longest + 1)}"


def _escaped(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "\\|*_<>[]" else sign for sign in text)


def tool_text(region: Region) -> str:
    """Return the tool of a region; of tools that no rule names, what its rules say of them."""
    if region.tool is not None:
        return safe_name(region.tool)
    tests = dict.fromkeys((*region.old.rule.other_tools, *region.new.rule.other_tools))
    return f"any other tool{' that ' * bool(tests)}{safe_text(' and '.join(tests))}"


def verdicts_text(region: Region) -> str:
    """Return the verdicts of both sides."""
    if region.terms:
        return safe_text(f"{region.new.verdict}, {'; '.join(region.terms)}")
    if region.change == "arguments":
        return f"{region.old.verdict} with other arguments"
    return f"{region.old.verdict} -> {region.new.verdict}"


def giver_text(row: Permission, rule: RuleRef) -> str:
    """Return a rule that gives the verdict of a row: by its error, and for which of the tools that no rule names."""
    error = " in error" if rule.denies_by_error(row.verdict) else ""
    tests = f" (tool {safe_text(' and '.join(rule.other_tools))})" if row.tool is None and rule.other_tools else ""
    return f"{rule_text(rule)}{error}{tests}"


def rule_text(rule: RuleRef) -> str:
    """Return a rule in a few words."""
    return "default" if rule.id == DEFAULT else f"`{safe_name(rule.id)}`"


def decision_text(policy: Policy, decision: Decision) -> str:
    """Return a decision with the rules behind it, the place of the deciding one, and the errors of rules."""
    index = DecidingRules(policy).index(decision)
    span = rule_ref(policy, index).span
    where = "" if span is None else f"  {safe_text(place(span))}"
    return f"{decision.verdict} by {', '.join(map(_name_text, decision.matched_rules))}{where}"


def _name_text(name: object) -> str:
    """Return a name of a decision: a rule, its error, or a default."""
    found = _MARKER.fullmatch(str(name))
    if found is None:
        return f"`{safe_name(name)}`"
    layer = "" if found["layer"] is None else f" of `{safe_name(found['layer'])}`"
    match found["kind"]:
        case "rule_error":
            rule, _, code = found["of"].rpartition(":")
            return f"`{safe_name(rule)}` in error ({safe_text(code)})"
        case "default":
            return f"default{layer}"
        case _:
            return f"a conflict of the layers `{safe_name(found['of'])}`"


def _side(side: Side, decision: Decision | None = None) -> str:
    where = "" if side.rule.span is None else f"  {safe_text(place(side.rule.span))}"
    error = ""
    if decision is not None and str(decision.matched_rules[-1]).startswith("<rule_error:"):
        error = f" in error ({safe_text(str(decision.matched_rules[-1])[:-1].rpartition(':')[2])})"
    return f"{side.verdict} by {rule_text(side.rule)}{error}{where}"


def _sides(region: Region) -> tuple[str, str]:
    old, new = (None, None) if region.witness is None else region.witness.decisions
    return _side(region.old, old), _side(region.new, new)


def reason_text(reason: Reason) -> str:
    """Return a reason in one line."""
    rule = "" if reason.rule is None else f" (rule `{safe_name(reason.rule)}`)"
    return f"{reason.code}: {safe_text(reason.message)}{rule}"
