"""Rules that never fire because an earlier one always does.

What it does: finds a rule for which an earlier rule, one that is not a transform, matches every call that it matches:
    the same match (W0108), or fewer and weaker conditions (W0101).
Why: such a rule decides nothing; if it denies, it protects nothing.
Example: `match: {}` with `decision: allow` before any other rule.
Use instead: a higher priority for the narrower rule, or its place before the wider one.
Fix: by hand; which of the two was meant is not ours to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bobcat.analysis.implication import Condition, covers, is_lenient
from bobcat.analysis.subject import RuleFacts, Subject
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.ir.schema import AnyOf, Leaf

MAX_COMPARISONS = 2_000_000
"""Pairs of rules compared in one policy: each rule of 1,000 with every other, each of 100,000 with 20 under a key."""
LEAST_CANDIDATES = 20
"""Earlier rules that share a key with a rule and are compared with it, however many rules there are."""

_Key = bytes | tuple[str, tuple[str, ...]]
_Keys = tuple[_Key, ...]
_EVERYTHING: _Key = b""
_Filed = dict[_Key, list[RuleFacts]]


def check(subject: Subject) -> Iterator[Diagnostic]:
    """The rules that an earlier rule leaves nothing to match."""
    keys = {facts.index: [_filed_keys(item) for item in facts.conditions] for facts in subject.rules}
    rarity = Counter(key for filed_keys in keys.values() for found in filed_keys for key in found)
    most = max(LEAST_CANDIDATES, MAX_COMPARISONS // (len(subject.rules) or 1))
    # INVARIANT: a rule is filed under every key of its rarest conjunct; what implies that conjunct holds one of them.
    filed: _Filed = {}
    for facts in subject.rules:
        if facts.never:
            continue
        candidates, capped = _candidates(facts, keys[facts.index], filed, most)
        if capped:
            subject.capped["shadowed-rule"] += 1
        shadow = next((earlier for earlier in candidates if _implies(facts, earlier)), None)
        if shadow is not None:
            yield _finding(subject, facts, shadow)
        elif facts.rule.verdict != "transform":  # a transform that cannot be done is skipped
            rarest = min(keys[facts.index], key=lambda found: sum(rarity[key] for key in found))
            for key in rarest:
                filed.setdefault(key, []).append(facts)


def _finding(subject: Subject, shadowed: RuleFacts, shadow: RuleFacts) -> Diagnostic:
    code = "W0108" if encode(shadow.rule.match) == encode(shadowed.rule.match) else "W0101"
    place = subject.rule_span(shadowed)
    return diagnose(code, place, related=subject.here(shadow), id=shadowed.rule.id, other=shadow.rule.id)


def _implies(strong: RuleFacts, weak: RuleFacts) -> bool:
    return covers(strong.conditions, weak.conditions, lenient=is_lenient(strong.rule, weak.rule))


def _candidates(facts: RuleFacts, keys: list[_Keys], filed: _Filed, most: int) -> tuple[list[RuleFacts], bool]:
    """The earlier rules filed under what a rule says, and whether some were left out."""
    held: dict[_Key, None] = {_EVERYTHING: None}
    for item, found in zip(facts.conditions, keys, strict=True):
        held.update(dict.fromkeys((*found, *_path_key(item))))
    buckets = [filed[key] for key in held if key in filed]
    candidates = [earlier for bucket in buckets for earlier in bucket[:most]][:most]
    return candidates, sum(map(len, buckets)) > len(candidates)


def _filed_keys(wanted: Condition) -> _Keys:
    """What a conjunct is filed under, such that what implies it holds one of them."""
    if wanted.expr == construct.TRUE:
        return (_EVERYTHING,)
    match wanted.expr:
        case Leaf(op="gt" | "ge" | "lt" | "le" | "between" | "exists" | "starts_with" | "ends_with"):
            return wanted.key, *_path_key(wanted)
        case Leaf(op="in", operand=list()) as leaf:
            return wanted.key, *(encode(Leaf(leaf.head, leaf.path, "eq", value)) for value in leaf.operand)
        case AnyOf(items):
            return wanted.key, *(encode(item) for item in items)
        case _:
            return (wanted.key,)


def _path_key(have: Condition) -> _Keys:
    return (have.path,) if have.path is not None else ()
