"""The part of a memory that matters to a question: what rules about its tools read, and so on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.conjuncts import named_tools
from bobcat.ir.memory import names_in_code, names_of
from bobcat.ir.schema import (
    AllFormula,
    AnyFormula,
    AnyRule,
    CallEvent,
    Definition,
    Expr,
    Formerly,
    Formula,
    FormulaDefinition,
    FunctionRule,
    HostRule,
    IrRule,
    NotFormula,
    ResultEvent,
    Source,
)
from bobcat.ir.visit import definition_exprs, formula_parts


def relevant(
    rules: Iterable[AnyRule], definitions: Mapping[str, Definition], tools: Iterable[str | None]
) -> tuple[dict[str, Definition], set[str | None]]:
    """Return the definitions that decisions on some tools depend on, and the tools whose calls change them.

    `rules` are those of the policy and of the question. A tool that is left out changes none of these definitions.
    """
    rules = list(rules)
    every: set[str | None] = set(tools)
    for expr in (*_matches(rules), *(expr for item in definitions.values() for expr in definition_exprs(item))):
        every |= tools_of(expr) or set()
    found: dict[str, Definition] = {}
    about = set(tools)
    while True:
        read = {name for rule in rules if _concerns(rule, about) for name in _names(rule)}
        new = {name: definitions[name] for name in read if name in definitions and name not in found}
        for definition in list(new.values()):
            if isinstance(definition, Source):
                new |= {name: definitions[name] for name in definition.asked_with if name in definitions}
        if not new:
            return dict(sorted(found.items())), about
        found |= new
        for definition in new.values():
            about |= every if _reads_every_event(definition) else _changed_by(definition, every)


def tools_of(expr: Expr) -> set[str | None] | None:
    """Return the only tools for which a match can be true or in error; None for any tool."""
    names = named_tools(construct.rule("match", expr, "deny"))
    return {str(name) for name in names} if names else None


def _matches(rules: Iterable[AnyRule]) -> list[Expr]:
    return [rule.match for rule in rules if isinstance(rule, IrRule)]


def _concerns(rule: AnyRule, about: set[str | None]) -> bool:
    names = named_tools(rule) if isinstance(rule, IrRule) else ()
    return not names or not about.isdisjoint(map(str, names))


def _names(rule: AnyRule) -> Iterable[str]:
    match rule:
        case IrRule():
            return names_of(rule.match)
        case FunctionRule():
            return names_in_code(rule)
        case HostRule():
            return ()


def _changed_by(definition: Definition, every: set[str | None]) -> set[str | None]:
    found: set[str | None] = set()
    for expr in definition_exprs(definition):
        named = tools_of(expr) if not _is_about_records(definition, expr) else set()
        found |= every if named is None else named
    return found


def _is_about_records(definition: Definition, expr: Expr) -> bool:
    return isinstance(definition, Source) and expr is not definition.of


def _reads_every_event(definition: Definition) -> bool:
    """Return true if an event that none of the matches takes can change the value of a formula."""
    return isinstance(definition, FormulaDefinition) and not _is_lasting(definition.formula)


def _is_lasting(formula: Formula) -> bool:
    match formula:
        case Formerly(CallEvent() | ResultEvent()):
            return True
        case NotFormula() | AllFormula() | AnyFormula() if formula_parts(formula):
            return all(map(_is_lasting, formula_parts(formula)))
        case _:
            return False


def policies_rules(policies: Iterable[Policy]) -> list[AnyRule]:
    """Return the rules of some policies."""
    return [rule for policy in policies for rule in policy.ir.rules]
