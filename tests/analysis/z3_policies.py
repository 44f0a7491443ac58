"""Policies over texts, numbers and bools, and their meaning as formulas of z3: an oracle beside the engine.

A value has a kind and a content of that kind. A comparison has four outcomes, as `docs/reference/semantics.md` defines
them; a policy is a nest of conditions with the verdict of its first rule.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any, TypeAlias

import z3

TOOL = "t"
PATHS = ("a", "b")
VERDICTS = ("allow", "deny", "approve_required", "dry_run")
PERMITS = frozenset(("allow",))
ABSENT, NULL, BOOL, NUMBER, TEXT, LIST, MAPPING = range(7)
_TEXTS = ("", "a", "b", "ab", "ba", "abc", "prod")
_NUMBERS = (0, 1, 2, 10, 1.5)

Z3: TypeAlias = Any  # Any: z3 has no types
Truth: TypeAlias = tuple[Z3, Z3, Z3, Z3]
"""True, false, absent, error: exactly one of them holds."""


@dataclass(frozen=True)
class Test:
    """One comparison of the argument at `path`; `regex` has the z3 form of a pattern."""

    path: str
    op: str
    operand: Any  # Any: JSON
    regex: Z3 = None


@dataclass(frozen=True)
class Connective:
    """`all_of`, `any_of`, or `not` with one item."""

    kind: str
    items: tuple[Expression, ...]


Expression: TypeAlias = Test | Connective


@dataclass(frozen=True)
class Rule:
    """A verdict for the calls of `TOOL` that match."""

    match: Expression
    verdict: str


@dataclass(frozen=True)
class Rules:
    """A policy: rules in order, and its two defaults."""

    rules: tuple[Rule, ...]
    on_no_match: str
    on_missing_shadow: str

    def text(self) -> str:
        """The policy as YAML, which JSON is."""
        rules = [
            {"id": f"r{index}", "match": {"all_of": [{"tool": TOOL}, _written(rule.match)]}, "decision": rule.verdict}
            for index, rule in enumerate(self.rules)
        ]
        defaults = {"on_no_match": self.on_no_match, "on_missing_shadow": self.on_missing_shadow}
        return json.dumps({"defaults": defaults, "rules": rules})


def _written(expression: Expression) -> dict[str, Any]:
    if isinstance(expression, Test):
        return {f"args.{expression.path}.{expression.op}": expression.operand}
    items = [_written(item) for item in expression.items]
    return {"not": items[0]} if expression.kind == "not" else {expression.kind: items}


class Calls:
    """The variables of one call of `TOOL`, and the verdicts of policies on it."""

    def __init__(self) -> None:
        self.kinds = {path: z3.Int(f"kind_{path}") for path in PATHS}
        self.bools = {path: z3.Bool(f"bool_{path}") for path in PATHS}
        self.numbers = {path: z3.Real(f"number_{path}") for path in PATHS}
        self.texts = {path: z3.String(f"text_{path}") for path in PATHS}
        self.no_shadow = z3.Bool("irreversible_without_shadow")

    def valid(self) -> list[Z3]:
        """The kinds are those that exist."""
        return [z3.And(kind >= ABSENT, kind <= MAPPING) for kind in self.kinds.values()]

    def verdict(self, policy: Rules) -> Z3:
        """The index of the verdict of a policy."""
        found = z3.If(self.no_shadow, VERDICTS.index(policy.on_missing_shadow), VERDICTS.index(policy.on_no_match))
        for rule in reversed(policy.rules):
            permits = rule.verdict in PERMITS
            true, _, _, error = self._truth(rule.match, permits)
            if not permits:
                found = z3.If(error, VERDICTS.index("deny"), found)
            found = z3.If(true, VERDICTS.index(rule.verdict), found)
        return found

    def _truth(self, expression: Expression, permits: bool) -> Truth:
        if isinstance(expression, Test):
            true, false, absent, error = self._test(expression)
            return (true, false, absent, error) if permits else (true, z3.Or(false, absent), z3.BoolVal(False), error)
        items = [self._truth(item, permits) for item in expression.items]
        if expression.kind == "not":
            ((true, false, absent, error),) = items
            return false, true, absent, error
        trues, falses, absents, errors = zip(*items, strict=True)
        decisive = z3.Or(*(falses if expression.kind == "all_of" else trues))
        error = z3.And(z3.Not(decisive), z3.Or(*errors))
        absent = z3.And(z3.Not(decisive), z3.Not(error), z3.Or(*absents))
        neutral = z3.And(z3.Not(decisive), z3.Not(error), z3.Not(absent))
        return (neutral, decisive, absent, error) if expression.kind == "all_of" else (decisive, neutral, absent, error)

    def _test(self, test: Test) -> Truth:
        kind = self.kinds[test.path]
        missing = kind == ABSENT
        if test.op == "exists":
            there = z3.Not(missing) if test.operand else missing
            return there, z3.Not(there), z3.BoolVal(False), z3.BoolVal(False)
        true, error = self._holds(test, kind)
        return true, z3.And(z3.Not(missing), z3.Not(true), z3.Not(error)), missing, error

    def _holds(self, test: Test, kind: Z3) -> tuple[Z3, Z3]:
        """Whether a test is true, and whether it is an error."""
        text, number, flag = self.texts[test.path], self.numbers[test.path], self.bools[test.path]
        nested = z3.Or(kind == LIST, kind == MAPPING)
        match test.op:
            case "eq" if isinstance(test.operand, bool):
                is_bool = z3.And(kind == BOOL, flag == test.operand)
                return is_bool, z3.Or(nested, kind == NUMBER, kind == TEXT)
            case "eq":
                return self._equal(test.path, test.operand), nested
            case "in":
                return z3.Or(*(self._equal(test.path, each) for each in test.operand)), nested
            case "gt" | "ge" | "lt" | "le":
                least = z3.RealVal(str(test.operand))
                compared = {"gt": number > least, "ge": number >= least, "lt": number < least, "le": number <= least}
                return z3.And(kind == NUMBER, compared[test.op]), z3.And(kind != NUMBER, kind != ABSENT)
            case "starts_with":
                found = z3.PrefixOf(z3.StringVal(test.operand), text)
            case "ends_with":
                found = z3.SuffixOf(z3.StringVal(test.operand), text)
            case "matches":
                found = z3.InRe(text, test.regex)
            case _:
                raise AssertionError(test.op)
        return z3.And(kind == TEXT, found), z3.And(kind != TEXT, kind != ABSENT)

    def _equal(self, path: str, operand: object) -> Z3:
        if operand is None:
            return self.kinds[path] == NULL
        if isinstance(operand, str):
            return z3.And(self.kinds[path] == TEXT, self.texts[path] == z3.StringVal(operand))
        return z3.And(self.kinds[path] == NUMBER, self.numbers[path] == z3.RealVal(str(operand)))


class Undecided(Exception):
    """Z3 found no answer in time."""


def missed_difference(old: Rules, new: Rules, found: set[tuple[str, str]]) -> tuple[str, str] | None:
    """Return a pair of different verdicts that some call gets and `found` lacks, or None if z3 proves it complete.

    Raises `Undecided`.
    """
    calls, solver = Calls(), z3.Solver()
    solver.set("timeout", 20_000)
    before, after = calls.verdict(old), calls.verdict(new)
    solver.add(*calls.valid(), before != after)
    for first, second in found:
        solver.add(z3.Not(z3.And(before == VERDICTS.index(first), after == VERDICTS.index(second))))
    answer = solver.check()
    if answer == z3.unknown:
        raise Undecided
    if answer == z3.unsat:
        return None
    model = solver.model()
    first, second = (model.eval(side, model_completion=True).as_long() for side in (before, after))
    return VERDICTS[first], VERDICTS[second]


def random_policy(rng: random.Random) -> Rules:
    """Return a policy of one to four rules."""
    rules = tuple(Rule(_expression(rng, 2), rng.choice(VERDICTS)) for _ in range(rng.randint(1, 4)))
    return Rules(rules, rng.choice(("deny", "deny", "approve_required")), rng.choice(("deny", "approve_required")))


def changed(rng: random.Random, policy: Rules) -> Rules:
    """Return the policy with one change: a rule dropped, added, exchanged, or with another match or verdict."""
    rules = list(policy.rules)
    at = rng.randrange(len(rules))
    match rng.randrange(5):
        case 0:
            rules.pop(at)
        case 1:
            rules.insert(at, Rule(_expression(rng, 1), rng.choice(VERDICTS)))
        case 2:
            rules[at] = Rule(rules[at].match, rng.choice(VERDICTS))
        case 3:
            rules[at] = Rule(_expression(rng, 2), rules[at].verdict)
        case _:
            rng.shuffle(rules)
    return Rules(tuple(rules), policy.on_no_match, policy.on_missing_shadow)


def _expression(rng: random.Random, depth: int) -> Expression:
    if depth == 0 or rng.random() < 0.4:
        return _test(rng)
    kind = rng.choice(("all_of", "any_of", "not"))
    count = 1 if kind == "not" else rng.randint(2, 3)
    return Connective(kind, tuple(_expression(rng, depth - 1) for _ in range(count)))


def _test(rng: random.Random) -> Test:
    path = rng.choice(PATHS)
    op = rng.choice(
        ("eq", "eq", "in", "gt", "ge", "lt", "le", "starts_with", "ends_with", "matches", "matches", "exists")
    )
    match op:
        case "eq":
            return Test(path, op, rng.choice((*_TEXTS, *_NUMBERS, True, False, None)))
        case "in":
            return Test(path, op, rng.sample((*_TEXTS, *_NUMBERS), rng.randint(1, 3)))
        case "gt" | "ge" | "lt" | "le":
            return Test(path, op, rng.choice(_NUMBERS))
        case "exists":
            return Test(path, op, rng.random() < 0.5)
        case "matches":
            return Test(path, op, *_pattern(rng))
        case _:
            return Test(path, op, rng.choice(_TEXTS[1:]))


def _pattern(rng: random.Random) -> tuple[str, Z3]:
    """A pattern, and the texts in which it is found as a regular expression of z3."""
    any_text = z3.Full(z3.ReSort(z3.StringSort()))
    text, inner = _regex(rng, 2)
    starts, ends = rng.random() < 0.6, rng.random() < 0.6
    whole = [*([] if starts else [any_text]), inner, *([] if ends else [any_text])]
    pattern = f"{'^' if starts else ''}(?:{text}){'$' if ends else ''}"
    return pattern, whole[0] if len(whole) == 1 else z3.Concat(*whole)


def _regex(rng: random.Random, depth: int) -> tuple[str, Z3]:
    if depth == 0:
        if rng.random() < 0.3:
            return "[a-c]", z3.Range("a", "c")
        letter = rng.choice("abc")
        return letter, z3.Re(letter)
    first, second = _regex(rng, depth - 1), _regex(rng, depth - 1)
    match rng.randrange(5):
        case 0:
            return f"(?:{first[0]}|{second[0]})", z3.Union(first[1], second[1])
        case 1:
            return f"(?:{first[0]})*", z3.Star(first[1])
        case 2:
            return f"(?:{first[0]})?", z3.Option(first[1])
        case 3:
            return f"(?:{first[0]}){{2}}", z3.Concat(first[1], first[1])
        case _:
            return first[0] + second[0], z3.Concat(first[1], second[1])
