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
from itertools import chain

from bobcat.diagnostics.model import Findings
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.ir.schema import AnyExpr, Expr, Leaf, Operator
from bobcat.lint.implication import Path, PathCondition, covers, texts
from bobcat.lint.subject import LintContext, RuleFacts

CODES = ("W0101", "W0108")
MAX_COMPARISONS = 2_000_000
"""Maximum pairs of rules compared in one policy: each rule of 1,000 with every other, each of 100,000 with 20 under a
key.
"""
LEAST_CANDIDATES = 20
"""Earlier rules that share a key with a rule and are compared with it, regardless of the number of rules."""

_Key = bytes | tuple[Path, str] | Path
"""Canonical bytes, a path with the text that it equals, or the path of a range."""
_Keys = tuple[_Key, ...]
_RANGES = frozenset(("gt", "ge", "lt", "le", "between", "exists", "starts_with", "ends_with"))
_AFFIXES: tuple[Operator, ...] = ("starts_with", "ends_with")
_EVERYTHING: _Key = b""


class _Filed:
    """Index of the rules by key; rules under a path are also indexed by their test of it.

    Of the leaves about one path, only those that can imply a test are found: for `starts_with: /srv/`,
    the prefixes of `/srv/`, not every other prefix.
    """

    def __init__(self) -> None:
        self._rules: dict[_Key | tuple[object, ...], list[RuleFacts]] = {}
        self._paths: set[_Key] = set()
        self._lengths: dict[tuple[Path, Operator], set[int]] = {}

    def add(self, facts: RuleFacts, wanted: PathCondition, keys: _Keys) -> None:
        """Index a rule under the keys of one of its conjuncts."""
        for key in keys:
            if key is not wanted.path:
                self._rules.setdefault(key, []).append(facts)
                continue
            self._paths.add(key)
            for part in self._index_keys(wanted):
                self._rules.setdefault(part, []).append(facts)

    def _index_keys(self, wanted: PathCondition) -> Iterator[tuple[object, ...]]:
        leaf, path = wanted.expr, wanted.path
        if not isinstance(leaf, Leaf) or path is None:
            return
        if leaf.op == "exists" and leaf.operand is True:
            yield path, "exists"
        elif leaf.op in _AFFIXES:
            for end in texts(leaf):
                self._lengths.setdefault((path, leaf.op), set()).add(len(end))
                yield path, leaf.op, end
        elif wanted.interval is not None:
            yield path, wanted.interval[0]

    def _implied(self, have: PathCondition) -> Iterator[tuple[object, ...]]:
        leaf, path = have.expr, have.path
        if not isinstance(leaf, Leaf) or path is None:
            return
        yield path, "exists"
        if have.interval is not None:
            yield path, have.interval[0]
        for op in _AFFIXES:
            if leaf.op not in ("eq", "in", op):
                continue
            text = next(iter(texts(leaf)), "")  # a leaf that implies a prefix does so for each of its texts
            for length in self._lengths.get((path, op), ()):
                if length <= len(text):
                    yield path, op, text[:length] if op == "starts_with" else text[len(text) - length :]

    def candidates(self, facts: RuleFacts, keys: list[_Keys], most: int) -> tuple[list[RuleFacts], bool]:
        """Return the rules indexed under a rule's conditions, at most `most`, and true if some were omitted."""
        filed = self._rules
        if not filed:
            return [], False
        held: dict[_Key, list[list[RuleFacts]]] = {}
        if _EVERYTHING in filed:
            held[_EVERYTHING] = [filed[_EVERYTHING]]
        for item, own in zip(facts.conditions, keys, strict=True):
            for key in own:
                if key in filed and key is not item.path:
                    held[key] = [filed[key]]
            if item.path in self._paths:  # PERF: most paths are those of equalities
                implied = [filed[part] for part in self._implied(item) if part in filed]
                held.setdefault(item.path, []).extend(implied)
        found: list[RuleFacts] = []
        capped = False
        for buckets in held.values():
            if len(buckets) == 1:  # PERF: most keys
                found.extend(buckets[0][:most])
                capped = capped or len(buckets[0]) > most
                continue
            capped = capped or any(len(bucket) > most for bucket in buckets)
            rules = {rule.index: rule for bucket in buckets for rule in bucket[:most]}
            found.extend(rules[index] for index in sorted(rules))
        return found[:most], capped or len(found) > most


def check(subject: LintContext) -> Findings:
    """Find the rules for which an earlier rule leaves no calls."""
    keys = [_keys_of(facts) for facts in subject.rules]
    rarity = Counter(chain.from_iterable(chain.from_iterable(keys)))
    most = max(LEAST_CANDIDATES, MAX_COMPARISONS // (len(subject.rules) or 1))
    # INVARIANT: a rule is indexed under every key of its rarest conjunct; a leaf that implies the conjunct has one of
    # them.
    filed = _Filed()
    for facts, own in zip(subject.rules, keys, strict=True):
        if facts.never:
            continue
        candidates, capped = filed.candidates(facts, own, most)
        if capped:
            subject.capped["shadowed-rule"] += 1
        shadow = next((earlier for earlier in candidates if _shadows(earlier, facts)), None)
        if shadow is not None:
            yield subject.at_rule("W0108" if _same(shadow, facts) else "W0101", facts, beside=shadow)
        elif facts.rule.verdict != "transform":  # a transform that fails is skipped
            counts = [rarity[each[0]] if len(each) == 1 else sum([rarity[key] for key in each]) for each in own]
            least = min(counts)
            rarest = counts.index(least)
            if least > 1 or _EVERYTHING in own[rarest]:  # otherwise no other rule has the key
                filed.add(facts, facts.conditions[rarest], own[rarest])


def _shadows(weak: RuleFacts, strong: RuleFacts) -> bool:
    return covers(strong.conditions, weak.conditions, lenient=weak.permits and not strong.permits)


def _same(earlier: RuleFacts, facts: RuleFacts) -> bool:
    one, other = earlier.rule.match, facts.rule.match
    return one == other and encode(one) == encode(other)  # PERF: equal bytes are equal nodes, not the reverse


def _keys_of(facts: RuleFacts) -> list[_Keys]:
    """Return the index keys of each conjunct of a rule."""
    texts = facts.conjunction.texts
    if texts is not None:  # PERF: most rules
        return [(key,) for key in texts]
    return [_filed_keys(item) for item in facts.conditions]


def _filed_keys(wanted: PathCondition) -> _Keys:
    """Return the index keys of a conjunct; every leaf that implies it has one of them."""
    expr, path = wanted.expr, wanted.path
    match expr:
        case Leaf(op="eq", operand=str(text)) if path is not None:
            return ((path, text),)
        case Leaf(op="in", operand=list()):
            return wanted.key, *(_key(Leaf(expr.head, expr.path, "eq", value)) for value in expr.operand)
        case Leaf():
            return (wanted.key, path) if expr.op in _RANGES and path is not None else (wanted.key,)
        case AnyExpr(items):
            return wanted.key, *map(_key, items)
        case _:
            return (_EVERYTHING,) if expr == construct.TRUE else (wanted.key,)


def _key(expr: Expr) -> _Key:
    # PERF: most leaves compare with a text; encoding them takes a fifth of the time of all lints.
    if isinstance(expr, Leaf) and expr.op == "eq" and isinstance(expr.operand, str):
        return (expr.head, *expr.path), expr.operand
    return encode(expr)
