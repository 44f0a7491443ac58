"""Rules that never fire because an earlier one always does.

What it does: finds a rule for which an earlier rule (not a transform) matches every call that it matches:
    the same match (W0108), or fewer and weaker conditions (W0101).
Why: such a rule decides nothing; if it denies, it protects nothing.
Example: `match: {}` with `decision: allow` before any other rule.
Use instead: a higher priority for the narrower rule, or place it before the wider one.
Fix: by hand; only the author knows which of the two was intended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.ir.schema import AnyExpr, Leaf, Operator
from bobcat.lint.implication import PathCondition, covers, is_lenient, texts
from bobcat.lint.subject import LintContext, RuleFacts

CODES = ("W0101", "W0108")
MAX_COMPARISONS = 2_000_000
"""Maximum pairs of rules compared in one policy: each rule of 1,000 with every other, each of 100,000 with 20 under a
key.
"""
LEAST_CANDIDATES = 20
"""Earlier rules that share a key with a rule and are compared with it, regardless of the number of rules."""

_Key = bytes | tuple[str, tuple[str, ...]]
_Keys = tuple[_Key, ...]
_AFFIXES: tuple[Operator, ...] = ("starts_with", "ends_with")
_EVERYTHING: _Key = b""


class _Filed:
    """Index of the rules by key; rules under a path are also indexed by their test of it.

    Of the leaves about one path, only those that can imply a test are found: for `starts_with: /srv/`,
    the prefixes of `/srv/`, not every other prefix.
    """

    def __init__(self) -> None:
        self._rules: dict[_Key | tuple[object, ...], list[RuleFacts]] = {}
        self._lengths: dict[tuple[object, ...], set[int]] = {}

    def add(self, facts: RuleFacts, wanted: PathCondition, keys: _Keys) -> None:
        """Index a rule under the keys of one of its conjuncts."""
        for key in keys:
            for part in (key,) if isinstance(key, bytes) else self._index_keys(wanted):
                self._rules.setdefault(part, []).append(facts)

    def _index_keys(self, wanted: PathCondition) -> Iterator[tuple[object, ...]]:
        leaf = wanted.expr
        if not isinstance(leaf, Leaf):
            return
        if leaf.op == "exists" and leaf.operand is True:
            yield wanted.path, "exists"
        elif leaf.op in _AFFIXES:
            for end in texts(leaf):
                self._lengths.setdefault((wanted.path, leaf.op), set()).add(len(end))
                yield wanted.path, leaf.op, end
        elif wanted.interval is not None:
            yield wanted.path, wanted.interval[0]

    def _implied(self, have: PathCondition) -> Iterator[tuple[object, ...]]:
        leaf = have.expr
        if not isinstance(leaf, Leaf):
            return
        yield have.path, "exists"
        if have.interval is not None:
            yield have.path, have.interval[0]
        for op in _AFFIXES:
            if leaf.op not in ("eq", "in", op):
                continue
            text = next(iter(texts(leaf)), "")  # a leaf that implies a prefix does so for each of its texts
            for length in self._lengths.get((have.path, op), ()):
                if length <= len(text):
                    yield have.path, op, text[:length] if op == "starts_with" else text[len(text) - length :]

    def candidates(self, facts: RuleFacts, keys: list[_Keys], most: int) -> tuple[list[RuleFacts], bool]:
        """Return the rules indexed under a rule's conditions, at most `most`, and true if some were omitted."""
        held: dict[_Key, list[_Key | tuple[object, ...]]] = {_EVERYTHING: [_EVERYTHING]}
        for item, own in zip(facts.conditions, keys, strict=True):
            held.update((key, [key]) for key in own if isinstance(key, bytes))
            if item.path is not None:
                held.setdefault(item.path, []).extend(self._implied(item))
        found: list[RuleFacts] = []
        capped = False
        for parts in held.values():
            buckets = [self._rules[part] for part in parts if part in self._rules]
            capped = capped or any(len(bucket) > most for bucket in buckets)
            rules = {rule.index: rule for bucket in buckets for rule in bucket[:most]}
            found.extend(rules[index] for index in sorted(rules))
        return found[:most], capped or len(found) > most


def check(subject: LintContext) -> Findings:
    """Find the rules for which an earlier rule leaves no calls."""
    keys = {facts.index: [_filed_keys(item) for item in facts.conditions] for facts in subject.rules}
    rarity = Counter(key for filed_keys in keys.values() for found in filed_keys for key in found)
    most = max(LEAST_CANDIDATES, MAX_COMPARISONS // (len(subject.rules) or 1))
    # INVARIANT: a rule is indexed under every key of its rarest conjunct; a leaf that implies the conjunct has one of
    # them.
    filed = _Filed()
    for facts in subject.rules:
        if facts.never:
            continue
        candidates, capped = filed.candidates(facts, keys[facts.index], most)
        if capped:
            subject.capped["shadowed-rule"] += 1
        shadow = next((earlier for earlier in candidates if _shadows(earlier, facts)), None)
        if shadow is not None:
            code = "W0108" if encode(shadow.rule.match) == encode(facts.rule.match) else "W0101"
            yield subject.at_rule(code, facts, beside=shadow)
        elif facts.rule.verdict != "transform":  # a transform that fails is skipped
            found = keys[facts.index]
            rarest = min(range(len(found)), key=lambda number: sum(rarity[key] for key in found[number]))
            filed.add(facts, facts.conditions[rarest], found[rarest])


def _shadows(weak: RuleFacts, strong: RuleFacts) -> bool:
    return covers(strong.conditions, weak.conditions, lenient=is_lenient(strong.rule, weak.rule))


def _filed_keys(wanted: PathCondition) -> _Keys:
    """Return the index keys of a conjunct; every leaf that implies it has one of them."""
    if wanted.expr == construct.TRUE:
        return (_EVERYTHING,)
    match wanted.expr:
        case Leaf(op="gt" | "ge" | "lt" | "le" | "between" | "exists" | "starts_with" | "ends_with"):
            return (wanted.key,) if wanted.path is None else (wanted.key, wanted.path)
        case Leaf(op="in", operand=list()) as leaf:
            return wanted.key, *(encode(Leaf(leaf.head, leaf.path, "eq", value)) for value in leaf.operand)
        case AnyExpr(items):
            return wanted.key, *(encode(item) for item in items)
        case _:
            return (wanted.key,)
