"""A policy that does not fit its tools.

What it does: finds unknown tools (W0138) and arguments (W0139), values that an argument never has (W0140), rules that
    no tool can match (W0141), and tools without a rule (N0102). It runs with `check --tools` only; tools are plain
    data, since this layer does not depend on tool objects.
Why: such a test is always false, so its rule does not protect what it names.
Example: `match: {tool: reed_file}` beside a tool `read_file`.
Use instead: the declared names and types.
Fix: by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import UnsetType

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span
from bobcat.frontend.suggest import Names, listed
from bobcat.ir.memory import names_of
from bobcat.ir.schema import AllExpr, AnyExpr, Const, Expr, IrRule, Leaf, NotExpr
from bobcat.ir.visit import definition_exprs, leaves
from bobcat.lint.argument_schema import Schema, ToolFacts, Tools, at_path, can_hold, described, names
from bobcat.lint.evaluate import holds
from bobcat.lint.implication import PERMITS
from bobcat.lint.subject import LintContext, PlacedLeaf, RuleFacts

CODES = ("W0138", "W0139", "W0140", "W0141", "N0102")
MAX_LISTED = 12
"""Maximum number of names in a help line."""


def check_tools(subject: LintContext, tools: Tools) -> Findings:
    """Yield every finding about a policy and its tools."""
    known = Names(tools)
    met: set[str] = set()
    for facts in subject.rules:
        found = [*_unknown_tools(subject, facts, tools, known), *_arguments(subject, facts, tools)]
        yield from found
        meeting = {
            name for name in _candidates(facts, tools) if _can(facts, facts.rule.match, tools[name]) is not False
        }
        met |= meeting
        if not meeting and not found and not facts.never:
            yield subject.at_rule("W0141", facts)
    if len(subject.rules) == len(subject.policy.rules):  # a Python rule may be about any tool
        verdict = subject.policy.defaults.on_no_match
        for name in tools:
            if name not in met:
                files = subject.source_map.files
                place = Span(files[0], 1, 1, 1, 2) if files else None
                yield diagnose("N0102", place, tool=name, verdict=verdict)


def _candidates(facts: RuleFacts, tools: Tools) -> list[str]:
    return [name for name in facts.tools if name in tools] if facts.tools else list(tools)


def _unknown_tools(subject: LintContext, facts: RuleFacts, tools: Tools, known: Names) -> Findings:
    for item, leaf in _tested(subject, facts):
        if leaf.head != "tool" or leaf.op not in ("eq", "in") or isinstance(leaf.operand, dict):
            continue
        for name in leaf.operand if isinstance(leaf.operand, list) else [leaf.operand]:
            if isinstance(name, str) and name not in tools:
                near = known.closest(name)
                help = f"did you mean `{near}`?" if near else _listed("the tools are", list(tools))
                yield subject.at_leaf("W0138", facts, item, help=help, tool=name)


def _tested(subject: LintContext, facts: RuleFacts) -> Iterator[tuple[PlacedLeaf, Leaf]]:
    """Yield the leaves of a rule, and those of the definitions that it reads, each with the leaf of the rule."""
    memory = subject.policy.memory
    for item in facts.leaves:
        yield item, item.leaf
        for read in names_of(item.leaf):
            definition = None if isinstance(memory, UnsetType) else memory.get(read)
            for expr in definition_exprs(definition) if definition is not None else ():
                yield from ((item, leaf) for leaf in leaves(expr))


def _arguments(subject: LintContext, facts: RuleFacts, tools: Tools) -> Findings:
    # The tools for which the match can hold, based on their names and metadata alone.
    candidates = [
        tools[name]
        for name in _candidates(facts, tools)
        if _can(facts, facts.rule.match, tools[name], arguments=False) is not False
    ]
    if not candidates:
        return
    for item in facts.leaves:
        leaf = item.leaf
        if leaf.head != "args" or not leaf.path:
            continue
        schemas = [schema for tool in candidates for schema in at_path(tool.schema, leaf.path)]
        if not schemas:
            if leaf.op == "exists" and leaf.operand is False:
                continue
            params = _not_taken(leaf.path, candidates)
            yield subject.at_leaf("W0139", facts, item, **params)
            continue
        impossible = _impossible(schemas, leaf)
        if impossible is not None:
            has = described(schemas)
            yield subject.at_leaf("W0140", facts, item, op=leaf.op, value=impossible, has=has)
    transform = facts.rule.transform
    if (
        transform is not None
        and transform.path
        and not any(at_path(tool.schema, transform.path) for tool in candidates)
    ):
        path = ".".join(("args", *transform.path))
        yield subject.at_rule("W0139", facts, path=path, **_not_taken(transform.path, candidates))


def _impossible(schemas: list[Schema], leaf: Leaf) -> str | None:
    """Return the operand, or the part of it, that no value can satisfy."""
    operand = leaf.operand
    items = operand if leaf.op == "in" and isinstance(operand, list) else [operand]
    op = "eq" if leaf.op == "in" and isinstance(operand, list) else leaf.op
    bad = [item for item in items if not can_hold(schemas, op, item)]
    return ", ".join(map(_shown, bad)) if bad else None


def _not_taken(steps: tuple[str, ...], candidates: list[ToolFacts]) -> dict[str, Any]:  # Any: parameters of a finding
    """Return the help and the tools of a finding about an argument that no tool has."""
    taken = sorted({name for tool in candidates for name in names(tool.schema)})
    near = Names(taken).closest(steps[0]) if steps[0] not in taken else None
    help = f"did you mean `args.{near}`?" if near else _listed("the arguments are", taken)
    return {"help": help, "tools": f"`{candidates[0].name}` has" if len(candidates) == 1 else "these tools have"}


def _can(facts: RuleFacts, expr: Expr, tool: ToolFacts, *, arguments: bool = True) -> bool | None:
    """Evaluate a match for all calls of a tool: true, false, or None if it depends on the call."""
    match expr:
        case Leaf():
            return _leaf(facts.rule, expr, tool, arguments=arguments)
        case NotExpr(item):
            answer = _can(facts, item, tool, arguments=arguments)
            return None if answer is None else not answer
        case AllExpr(items):
            answers = [_can(facts, item, tool, arguments=arguments) for item in items]
            return False if False in answers else None if None in answers else True
        case AnyExpr(items):
            answers = [_can(facts, item, tool, arguments=arguments) for item in items]
            return True if True in answers else None if None in answers else False


def _leaf(rule: IrRule, leaf: Leaf, tool: ToolFacts, *, arguments: bool) -> bool | None:
    if isinstance(leaf.operand, dict) and "ref" in leaf.operand:
        return None
    if leaf.head == "tool":
        return holds(leaf.op, leaf.operand, tool.name)
    if leaf.head == "declared" and leaf.path:
        value = tool.declared.get(leaf.path[0])
        return holds(leaf.op, leaf.operand, value) if leaf.path[0] in tool.declared else None
    if leaf.head != "args" or not leaf.path or not arguments:
        return None
    schemas = at_path(tool.schema, leaf.path)
    if not schemas:
        if leaf.op == "exists":
            return leaf.operand is False
        return None if rule.verdict in PERMITS else False
    return None if can_hold(schemas, leaf.op, leaf.operand) else False


def _listed(words: str, found: list[str]) -> str:
    more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    return f"{words} {listed(found[:MAX_LISTED])}{more}" if found else "the list is empty"


def _shown(operand: Const) -> str:
    return json.dumps(operand, ensure_ascii=True) if isinstance(operand, str | int | float | bool) else "this"
