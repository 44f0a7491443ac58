"""Operators one by one: a decision where all rules have the same one, with few and with many rules on a tool.

    python benches/operators.py [--json] [--profile lynx] [NAME ...]

The last ones have a second test, which selects more than the first one or less. Half of the rules also name a caller.
Operands and values come from one small vocabulary, so that some rules match. Each figure is the mean of 200 random
requests in nanoseconds of the processor, the least of nine rounds. A figure that grows with the rules on a tool is an
operator that no index lists.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, Literal

import bobcat
from bobcat.model.request_json import request_from_json

Row = dict[str, Any]  # Any: JSON
Leaf = Callable[[Callable[[int], str], int], Row]
"""From a maker of words and the number of a rule to its tests."""

SIZES = ((100, 8), (1_000, 8), (1_000, 100), (1_000, 1_000))
"""Rules, and rules on a tool."""
REQUESTS = 200
ROUNDS = 9
WORDS = "report invoice backup deploy archive cluster gateway ledger session customer region".split()

LEAVES: dict[str, Leaf] = {
    "eq": lambda word, n: {"args.a": word(n)},
    "in": lambda word, n: {"args.a.in": [word(n), word(n + 1)]},
    "not_in": lambda word, n: {"args.a.not_in": [word(n), word(n + 1)]},
    "eq a path": lambda word, n: {"args.a.eq": "args.b"},
    "subset_of": lambda word, n: {"args.l.subset_of": [word(n), word(n + 1), word(n + 2)]},
    "matches": lambda word, n: {"args.t.matches": rf"\b{word(n)}\b.*x"},
    "matches, any case": lambda word, n: {"args.t.matches": rf"(?i)\b{word(n)}\b.*x"},
    "glob": lambda word, n: {"args.p.glob": f"/srv/**/{word(n)}/*.txt"},
    "contains": lambda word, n: {"args.t.contains": word(n)},
    "contains_any": lambda word, n: {"args.l.contains_any": [word(n), word(n + 1)]},
    "contains_all": lambda word, n: {"args.l.contains_all": [word(n), word(n + 1)]},
    "starts_with": lambda word, n: {"args.p.starts_with": f"/srv/{word(n)}"},
    "ends_with": lambda word, n: {"args.p.ends_with": f"{word(n)}.txt"},
    "occurs_in": lambda word, n: {"args.a.occurs_in": f"the {word(n)} of today"},
    "gt": lambda word, n: {"args.n.gt": n * 7 % 1_000},
    "between": lambda word, n: {"args.n.between": [n % 1_000, n % 1_000 + 20]},
    "gt a path": lambda word, n: {"args.n.gt": "args.n2"},
    "gt an instant": lambda word, n: {"context.timestamp.gt": f"2026-0{n % 9 + 1}-01T12:00:00Z"},
    "exists": lambda word, n: {f"args.e{n % 20}.exists": True},
    "empty": lambda word, n: {f"args.e{n % 20}.empty": False},
    "length": lambda word, n: {"args.t.length.gt": n % 300},
    "lower.eq": lambda word, n: {"args.a.lower.eq": word(n)},
    "lower.in": lambda word, n: {"args.a.lower.in": [word(n), word(n + 1)]},
    "lower.contains": lambda word, n: {"args.t.lower.contains": word(n)},
    "lower.matches": lambda word, n: {"args.t.lower.matches": rf"\b{word(n)}\b.*x"},
    "lower.starts_with": lambda word, n: {"args.p.lower.starts_with": f"/srv/{word(n)}"},
    "any.eq": lambda word, n: {"args.l.any.eq": word(n)},
    "any.ends_with": lambda word, n: {"args.l.any.ends_with": word(n)},
    "any.matches": lambda word, n: {"args.l.any.matches": rf"^{word(n)}\d*$"},
    "any.glob": lambda word, n: {"args.l.any.glob": f"{word(n)}*"},
    "any.lower.eq": lambda word, n: {"args.l.any.lower.eq": word(n)},
    "all.in": lambda word, n: {"args.l.all.in": [word(n), word(n + 1)]},
    "all.starts_with": lambda word, n: {"args.l.all.starts_with": word(n)},
    "none.eq": lambda word, n: {"args.l.none.eq": word(n)},
    "first.eq": lambda word, n: {"args.l.first.eq": word(n)},
    "path.within": lambda word, n: {"args.p.path.within": f"/srv/{word(n)}"},
    "url.host.in": lambda word, n: {"args.u.url.host.in": [f"{word(n)}.example.com", "api.example.com"]},
    "shell.programs": lambda word, n: {"args.t.shell.programs.contains": word(n)},
    "sql.tables": lambda word, n: {"args.q.sql.tables.contains": word(n).replace("-", "_")},
    "scope": lambda word, n: {"declared.scope.contains": f"s{n % 20}"},
    "scope, gt": lambda word, n: {"declared.scope.contains": f"s{n % 20}", "args.n.gt": n * 7 % 1_000},
    "between, in": lambda word, n: {"args.n.between": [n % 200, n % 200 + 700], "args.a.in": [word(n), word(n + 1)]},
    "scope, not list": lambda word, n: {"not": {"args.l.contains": word(n)}, "declared.scope.contains": f"s{n % 20}"},
}
"""By the name of the operator, or of the tests."""
LYNX = (
    "eq", "in", "matches", "contains", "contains_any", "contains_all", "gt", "between",
    "scope", "scope, gt", "between, in", "scope, not list",
)  # fmt: skip
"""Those that the `lynx` profile has, too."""


def policy(name: str, rules: int, per_tool: int) -> Row:
    """A policy of rules with this operator."""
    rng = random.Random(name)
    tools = max(1, rules // per_tool)

    def rule(number: int) -> Row:
        tests = LEAVES[name](lambda rule: _word(rng, rule), number)
        match = {"tool": f"tool_{rng.randrange(tools)}", **tests}
        if rng.random() < 0.5:
            match["context.principal.id"] = f"user-{rng.randrange(50)}"
        priority, verdict = rng.choice((0, 0, 5, -5)), rng.choice(("allow", "deny", "dry_run"))
        return {"id": f"r{number}", "priority": priority, "match": match, "decision": verdict}

    return {"version": 1, "rules": [rule(number) for number in range(rules)]}


def calls(rules: int, per_tool: int) -> list[Row]:
    """Requests for such policies, as JSON objects."""
    rng = random.Random(rules)

    def word() -> str:
        return _word(rng, rng.randrange(1_000))

    def call() -> Row:
        args = {
            "a": word(), "b": _word(rng, 0), "l": [word() for _ in range(3)], "p": f"/srv/{word()}/{word()}.txt",
            "t": f"run {word()} --with {word()} x", "n": rng.randrange(1_000), "n2": rng.randrange(1_000), "e1": 1,
            "e3": "", "u": f"https://{word()}.example.com/x", "q": f"select a from {word()[:5]} where b = 1",
        }  # fmt: skip
        principal = {"kind": "user", "id": f"user-{rng.randrange(50)}", "name": None}
        context = {"principal": principal, "environment": "prod", "timestamp": "2026-04-01T12:00:00Z"}
        tool = f"tool_{rng.randrange(max(1, rules // per_tool))}"
        return {"tool": tool, "args": args, "context": context, "declared": {"scope": [f"s{rng.randrange(40)}"]}}

    return [call() for _ in range(REQUESTS)]


def nanoseconds(name: str, rules: int, per_tool: int, profile: Literal["strict", "lynx"] = "strict") -> int:
    """The mean of a decision."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bundle = bobcat.compile_policy(policy(name, rules, per_tool), profile=profile)
    requests = [request_from_json(call) for call in calls(rules, per_tool)]
    evaluate, least = bobcat.evaluate, sys.maxsize
    for _ in range(ROUNDS):
        started = time.process_time_ns()
        for request in requests:
            evaluate(bundle, request)
        least = min(least, time.process_time_ns() - started)
    return round(least / len(requests))


def _word(rng: random.Random, number: int) -> str:
    return f"{rng.choice(WORDS)}-{number if rng.random() < 0.6 else rng.randrange(8)}"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="operators; all by default")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--profile", choices=("strict", "lynx"), default="strict", help="of the policies")
    arguments = parser.parse_args()
    known = tuple(LEAVES) if arguments.profile == "strict" else LYNX
    unknown = set(arguments.names) - set(known)
    if unknown:
        parser.error(f"no operator {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    names = arguments.names or known
    measured = {name: [nanoseconds(name, *size, arguments.profile) for size in SIZES] for name in names}
    if arguments.json:
        print(json.dumps({"rules, rules on a tool": SIZES, "nanoseconds": measured}, indent=1))
        return
    print(" " * 18, *(f"{f'{rules:,} / {per_tool:,}':>14}" for rules, per_tool in SIZES))
    for name, figures in measured.items():
        print(f"{name:18}", *(f"{figure:14,}" for figure in figures))


if __name__ == "__main__":
    main()
