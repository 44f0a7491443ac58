"""Fields of the wide workloads: ordinary values, and clauses on them, each with a value on which it is true.

Texts are ASCII and patterns have no classes beyond it, so all engines, Python's `re` among them, read them alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = Any  # Any: JSON
Clause = tuple[str, Json, Json]
"""An operator, its operand, and a value on which the clause is true."""

WORDS = (
    "report invoice backup deploy archive cluster gateway ledger session customer region replica schema budget "
    "secret token vendor payroll export staging"
).split()
PEOPLE = [f"{name}@{host}.example" for name in ("ann", "bob", "eve", "kim", "lee") for host in ("corp", "mail", "ops")]
SCOPES = ["net", "disk", "mail", "money", "code", "people", "clock", "device"]


@dataclass(frozen=True, slots=True)
class Field:
    """One path of a request. `clause` gets the number of a rule, which about half of the operands contain."""

    path: str
    ordinary: Callable[[random.Random], Json]
    clause: Callable[[random.Random, int], Clause]


def phrase(rng: random.Random, words: int) -> str:
    """A text of some words."""
    return " ".join(rng.choice(WORDS) for _ in range(words))


def label(rng: random.Random, number: int) -> str:
    """A word of one rule, or of many rules."""
    word = rng.choice(WORDS)
    return f"{word}-{number}" if rng.random() < 0.6 else f"{word}-{rng.randrange(8)}"


def text(path: str, before: str = "") -> Field:
    """A text of 30 to 80 characters: `matches` and `contains`."""

    def clause(rng: random.Random, number: int) -> Clause:
        mark = label(rng, number)
        holds = f"{before}{phrase(rng, 2)} {mark} --{phrase(rng, 2)}"
        match rng.randrange(5):
            case 0:
                return "contains", f" {mark} ", holds
            case 1:
                return "matches", rf"\b{mark}\b.*--(\w+)", holds
            case 2:
                return "matches", rf"(?i)\b(drop|purge|{mark.upper()})\b", holds
            case 3:
                return "matches", rf"^{before}[a-z ]+{mark}( |$)", holds
            case _:
                return "matches", rf"{mark}\s+--[a-z]+ [a-z]+$", holds

    return Field(path, lambda rng: f"{before}{phrase(rng, 3)} --{phrase(rng, 3)}", clause)


def place(path: str, root: str) -> Field:
    """A path, a URL or another text of segments: `matches`, `contains`, `eq` and `in`."""

    def made(rng: random.Random, mark: str) -> str:
        return f"{root}/{rng.choice(WORDS)}/{mark}/{rng.choice(WORDS)}.txt"

    def clause(rng: random.Random, number: int) -> Clause:
        mark = label(rng, number)
        holds = made(rng, mark)
        match rng.randrange(5):
            case 0:
                return "contains", f"/{mark}/", holds
            case 1:
                return "matches", rf"(^|/){mark}(/|\.txt$)", holds
            case 2:
                return "matches", rf"^{root}/[^/]+/{mark}/", holds
            case 3:
                return "in", [holds, made(rng, mark), made(rng, mark)], holds
            case _:
                return "eq", holds, holds

    return Field(path, lambda rng: made(rng, f"{rng.choice(WORDS)}-{rng.randrange(40)}"), clause)


def name(path: str, start: str, known: int = 50) -> Field:
    """An identifier out of many: `eq`, `in` and `matches`."""

    def clause(rng: random.Random, number: int) -> Clause:
        holds = f"{start}-{number if rng.random() < 0.6 else rng.randrange(known)}"
        match rng.randrange(4):
            case 0:
                return "matches", rf"^{holds}$", holds
            case 1:
                return "eq", holds, holds
            case _:
                return "in", [holds, *(f"{start}-{number + more}" for more in range(1, rng.randrange(2, 9)))], holds

    return Field(path, lambda rng: f"{start}-{rng.randrange(known)}", clause)


def choice(path: str, values: list[str]) -> Field:
    """One of a few values: `eq` and `in`."""

    def clause(rng: random.Random, number: int) -> Clause:
        holds = rng.choice(values)
        if rng.random() < 0.5:
            return "eq", holds, holds
        return "in", sorted({holds, *rng.sample(values, rng.randrange(1, 3))}), holds

    return Field(path, lambda rng: rng.choice(values), clause)


def number(path: str, most: int, *, whole: bool = True) -> Field:
    """A number below `most`: the comparisons, `between`, `not_between`, `in` and `eq`."""

    def clause(rng: random.Random, rule: int) -> Clause:
        at = rng.randrange(most // 10, most)
        match rng.randrange(8):
            case 0:
                return "gt", at, at + 1
            case 1:
                return "ge", at, at
            case 2:
                return "lt", at, at - 1
            case 3:
                return "le", at, at
            case 4:
                return "between", [at, at + most // 50], at + 1
            case 5:
                return "not_between", [most // 100, at], at + 1
            case 6:
                return "in", [at, at + 1, rule], at
            case _:
                return ("eq", at, at) if whole else ("between", [at + 0.25, at + 9.5], at + 0.5)

    return Field(path, lambda rng: rng.randrange(most) if whole else round(rng.random() * most, 2), clause)


def flag(path: str) -> Field:
    """A bool: `eq`."""

    def clause(rng: random.Random, number: int) -> Clause:
        holds = rng.random() < 0.5
        return "eq", holds, holds

    return Field(path, lambda rng: rng.random() < 0.5, clause)


def several(path: str, known: list[str], *, own: bool = True) -> Field:
    """A list of texts: `contains`, `contains_any` and `contains_all`. `own`: rules also name elements of their own."""

    def clause(rng: random.Random, number: int) -> Clause:
        wanted = rng.sample(known, 2)
        if own and rng.random() < 0.5:
            wanted[0] = f"list-{number}@corp.example"
        holds = [*rng.sample(known, 1), *wanted]
        match rng.randrange(3):
            case 0:
                return "contains", wanted[0], holds
            case 1:
                return "contains_any", wanted, holds
            case _:
                return "contains_all", wanted, holds

    return Field(path, lambda rng: rng.sample(known, 1 + rng.randrange(3)), clause)


FAMILIES: dict[str, tuple[Field, ...]] = {
    "shell": (text("args.cmd", "run "), place("args.cwd", "/srv"), flag("args.sudo"), number("args.timeout", 1000)),
    "file": (place("args.path", "/home"), choice("args.mode", ["r", "w", "a", "x"]), number("args.size", 5000)),
    "payment": (
        number("args.amount", 9000, whole=False),
        choice("args.currency", ["EUR", "USD", "CHF", "GBP", "SEK"]),
        name("args.account", "acct"),
    ),
    "git": (name("args.branch", "release"), choice("args.remote", ["origin", "fork", "mirror"]), flag("args.force")),
    "http": (
        place("args.url", "https://api.example.com"),
        choice("args.method", ["GET", "PUT", "POST", "HEAD"]),
        number("args.retries", 100),
        text("args.body"),
    ),
    "sql": (text("args.query", "select "), name("args.database", "shard"), number("args.limit", 2000)),
    "mail": (several("args.to", PEOPLE), text("args.subject"), number("args.size", 8000), flag("args.urgent")),
    "queue": (
        name("args.topic", "topic"),
        text("args.payload"),
        number("args.delay", 600),
        several("args.tags", WORDS),
    ),
}
"""The arguments of families of tools."""

CALLER: tuple[Field, ...] = (
    choice("context.environment", ["dev", "test", "stage", "prod"]),
    choice("context.principal.kind", ["user", "service", "agent"]),
    name("context.principal.id", "user", 200),
    place("context.workspace", "/work"),
    number("context.step_seq", 100),
    flag("declared.reversible"),
    flag("declared.has_shadow"),
    choice("declared.cost", ["low", "medium", "high"]),
    several("declared.scope", SCOPES, own=False),
)
"""The fields that every call has."""
