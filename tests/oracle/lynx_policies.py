"""Random policies and requests for the comparison with lynx-agent: valid, hostile, and rejected ones.

Everything is drawn from one `random.Random`, so a seed names a policy. Values are plain Python data; `as_text` writes
some of them as YAML.
"""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict, UserDict, defaultdict, deque
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml


class Text(str):
    """A string of another type."""

    __slots__ = ()


class Level(IntEnum):
    HIGH = 5


class Color(StrEnum):
    RED = "abc"


class Point(NamedTuple):
    x: int
    y: str


class Refuses:
    """Raises at every comparison and membership test."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __lt__(self, other: object) -> bool:
        raise LookupError

    def __contains__(self, other: object) -> bool:
        raise ArithmeticError


class Undecided:
    """Compares to something that has no truth value."""

    def __eq__(self, other: object) -> Any:
        return NotImplemented if other is None else Undecided()

    def __hash__(self) -> int:
        return 5

    def __gt__(self, other: object) -> Any:
        return Undecided()

    def __bool__(self) -> bool:
        raise RuntimeError


OPERATORS = [
    "eq", "matches", "in", "contains", "contains_any", "contains_all", "gt", "ge", "lt", "le", "between", "not_between",
]  # fmt: skip
NAMES = ["x", "y", "cmd", "n", "deep"]
STRINGS = ["a", "b", "abc", "rm -rf /", "5", "10", "", "prod", "A", "é", "a\n", "ls foo\n", "٣", "\U0001f600", "p1"]
NUMBERS: list[Any] = [0, 1, -1, 5, 10, 500, 2**53, 2**53 + 1, 2**70, -(2**65), 0.5, 1.0, 5.0, -0.0, 1e300]
PATTERNS = [
    "a", "^a$", "rm", r"\d+", r"^\w+$", "(?i)PROD", "^ls( [a-z]+)*$", r"\brm\b", "a|b", "^$", "", r"[^a-z]", r"^.$",
    r"\s", r"(?=a)abc", r"(a)\1", r"(?<!x)a", r"a{2,3}", r"[а-я]", r"\Aab", r"c\Z", r"(?P<q>a)b", r"(?s)a.c",
    r"(?x) a  b",
    r"é",
]  # fmt: skip
BAD_PATTERNS: list[Any] = ["(", "a" * 1001, "(a+)+", "(a|a)*", r"(\w*)+", "[", 5, None, ["a"], True, "*"]
REAL_HEADS = ["args.x", "args.y", "args.cmd", "args.n", "args.deep.k", "args.deep.k.z", "args", "args.missing"]
OTHER_PATHS = [
    "tool", "declared.cost", "declared.reversible", "declared.scope", "declared.blast_radius_hint",
    "declared.isolation", "declared.has_shadow", "context.environment", "context.step_seq",
    "context.principal.kind", "context.principal.id",
    "context.extra.k", "context.extra", "context.timestamp", "context.workspace", "tool.name", "declared.nothing",
    "declared.effect",
    "context.nothing", "context.principal.nothing", "declared.scope.x", "args.", "args..x",
    "declared", "context", "context.principal",
]  # fmt: skip
UNKNOWN_HEADS = ["arg.x", "Args.x", "anyof", "environment", "ctx.environment", "x", "tools", "declare.cost"]
ODD_KEYS: list[Any] = ["args.cmd.matchs", "args.x.betwen", "args.age", "args.min", 5, None, True, ("a",), "args.n.gte"]


def pick(rng: Random, *weighted: tuple[int, Any]) -> Any:
    return rng.choices([item for _, item in weighted], [weight for weight, _ in weighted])[0]


def scalar(rng: Random) -> Any:
    return rng.choice([rng.choice(STRINGS), rng.choice(NUMBERS), True, False, None, rng.choice(STRINGS)])


def value(rng: Random, depth: int = 2) -> Any:
    """A value as YAML can construct it."""
    kind = rng.random()
    if depth and kind < 0.15:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if depth and kind < 0.25:
        return {rng.choice(NAMES): value(rng, depth - 1) for _ in range(rng.randrange(3))}
    if kind < 0.29:
        return rng.choice(
            [
                date(2026, 1, 31),
                datetime(2026, 1, 31, 12),
                datetime(2026, 1, 31, 12, tzinfo=UTC),
                b"abc",
                {1, 2},
                {"a"},
                (1, "a"),
                math.nan,
                math.inf,
                -math.inf,
                {1: "a", 2: "b"},
            ]
        )
    return scalar(rng)


def argument(rng: Random, depth: int = 3) -> Any:
    """A value as a tool call may bring it."""
    kind = rng.random()
    if depth and kind < 0.15:
        return [argument(rng, depth - 1) for _ in range(rng.randrange(4))]
    if depth and kind < 0.3:
        keys = rng.sample(["k", "z", "a", "x", 1, "p1"], rng.randrange(4))
        return {key: argument(rng, depth - 1) for key in keys}
    if kind < 0.38:
        return rng.choice(
            [
                (1, "a"),
                (),
                ([1],),
                {1, 2},
                {"a", "abc"},
                frozenset({1}),
                b"a",
                b"abc",
                Decimal(5),
                Decimal("NaN"),
                date(2026, 1, 31),
                datetime(2026, 1, 31, 12),
                datetime(2026, 1, 31, 13, tzinfo=timezone(timedelta(hours=1))),
                math.nan,
                math.inf,
                -math.inf,
                "\ud800",
                5 + 0j,
                range(3),
                2**5000,
                bytearray(b"a"),
                UserDict({"k": 1, "a": "abc"}),
                MappingProxyType({"k": "a", "z": [1]}),
                OrderedDict(k=5, x="a"),
                defaultdict(lambda: "a"),
                Text("abc"),
                Level.HIGH,
                Color.RED,
                Point(1, "a"),
                Refuses(),
                Undecided(),
                array("i", [1, 5]),
                deque(["a", 5]),
                Fraction(1, 2),
                timedelta(days=1),
                memoryview(b"a"),
                {"k": Refuses(), "a": math.nan},
                [math.nan, Refuses()],
            ]
        )
    return scalar(rng)


def operand(rng: Random, operator: str) -> Any:
    odd = rng.random()
    if odd < 0.08:
        return value(rng)
    match operator:
        case "matches":
            return rng.choice(PATTERNS)
        case "in":
            items = [scalar(rng) for _ in range(rng.randrange(4))]
            if odd < 0.2:
                items.append(value(rng))
            return pick(rng, (9, items), (1, tuple(items)))
        case "contains_any" | "contains_all":
            return [scalar(rng) for _ in range(rng.randrange(4))] if odd < 0.9 else rng.choice(STRINGS)
        case "contains":
            return scalar(rng)
        case "gt" | "ge" | "lt" | "le":
            return rng.choice(NUMBERS + NUMBERS + STRINGS)
        case "between" | "not_between":
            pool = rng.choice([NUMBERS, NUMBERS, STRINGS])
            pair = [rng.choice(pool), rng.choice(pool)]
            return sorted(pair) if odd < 0.97 else pair
    return value(rng)


def leaf(rng: Random) -> tuple[Any, Any]:
    path = pick(rng, (12, rng.choice(REAL_HEADS)), (8, rng.choice(OTHER_PATHS)), (1, rng.choice(UNKNOWN_HEADS)))
    if rng.random() < 0.004:
        return rng.choice(ODD_KEYS), value(rng)
    operator = rng.choice(["", *OPERATORS])
    if not operator:
        return path, value(rng)
    return f"{path}.{operator}", operand(rng, operator)


def match(rng: Random, names: list[str], depth: int = 3) -> Any:
    if names and rng.random() < 0.12:
        return rng.choice(names)
    spec: dict[Any, Any] = {}
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3])):
        kind = rng.random()
        if depth and kind < 0.12:
            spec["all_of"] = [match(rng, names, depth - 1) for _ in range(rng.randrange(4))]
        elif depth and kind < 0.24:
            spec["any_of"] = [match(rng, names, depth - 1) for _ in range(rng.randrange(4))]
        elif depth and kind < 0.36:
            spec["not"] = match(rng, names, depth - 1)
        else:
            key, item = leaf(rng)
            spec[key] = item
    return spec


def rule(rng: Random, names: list[str]) -> dict[Any, Any]:
    verdict = rng.choice(["allow", "deny", "dry_run", "approve_required", "transform"])
    spec: dict[Any, Any] = {"match": match(rng, names)}
    if rng.random() < 0.8:
        spec["id"] = pick(rng, (12, f"r{rng.randrange(20)}"), (1, 7), (1, ""), (1, None), (1, ["a"]))
    spec[pick(rng, (9, "decision"), (1, "verdict"))] = pick(rng, (6, verdict), (1, verdict.upper()))
    if rng.random() < 0.4:
        spec["priority"] = pick(rng, (9, rng.randrange(-2, 4)), (1, "2"), (1, 1.9), (1, True))
    if rng.random() < 0.4:
        spec["reason"] = pick(rng, (9, rng.choice(STRINGS)), (1, value(rng)))
    if rng.random() < 0.2:
        spec["approvers"] = pick(rng, (9, ["alice", "bob"]), (1, "bob"), (1, {"a": 1}), (1, [1, None]), (1, []))
    if rng.random() < 0.2:
        spec["timeout_seconds"] = pick(rng, (5, 30), (1, 0.5), (1, "30"), (1, -1), (1, None), (1, value(rng)))
    if verdict == "transform":
        spec["transform"] = transform(rng)
    if rng.random() < 0.1:
        spec[rng.choice(["description", "mtach", "priorty"])] = value(rng)
    return spec


def transform(rng: Random) -> dict[str, Any]:
    spec: dict[str, Any] = {rng.choice(["set", "append", "delete"]): value(rng)}
    path = pick(rng, (8, f"$.args.{rng.choice(NAMES)}"), (1, "$.args"), (1, "$.args.a.b"), (1, "$.argsx"), (1, None))
    if path is not None:
        spec["jsonpath"] = path
    return spec


def policy(rng: Random) -> Any:
    """A policy as plain data; about a third has something that lynx-agent may refuse."""
    names = rng.sample(["p1", "p2", "p3"], rng.randrange(4))
    data: dict[Any, Any] = {}
    if names:
        data["predicates"] = {name: match(rng, names[:index], 2) for index, name in enumerate(names)}
    data["rules"] = [rule(rng, names) for _ in range(rng.randrange(1, 7))]
    if rng.random() < 0.5:
        verdicts = ["allow", "deny", "DENY", "dry_run", "approve_required", "transform"]
        data["defaults"] = {"on_no_match": rng.choice(verdicts), "on_missing_shadow": rng.choice(verdicts)}
    if rng.random() < 0.3:
        data["version"] = pick(rng, (5, 1), (1, "2"), (1, 1.9), (1, True), (1, 99))
    if rng.random() < 0.3:
        damage(rng, data)
    return data


def crowded_policy(rng: Random) -> dict[str, Any]:
    """A policy that an index serves: many rules about few tools and arguments, clauses that may raise among them."""
    size = rng.choice([5, 8, 20, 50])
    paths = rng.choice([["args.x"], ["args.x", "args.cmd"], [*REAL_HEADS, "context.environment", "context.extra.k"]])
    kinds = rng.sample(["", *OPERATORS], rng.choice([1, 2, 5, 13]))
    return {"rules": [_crowded_rule(rng, number, _crowded_match(rng, paths, kinds)) for number in range(size)]}


def _crowded_rule(rng: Random, number: int, match: dict[str, Any]) -> dict[str, Any]:
    spec = {"id": f"r{number}", "priority": rng.randrange(-2, 4), "match": match}
    spec["decision"] = rng.choice(["allow", "deny", "dry_run", "approve_required", "transform"])
    if spec["decision"] == "transform":
        spec["transform"] = {"jsonpath": f"$.args.{rng.choice(NAMES)}", "set": scalar(rng)}
    return spec


def _crowded_match(rng: Random, paths: list[str], kinds: list[str]) -> dict[str, Any]:
    tool = pick(rng, (6, {"tool": "shell"}), (2, {"tool.in": ["shell", "a"]}), (1, {"tool.matches": "^s"}), (2, {}))
    clauses: dict[str, Any] = {}
    for _ in range(rng.choice([1, 1, 2, 3])):
        kind = rng.random()
        if kind < 0.1:
            clauses["any_of"] = [_crowded_leaf(rng, paths, kinds) for _ in range(rng.randrange(1, 4))]
        elif kind < 0.15:
            clauses["all_of"] = [_crowded_leaf(rng, paths, kinds) for _ in range(rng.randrange(1, 4))]
        elif kind < 0.35:
            clauses["not"] = _crowded_leaf(rng, paths, kinds)
        else:
            clauses.update(_crowded_leaf(rng, paths, kinds))
    return {**tool, **clauses} if rng.random() < 0.8 else {**clauses, **tool}


def _crowded_leaf(rng: Random, paths: list[str], kinds: list[str]) -> dict[str, Any]:
    path, operator = rng.choice(paths), rng.choice(kinds)
    if operator == "matches":
        return {f"{path}.matches": rng.choice(PATTERNS)}
    return {f"{path}.{operator}": operand(rng, operator)} if operator else {path: value(rng)}


def crowded_request(rng: Random) -> dict[str, Any]:
    """A request whose arguments are plain values more often."""
    parts = request(rng)
    for name, argument in parts["args"].items():
        if type(parts["args"]) is dict and rng.random() < 0.6:
            one, other = scalar(rng), scalar(rng)
            lists = ([one, other], (one, other), [one, argument], (argument, one), [one, Refuses()], (Refuses(), one))
            parts["args"][name] = rng.choice([one, argument, rng.choice(lists)])
    return {**parts, "tool": pick(rng, (4, "shell"), (1, parts["tool"]))}


def damage(rng: Random, data: dict[Any, Any]) -> None:
    """Breaks one thing; what comes out is often, not always, refused."""
    rules = data["rules"]
    broken = rng.choice(rules) if rules else {}
    odd = rng.choice([None, 5, "abc", "", [], {}, 0, True, 1.5, ["a"], {"a": 1}, math.inf, math.nan, date(2026, 1, 1)])
    kind = rng.randrange(14)
    if kind < 4:
        keys = ["id", "priority", "match", "decision", "verdict", "reason", "approvers", "timeout_seconds", "transform"]
        broken[rng.choice(keys)] = odd
    elif kind < 6:
        data[rng.choice(["version", "defaults", "predicates", "rules"])] = odd
    elif kind == 6:
        data["defaults"] = {rng.choice(["on_no_match", "on_missing_shadow", "other"]): odd}
    elif kind == 7:
        broken["match"] = {rng.choice(["all_of", "any_of", "not"]): odd}
    elif kind == 8:
        broken["match"] = {f"args.x.{rng.choice(OPERATORS)}": odd}
    elif kind == 9:
        broken["match"] = {rng.choice(ODD_KEYS): 1}
    elif kind == 10:
        broken["match"] = {"args.x.matches": rng.choice(BAD_PATTERNS)}
    elif kind == 11:
        broken["transform"] = rng.choice(
            [{}, {"set": 1, "append": 2}, {"jsonpath": "$.x", "set": 1}, {"jsonpath": 5, "set": 1}, {"other": 1}]
        )
    elif kind == 12:
        data["predicates"] = {
            "p1": rng.choice(["p2", {"not": "p2"}, odd]),
            "p2": rng.choice(["p1", "p3", {"args.x": "p1"}]),
        }
        broken["match"] = rng.choice(["p1", "p2", "p9", {"args.x": "p2"}])
    else:
        rules.append(odd)


def as_text(rng: Random, data: Any) -> str | None:
    """`data` as YAML, sometimes with an unusual spelling; None when it has no text."""
    try:
        text = yaml.safe_dump(
            data, sort_keys=False, allow_unicode=True, default_flow_style=rng.choice([None, True, False])
        )
    except (yaml.YAMLError, UnicodeEncodeError, AttributeError, TypeError):
        return None
    if rng.random() < 0.25:
        old, new = rng.choice(
            [("true", "yes"), ("5", "0o5"), ("10", "12:30:45"), ("'5'", "017"), ("null", "~"), ("1", "1_0"),
             ("abc", "no"), ("rules:", "rules: !!seq"), (":", " :"), ("a", "&a a"), ("\n", "\n\n"), ("deny",
             "!!str deny"),
             ("0.5", ".5"), ("allow", "*x"), ("- ", "-\t"), ("\n", "\n# c\n"), ("match", "'match'"),
             ("allow", "allow\ndecision: deny")]
        )  # fmt: skip
        text = text.replace(old, new, rng.choice([1, -1]))
    return text


def request(rng: Random) -> dict[str, Any]:
    """The parts of a request, for the constructors of either package."""
    return {
        "tool": rng.choice(["a", "abc", "shell", "prod"]),
        "args": rng.choice([dict, dict, dict, OrderedDict, MappingProxyType, UserDict])(
            {name: argument(rng) for name in NAMES if rng.random() < 0.6}
        ),
        "declared": (
            rng.choice(["low", "medium", "high"]),
            rng.random() < 0.5,
            tuple(rng.sample(["a", "b", "fs:read"], rng.randrange(3))),
            rng.choice([None, 1, 5]),
            rng.random() < 0.5,
            rng.choice([None, "sandbox"]),
        ),
        "principal": (rng.choice(["user", "agent"]), rng.choice(["a", "alice"]), rng.choice([None, "A"])),
        "context": (
            rng.choice(["dev", "prod"]),
            ".",
            "c",
            rng.randrange(6),
            datetime(2026, 1, 31, 12, tzinfo=UTC),
            {"k": argument(rng)} if rng.random() < 0.5 else {},
        ),
    }


def build(package: Any, parts: dict[str, Any]) -> Any:
    """A request made of `parts` with the value types of `package`."""
    principal = package.Principal(*parts["principal"])
    context = package.ExecutionContext(principal, *parts["context"])
    return package.ActionRequest(parts["tool"], parts["args"], package.ToolMetadata(*parts["declared"]), context)
