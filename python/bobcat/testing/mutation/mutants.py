"""The mutants of a policy: one small change each, in the order of the rules.

A rule that stays a Python callable has no code in the policy: it is dropped as a whole and not changed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from bobcat._core import CoreError
from bobcat.bundle import Policy
from bobcat.diagnostics.model import Span
from bobcat.errors import BundleError
from bobcat.ir import memory as ir_memory
from bobcat.ir.canonical import EncodingError, encode
from bobcat.ir.construct import evaluation_key
from bobcat.ir.pretty import const_text
from bobcat.ir.schema import (
    AnyRule,
    Defaults,
    Definition,
    FunctionRule,
    HostRule,
    IrPolicy,
    IrRule,
    Layer,
    Layers,
    Source,
    VerdictName,
)
from bobcat.ir.spelling import run_path, source_name
from bobcat.ir.visit import leaves
from bobcat.language.facets import IR_OPERATORS
from bobcat.testing.mutation.expressions import changed_matches
from bobcat.testing.mutation.functions import changed_functions
from bobcat.testing.mutation.memory import changed_definitions

VERDICTS: tuple[VerdictName, ...] = ("allow", "dry_run", "approve_required", "deny")
"""Verdicts that another one is changed to, those that permit more first."""
NEAREST = 50
"""Rules between two rules that are swapped."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a policy.

    `rules` are the changed ones by index, None for a dropped one; `first` and `last` bound the rules that can decide
    differently. `defaults` are those of the policy, or of the layer with the number `layer`. `definition` is the name
    of a changed definition.
    """

    mutation: str
    rule: str | None
    change: str
    span: Span | None
    first: int
    last: int
    rules: Mapping[int, AnyRule | None] = field(default_factory=dict)
    defaults: Defaults | None = None
    definition: tuple[str, Definition] | None = None
    layer: int | None = None

    def ir(self, policy: IrPolicy) -> IrPolicy:
        """Return the changed policy."""
        changed: dict[str, Any] = {}  # Any: fields of a policy
        if self.rules:
            kept = [self.rules.get(index, rule) for index, rule in enumerate(policy.rules)]
            changed["rules"] = tuple(rule for rule in kept if rule is not None)
        if self.defaults is not None and self.layer is None:
            changed["defaults"] = self.defaults
        if not isinstance(policy.layers, UnsetType):
            changed["layers"] = self._layers(policy.layers)
        memory = {} if policy.memory is UNSET else dict(policy.memory)
        if self.definition is not None:
            memory[self.definition[0]] = self.definition[1]
        if memory:
            changed["memory"] = ir_memory.used(changed.get("rules", policy.rules), memory) or UNSET
        return msgspec.structs.replace(policy, **changed)

    def _layers(self, layers: Layers) -> Layers:
        """Return the layers with their remaining rules."""
        items = []
        for number, (layer, rules) in enumerate(ranges(layers)):
            dropped = sum(index in rules and rule is None for index, rule in self.rules.items())
            defaults = self.defaults if number == self.layer and self.defaults is not None else layer.defaults
            items.append(msgspec.structs.replace(layer, rules=layer.rules - dropped, defaults=defaults))
        return msgspec.structs.replace(layers, items=tuple(items))

    def part(self, policy: IrPolicy) -> tuple[IrPolicy, IrPolicy]:
        """Return the rules that can decide differently as a policy, as they are and as they become.

        Of a policy of layers that is all of it: each layer takes part in every decision.
        """
        if not isinstance(policy.layers, UnsetType):
            return policy, self.ir(policy)
        own = policy.rules[self.first : self.last + 1]
        kept = [self.rules.get(index, rule) for index, rule in enumerate(own, self.first)]
        new = tuple(rule for rule in kept if rule is not None)
        defaults = self.defaults or policy.defaults
        return (
            msgspec.structs.replace(policy, rules=own),
            msgspec.structs.replace(policy, rules=new, defaults=defaults),
        )


def ranges(layers: Layers) -> Iterator[tuple[Layer, range]]:
    """Yield each layer with the indexes of its rules."""
    start = 0
    for layer in layers.items:
        yield layer, range(start, start + layer.rules)
        start += layer.rules


def compiled(changed: IrPolicy, policy: Policy) -> Policy | None:
    """Return a changed policy, ready to decide; None if the core rejects it."""
    hosts = {name: function for name, _, function in policy.python_rules}
    try:
        kept = tuple(hosts[rule.name] for rule in changed.rules if isinstance(rule, HostRule))
        return Policy.from_policy(changed, host_rules=kept)
    except (BundleError, CoreError, EncodingError):
        return None


def mutants(policy: Policy, only: str | None = None) -> Iterator[Mutant]:
    """Yield the mutants of a policy; `only` those of one rule. Some may be rejected by the core."""
    seen: set[bytes] = set()
    for index, rule in enumerate(policy.ir.rules):
        if (only is not None and name_of(rule) != only) or (isinstance(rule, IrRule) and rule.mode == "monitor"):
            continue  # a monitored rule takes no part in decisions
        for mutant in _of_rule(policy, index, rule):
            new = mutant.rules[index]
            key = b"" if new is None else encode(new)
            if mutant.mutation != "swap" and (key == encode(rule) or (index.to_bytes(4, "big") + key) in seen):
                continue
            seen.add(index.to_bytes(4, "big") + key)
            yield mutant
    if only is None:
        yield from _of_definitions(policy)
        yield from _of_defaults(policy)


def name_of(rule: AnyRule) -> str:
    """Return the id of a rule."""
    return str(rule.id) if isinstance(rule, IrRule) else rule.name


def _of_rule(policy: Policy, index: int, rule: AnyRule) -> Iterator[Mutant]:
    source = policy.source_map
    place = None if source is None else source.rule_span(index)

    def mutant(mutation: str, change: str, new: AnyRule | None, span: Span | None = place) -> Mutant:
        return Mutant(mutation, name_of(rule), change, span or place, index, index, {index: new})

    yield mutant("drop-rule", "without the rule", None)
    match rule:
        case IrRule():
            yield from (mutant("verdict", change, new) for change, new in _verdicts(rule))
            for mutation, change, clause, match in changed_matches(rule.match, policy.ir.profile):
                span = None if source is None else source.leaf_span(index, clause)
                yield mutant(
                    mutation, _readable(change, rule, policy), msgspec.structs.replace(rule, match=match), span
                )
            yield from (mutant(*found) for found in _effects(rule))
        case FunctionRule():
            names = () if source is None else source.rules[index].names
            for mutation, change, new in changed_functions(rule, tuple(names)):
                yield mutant(mutation, change, new)
        case HostRule():
            pass
    yield from _swapped(policy, index, rule, place)


def _verdicts(rule: IrRule) -> Iterator[tuple[str, IrRule]]:
    for verdict in VERDICTS:
        if verdict == rule.verdict:
            continue
        without: dict[str, Any] = {"transform": None}  # Any: fields of a rule
        if rule.verdict == "approve_required":
            without |= {"approvers": (), "timeout_seconds": None, "approvals_needed": UNSET}
        yield f"{rule.verdict} -> {verdict}", msgspec.structs.replace(rule, verdict=verdict, **without)


def _effects(rule: IrRule) -> Iterator[tuple[str, str, IrRule]]:
    """Yield the changes of the effect of a rule, besides its verdict."""
    for index, name in enumerate(rule.approvers):
        rest = (*rule.approvers[:index], *rule.approvers[index + 1 :])
        yield "approver", f"without the approver {const_text(name)}", msgspec.structs.replace(rule, approvers=rest)
    if rule.transform is None or not isinstance(rule.transform.value, dict):
        return
    entries = rule.transform.value.get("map", {})
    for name in entries if len(entries) > 1 else ():
        value = {"map": {key: item for key, item in entries.items() if key != name}}
        new = msgspec.structs.replace(rule.transform, value=value)
        yield "transform", f"without the field {const_text(name)}", msgspec.structs.replace(rule, transform=new)


def _readable(change: str, rule: IrRule, policy: Policy) -> str:
    """Return a change with the definitions of memory as policies spell them."""
    for leaf in leaves(rule.match):
        if str(leaf.head) == "run":
            change = change.replace(f"run.{leaf.path[0]}", run_path(leaf.path[0], policy.ir.memory))
    for name in () if policy.ir.memory is UNSET else policy.ir.memory:
        change = change.replace(name, source_name(name))
    return change


def _swapped(policy: Policy, index: int, rule: AnyRule, place: Span | None) -> Iterator[Mutant]:
    """Yield the mutant in which a rule and the next one that may overlap with it have each other's place."""
    rules = policy.ir.rules
    layers = policy.ir.layers
    ends = [len(rules)] if isinstance(layers, UnsetType) else [own.stop for _, own in ranges(layers) if index in own]
    for later in range(index + 1, min(index + NEAREST, *ends)):
        other = rules[later]
        if type(other) is not type(rule):
            return
        if _effect(rule) == _effect(other) or not _overlap(rule, other):
            continue
        first = msgspec.structs.replace(other, priority=rule.priority)
        second = msgspec.structs.replace(rule, priority=other.priority)
        if evaluation_key(first) <= evaluation_key(second):
            change = f"after {name_of(other)}"
            yield Mutant("swap", name_of(rule), change, place, index, later, {index: first, later: second})
        return


