"""A deny that an allow of higher rank overrides for some of its calls.

What it does: finds an `allow` or `transform`, and a later `deny`, `approve_required` or `dry_run`, that match a call
    together, unless the first is an exception: the second matches every call that the first matches.
Why: the first match wins, so calls that the `allow` matches never reach the `deny`.
Example: `allow` for `args.cmd.starts_with: git`, then `deny` for `args.cmd.contains: --force`.
Use instead: the most specific denies first, or with a higher priority.
Fix: by hand.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice

from bobcat.diagnostics.model import Findings
from bobcat.ir.conjuncts import conjuncts
from bobcat.ir.schema import Leaf, NotExpr
from bobcat.lint.calls import UNDECIDED, ExampleCall
from bobcat.lint.implication import covers, is_lenient
from bobcat.lint.pattern_syntax import is_anchored, parse
from bobcat.lint.subject import ANY_TOOL, LintContext, RuleFacts, shown_call
from bobcat.lint.values import literal_prefix

CODES = ("W0102",)


def check(subject: LintContext) -> Findings:
    """Find denies that an earlier allow may override, each with the first such allow."""
    allows: dict[str, list[RuleFacts]] = defaultdict(list)
    tools: dict[str, None] = {}
    for facts in subject.rules:
        if facts.never:
            continue
        if facts.permits:
            for tool in facts.tools or (ANY_TOOL,):
                allows[tool].append(facts)
                tools[tool] = None
            continue
        named = facts.tools or tuple(islice(tools, subject.most))
        lists = [rules[: subject.most + 1] for tool in (ANY_TOOL, *named) if (rules := allows.get(tool))]
        if not lists:
            continue
        found = lists[0]
        if len(lists) > 1:
            by_index = {item.index: item for rules in lists for item in rules}
            found = [by_index[index] for index in sorted(by_index)]
        if len(found) > subject.most:
            subject.capped["allow-before-deny"] += 1
        for allow in found[: subject.most]:
            if allow.conjunction.clashes(facts.conjunction):  # PERF: most pairs
                continue
            shown = _overlap(subject, allow, facts)
            if shown is not None:
                verdict = facts.rule.verdict
                yield subject.at_rule("W0102", facts, beside=allow, verdict=verdict, call=shown)
                break


def _overlap(subject: LintContext, allow: RuleFacts, deny: RuleFacts) -> str | None:
    """Return a call that two rules without a clash both match, empty if none could be found; None if they are not to be
    reported.
    """
    if not _share_tools(allow, deny):
        return None
    if subject.calls.exhausted and not deny.reads - allow.reads - {("tool",)}:
        return None  # PERF: no call can be found, and N0101 reports that
    if covers(allow.conditions, deny.conditions, lenient=is_lenient(allow.rule, deny.rule)):  # an exception
        return None
    shadowed = covers(deny.conditions, allow.conditions, lenient=is_lenient(deny.rule, allow.rule))
    if shadowed and allow.rule.verdict != "transform":  # W0101
        return None
    allow_reads, deny_reads = allow.reads, deny.reads
    if allow.rule.priority > deny.rule.priority and any(path[0] == "context" for path in allow_reads - deny_reads):
        return None  # specific to some callers, and above: intended
    if allow.tools and all(path[0] == "declared" for path in deny_reads):
        return None  # named tools, before a rule for the other tools
    call = subject.find(allow, deny.rule.match)
    if isinstance(call, ExampleCall):
        exception = subject.find(allow, NotExpr(deny.rule.match)) is None
        return None if exception and allow.rule.verdict != "transform" else shown_call(call)
    return "" if call is UNDECIDED and deny_reads - allow_reads - {("tool",)} else None


def _share_tools(allow: RuleFacts, deny: RuleFacts) -> bool:
    """Return false if no tool that one rule names begins as the other one wants: by a glob, a pattern or a prefix."""
    if not allow.tools or deny.tools:
        return True
    for item in conjuncts(deny.rule.match):
        prefixes = _prefixes(item) if isinstance(item, Leaf) and item.head == "tool" else ()
        if prefixes and not any(tool.startswith(prefixes) for tool in allow.tools):
            return False
    return True


def _prefixes(leaf: Leaf) -> tuple[str, ...]:
    """Return the texts one of which a tool begins with, if the test says so."""
    if leaf.op == "starts_with":
        items = leaf.operand if isinstance(leaf.operand, list) else [leaf.operand]
        texts = tuple(item for item in items if isinstance(item, str))
        return texts if len(texts) == len(items) else ()
    text = leaf.operand
    if leaf.op == "matches" and isinstance(text, str) and text.startswith(("^", "(?s)^")) and is_anchored(text):
        return tuple(filter(None, [literal_prefix(parse(text))[0]]))
    return ()
