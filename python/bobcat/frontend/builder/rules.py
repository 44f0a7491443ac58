"""Rules built in Python (`bobcat.build`) as compiler input: added to the rules of a file, or used alone."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from bobcat.bundle.host_code import HostFunction
from bobcat.bundle.source_map import Position, RuleSource
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Related, Span
from bobcat.frontend.observation import Finding, errors
from bobcat.frontend.result import LoweringResult
from bobcat.ir.schema import AnyRule, Definition, IrRule, Profile, Source

NOWHERE: Position = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class BuiltRule:
    """A rule of the IR with its source positions. `rule` is None exactly when a finding is an error.

    `memory` has the definitions that it may read, by their names in the IR.
    """

    rule: IrRule | None
    file: str
    position: Position
    leaves: tuple[Position, ...] = ()
    description: str = ""
    findings: tuple[Finding, ...] = ()
    memory: Mapping[str, Definition] = field(default_factory=dict)


class BuiltPolicy(Protocol):
    """A policy of `bobcat.build`."""

    def __bobcat_policy__(self) -> tuple[Mapping[str, str], tuple[BuiltRule, ...]]:
        """Return the defaults of the policy and its rules."""


class Built(Protocol):
    """A rule of `bobcat.build`."""

    def __bobcat_rule__(self) -> BuiltRule:
        """Return the rule in the IR, or the findings that prevented it."""


AnyPythonRule: TypeAlias = HostFunction | Built | BuiltPolicy
"""Anything that may be passed as a Python rule."""


def built_rule(value: object) -> BuiltRule | None:
    """Return the built rule of an object of `bobcat.build`; None for any other object."""
    make = getattr(value, "__bobcat_rule__", None)
    if make is None or isinstance(value, type):
        return None
    found = make()
    return found if isinstance(found, BuiltRule) else None


def built_policy(value: object) -> tuple[Mapping[str, str], tuple[BuiltRule, ...]] | None:
    """Return the defaults and rules of a policy of `bobcat.build`; None for any other object."""
    make = getattr(value, "__bobcat_policy__", None)
    if make is None or isinstance(value, type):
        return None
    defaults, rules = make()
    return dict(defaults), tuple(rules)


def take_built(
    source: Any,  # Any: a policy in any form, and Python rules of every kind
    python_rules: Iterable[Any],
) -> tuple[Any, tuple[BuiltRule, ...], tuple[Any, ...]]:
    """Separate built rules from a source and from Python rules; return the remaining source, the built rules, the
    others.

    A built policy passed as the source contributes its defaults. Defaults of a policy among the Python rules are an
    error.
    """
    built: list[BuiltRule] = []
    policy = built_policy(source)
    if policy is not None:
        defaults, rules = policy
        source = {"defaults": defaults}
        built.extend(rules)
    if built_policy(python_rules) is not None:
        python_rules = (python_rules,)
    elif callable(python_rules) or isinstance(python_rules, str):
        raise TypeError(f"python_rules is a list of rules, got {type(python_rules).__name__}; write python_rules=[...]")
    rest: list[Any] = []
    for item in python_rules:
        policy, rule = built_policy(item), built_rule(item)
        if policy is not None:
            defaults, rules = policy
            built.extend(rules)
            if defaults:
                finding = diagnose("E0821", None, key=next(iter(defaults)))
                built.append(BuiltRule(None, "", NOWHERE, findings=(finding,)))
        elif rule is not None:
            built.append(rule)
        else:
            rest.append(item)
    return source, tuple(built), tuple(rest)


def with_built(lowered: LoweringResult, built: tuple[BuiltRule, ...], profile: Profile) -> LoweringResult:
    """Add built rules to the result of a front end, after the file's rules of equal priority."""
    if not built:
        return lowered
    found = [*lowered.findings, *(finding for item in built for finding in item.findings)]
    if profile == "lynx":
        found.extend(diagnose("E0822", _span(item)) for item in built[:1])
    if lowered.policy is None or lowered.source_map is None:
        return replace(lowered, findings=tuple(found))
    spans = {
        rule.id: lowered.source_map.rule_span(index)
        for index, rule in enumerate(lowered.policy.rules)
        if type(rule) is IrRule
    }
    added: list[tuple[AnyRule, RuleSource, str]] = []
    for order, item in enumerate(built):
        if item.rule is None:
            continue
        span, first = _span(item), spans.get(item.rule.id)
        if item.rule.id in spans:
            related = [Related(first, "the first one is here")] if first is not None else []
            found.append(diagnose("E0210", span, related=related, id=item.rule.id))
        spans.setdefault(item.rule.id, span)
        added.append((item.rule, RuleSource(0, *item.position, item.description, order, item.leaves), item.file))
    if errors(found):
        return replace(lowered, policy=None, source_map=None, findings=tuple(found), data=None)
    memory = {name: item for each in built for name, item in each.memory.items()}
    sources = {name: item for name, item in memory.items() if isinstance(item, Source)}
    known = {**lowered.definitions, **sources}
    return replace(lowered, findings=tuple(found), data=None, definitions=known).with_rules(added, memory)


def texts_of(built: tuple[BuiltRule, ...]) -> dict[str, str]:
    """Return the sources of built rules by file name."""
    files = dict.fromkeys(item.file for item in built if item.file)
    return {file: text for file in files if (text := "".join(linecache.getlines(file)))}


def _span(item: BuiltRule) -> Span | None:
    return Span(item.file, *item.position) if item.file else None