def _effect(rule: AnyRule) -> object:
    return (rule.verdict, rule.approvers, rule.transform) if isinstance(rule, IrRule) else rule.name


def _overlap(one: AnyRule, two: AnyRule) -> bool:
    """Return false if two rules name different tools."""
    tools = [_tools(rule) for rule in (one, two)]
    return not all(tools) or bool(tools[0] & tools[1])


def _tools(rule: AnyRule) -> set[str]:
    found = leaves(rule.match) if isinstance(rule, IrRule) else ()
    named = [leaf.operand for leaf in found if leaf.head == "tool" and IR_OPERATORS[leaf.op].anchors == "both"]
    return {str(name) for operand in named for name in (operand if isinstance(operand, list) else [operand])}


def _of_definitions(policy: Policy) -> Iterator[Mutant]:
    memory = policy.ir.memory
    last = len(policy.ir.rules) - 1
    for name, definition in () if memory is UNSET else memory.items():
        shown = source_name(name) if isinstance(definition, Source) else run_path(name, memory)
        for mutation, change, new in changed_definitions(definition, policy.ir.profile):
            yield Mutant(mutation, None, f"{shown}: {change}", None, 0, last, definition=(name, new))


def _of_defaults(policy: Policy) -> Iterator[Mutant]:
    layers = policy.ir.layers
    if isinstance(layers, UnsetType):
        yield from _of_own_defaults(policy, policy.ir.defaults, None, "")
        return
    for number, layer in enumerate(layers.items):
        yield from _of_own_defaults(policy, layer.defaults, number, f"{layer.name}: ")


def _of_own_defaults(policy: Policy, defaults: Defaults, layer: int | None, shown: str) -> Iterator[Mutant]:
    last = len(policy.ir.rules) - 1

    def mutant(change: str, new: Defaults) -> Mutant:
        return Mutant("default", None, f"{shown}{change}", None, 0, last, defaults=new, layer=layer)

    for name in ("on_no_match", "on_missing_shadow"):
        old = getattr(defaults, name)
        for verdict in VERDICTS:
            if verdict != old:
                new = msgspec.structs.replace(defaults, **{name: verdict})
                yield mutant(f"{name}: {old} -> {verdict}", new)
    other = "continue" if defaults.on_rule_error == "deny" else "deny"
    new = msgspec.structs.replace(defaults, on_rule_error=other)
    yield mutant(f"on_rule_error: {defaults.on_rule_error} -> {other}", new)
