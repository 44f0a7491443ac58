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

from bobcat.analysis.implication import conjuncts, contradict, implies
from bobcat.bundle.source_map import SourceMap
from bobcat.codes import diagnose
from bobcat.diagnostics import Diagnostic, Related
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.ir.schema import AnyOf, Expr, Leaf, Policy, Rule

MAX_CANDIDATES = 200
"""Earlier rules under one key that are compared with a rule; past it a shadow may go unseen."""

_Key = bytes | tuple[str, tuple[str, ...]]
_Keys = tuple[_Key, ...]
_EVERYTHING: _Key = b""


def check(policy: Policy, source_map: SourceMap) -> Iterator[Diagnostic]:
    """The rules that an earlier rule leaves nothing to match."""
    rules = [(index, rule) for index, rule in enumerate(policy.rules) if isinstance(rule, Rule)]
    keys = {index: [(_filed_keys(item), item) for item in conjuncts(rule.match)] for index, rule in rules}
    rarity = Counter(key for filed_keys in keys.values() for found, _ in filed_keys for key in found)
    # INVARIANT: a rule is filed under every key of its rarest conjunct; what implies that conjunct holds one of them.
    filed: dict[_Key, list[tuple[int, Rule]]] = {}
    for index, rule in rules:
        if contradict(conjuncts(rule.match)):
            continue
        shadow = _shadow(rule, keys[index], filed)
        if shadow is not None:
            yield _finding(source_map, (index, rule), shadow)
        elif rule.verdict != "transform":  # a transform that cannot be done is skipped
            rarest = min((found for found, _ in keys[index]), key=lambda found: sum(rarity[key] for key in found))
            for key in rarest:
                filed.setdefault(key, []).append((index, rule))


def _finding(source_map: SourceMap, shadowed: tuple[int, Rule], shadow: tuple[int, Rule]) -> Diagnostic:
    index, rule = shadowed
    other_index, other = shadow
    place = source_map.rule_span(other_index)
    related = [Related(place, f"`{other.id}` is here")] if place is not None else []
    code = "W0108" if encode(other.match) == encode(rule.match) else "W0101"
    return diagnose(code, source_map.rule_span(index), related=related, id=rule.id, other=other.id)


def _shadow(
    rule: Rule, keys: list[tuple[_Keys, Expr]], filed: dict[_Key, list[tuple[int, Rule]]]
) -> tuple[int, Rule] | None:
    held = {key: None for found, item in keys for key in (*found, *_path_key(item))}
    for key in (_EVERYTHING, *held):
        for index, earlier in filed.get(key, ())[:MAX_CANDIDATES]:
            if implies(rule, earlier):
                return index, earlier
    return None


def _filed_keys(wanted: Expr) -> _Keys:
    """What a conjunct is filed under, such that what implies it holds one of them."""
    if wanted == construct.TRUE:
        return (_EVERYTHING,)
    match wanted:
        case Leaf(op="gt" | "ge" | "lt" | "le" | "between" | "exists" | "starts_with" | "ends_with"):
            return encode(wanted), *_path_key(wanted)
        case Leaf(op="in", operand=list()):
            return encode(wanted), *(encode(Leaf(wanted.head, wanted.path, "eq", value)) for value in wanted.operand)
        case AnyOf(items):
            return encode(wanted), *(encode(item) for item in items)
        case _:
            return (encode(wanted),)


def _path_key(have: Expr) -> _Keys:
    return ((have.head, have.path),) if isinstance(have, Leaf) else ()
