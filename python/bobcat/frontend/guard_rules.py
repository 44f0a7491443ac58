"""Obligations that a policy meets by itself, as rules: `rate_limit` counts, `require_reason` tests a text.

    {id: pay, match: M, decision: allow, obligations: [{rate_limit: {max: 5, within: 1h, by: principal}}]}

is the rule `pay` behind the rule `pay:rate_limit`, which denies what `M` matches beyond the fifth call. A guard that
cannot be evaluated denies. With `on_rule_error: continue`, the rule has the condition of its guard, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from bobcat.bundle.source_map import RuleSource
from bobcat.diagnostics.catalogue import diagnose
from bobcat.frontend.observation import Finding
from bobcat.frontend.result import LoweringResult
from bobcat.frontend.strict.key_syntax import written
from bobcat.ir import construct
from bobcat.ir.canonical import definition_name
from bobcat.ir.memory import reads_memory
from bobcat.ir.schema import AnyRule, Definition, Expr, IrRule, Measure, Obligation
from bobcat.ir.visit import leaves

MAX_DEFINITIONS = 1_000
"""Counts, sums, sequences and sources that the rules of one policy read."""
_BLANK = r"^\s*$"
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
_OWN = ("rate_limit", "require_reason")


def with_guard_rules(lowered: LoweringResult) -> LoweringResult:
    """Put each guard in front of its rule; the findings name what cannot be guarded."""
    policy, source_map = lowered.policy, lowered.source_map
    if policy is None or source_map is None or not any(map(_guarded, policy.rules)):
        return lowered
    memory = {} if isinstance(policy.memory, UnsetType) else dict(policy.memory)
    ids = {rule.id for rule in policy.rules if isinstance(rule, IrRule)}
    pairs: list[tuple[AnyRule, RuleSource]] = []
    found: list[Finding] = []
    strict = policy.defaults.on_rule_error == "continue"
    for index, (rule, place) in enumerate(zip(policy.rules, source_map.rules, strict=True)):
        if not isinstance(rule, IrRule) or isinstance(rule.obligations, UnsetType):
            pairs.append((rule, place))
            continue
        match, kept = rule.match, []
        for each in rule.obligations:
            if each.name not in _OWN:
                kept.append(each)
                continue
            id, span = f"{rule.id}:{each.name}", source_map.rule_span(index)
            if id in ids:
                found.append(diagnose("E0210", span, id=id))
            if each.name == "rate_limit" and not _can_be_counted(rule.match):
                problem = "the match of its rule reads the run or a source, and only other calls are counted"
                found.append(diagnose("E0219", span, name=each.name, problem=problem))
                continue
            met, reason = _met(each, rule.match, memory)
            guard = construct.all_([rule.match, construct.not_(met)]) if each.name == "rate_limit" else met
            if each.name == "require_reason":
                guard, met = construct.all_([rule.match, met]), construct.not_(met)
            monitored = not isinstance(rule.mode, UnsetType)
            shown = [each for each in rule.obligations if each.name in ("redact", "tag")]
            denial = construct.rule(
                id,
                guard,
                "deny",
                priority=rule.priority,
                reason=reason,
                obligations=shown,
                monitored=monitored,
            )
            pairs.append((denial, msgspec.structs.replace(place, leaves=())))
            if strict:
                match = construct.all_([match, met])
        rule = msgspec.structs.replace(rule, match=match, obligations=tuple(kept) or UNSET)
        pairs.append((rule, place))
    if len(memory) > MAX_DEFINITIONS:
        found.append(diagnose("E1010", None, count=len(memory), limit=MAX_DEFINITIONS))
    if found:
        return replace(lowered, policy=None, source_map=None, findings=(*lowered.findings, *found), data=None)
    return replace(
        lowered,
        policy=msgspec.structs.replace(
            policy, rules=tuple(rule for rule, _ in pairs), memory=dict(sorted(memory.items())) or UNSET
        ),
        source_map=msgspec.structs.replace(source_map, rules=tuple(place for _, place in pairs)),
    )


def _guarded(rule: AnyRule) -> bool:
    if not isinstance(rule, IrRule) or isinstance(rule.obligations, UnsetType):
        return False
    return any(each.name in _OWN for each in rule.obligations)


def _can_be_counted(match: Expr) -> bool:
    return not reads_memory(match) and all((leaf.head, leaf.path) != ("context", ("task",)) for leaf in leaves(match))


def _met(each: Obligation, match: Expr, memory: dict[str, Definition]) -> tuple[Expr, str]:
    """Return the test of a guard and its reason: of a limit, that the call is within it; else, that the reason is
    missing.
    """
    if each.name == "rate_limit":
        limit: Mapping[str, Any] = each.value["map"]  # Any: as the front end wrote it
        within, by = limit["within"], limit["by"]
        measure = Measure(match, UNSET, within if within is not None else UNSET, by or UNSET, True)
        name = definition_name(measure)
        memory[name] = measure
        scope = "of this run" if by is None else f"of the same {by}"
        period = "" if within is None else f" within {_duration(within)}"
        text = f"rate limit: at most {limit['max']} calls {scope}{period}"
        return construct.leaf("run", (name,), "le", limit["max"]), text
    head, *path = each.value
    at = head, tuple(path)
    missing = construct.any_([
        construct.leaf(*at, "exists", False),
        construct.leaf(*at, "matches", _BLANK, "re2"),
    ])  # fmt: skip
    return missing, f"a reason is required in `{written(head, path)}`"


def _duration(micros: int) -> str:
    seconds = micros / 1_000_000
    for size, unit in _UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{int(seconds // size)}{unit}"
    return f"{seconds:g}s"
