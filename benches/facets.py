"""Cost of facets: of one clause beside a test of the same text, and of decisions by many rules over facets.

    python benches/facets.py [--json]

The first table has decisions by one rule that compares a text, and by one whose clause parses it. The second has
policies with many rules, each with another program, host or directory.
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median

from bobcat import ActionRequest, Policy, Request

ROUNDS, CALLS = 31, 2_000
COUNTS = (1, 10, 100, 1_000, 10_000)
SHELL = "cd src && grep -rn 'def handler' --include='*.py' app | head -n 20 > /tmp/found.txt 2>&1"
URL = "https://api.example.com/v1/customers/1832/invoices?limit=20&since=2026-01-01"
FILE = "/srv/workspace/project/src/handlers/payment_handler.py"
TEXTS = {
    "shell": (SHELL, "args.x.shell.any.program: rm"),
    "url": (URL, "args.x.url.host: evil.example"),
    "path": (FILE, "args.x.path.within: /srv/other"),
    "ip": ("203.0.113.77", "args.x.ip.within: 10.0.0.0/8"),
    "email": ("first.last@corp.example", "args.x.email.domain: other.example"),
    "semver": ("2.14.3-rc.1", "args.x.semver.ge: 3.0.0"),
    "json": ('{"user": {"id": 7}, "items": [1, 2, 3]}', "args.x.json.user.id: 8"),
}
MANY = {
    "programs": (SHELL, "args.x.shell.any.program: program-{}"),
    "hosts": (URL, "args.x.url.host: host-{}.example"),
    "directories": (FILE, "args.x.path.within: /srv/directory-{}"),
}


def policy(*clauses: str) -> Policy:
    """A policy with a rule for each clause."""
    rules = [
        f"  - {{id: r{number}, match: {{tool: tool, {clause}}}, decision: deny}}"
        for number, clause in enumerate(clauses)
    ]
    return Policy.compile("rules:\n" + "\n".join(rules))


def nanoseconds(*policies: tuple[Policy, ActionRequest]) -> list[float]:
    """The medians of decisions in nanoseconds of processor time; the policies take turns."""
    times: list[list[float]] = [[] for _ in policies]
    for _ in range(ROUNDS):
        for found, (one, call) in zip(times, policies, strict=True):
            decide = one.evaluate
            start = time.thread_time_ns()
            for _ in range(CALLS):
                decide(call)
            found.append((time.thread_time_ns() - start) / CALLS)
    return [median(found) for found in times]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    as_json = parser.parse_args().json
    single, many = {}, {}
    for name, (text, clause) in TEXTS.items():
        plain, parsed = nanoseconds(
            (policy("args.x: other"), Request("tool", {"x": text})), (policy(clause), Request("tool", {"x": text}))
        )
        single[name] = {"characters": len(text), "text_ns": round(plain), "facet_ns": round(parsed)}
    for name, (text, clause) in MANY.items():
        policies = [
            (policy(*(clause.format(i) for i in range(count))), Request("tool", {"x": text})) for count in COUNTS
        ]
        many[name] = {count: round(found) for count, found in zip(COUNTS, nanoseconds(*policies), strict=True)}
    if as_json:
        print(json.dumps({"single": single, "many": many}))
        return
    print(f"{'facet':<12}{'characters':>11}{'text ns':>9}{'facet ns':>10}{'more ns':>9}")
    for name, row in single.items():
        more = row["facet_ns"] - row["text_ns"]
        print(f"{name:<12}{row['characters']:>11}{row['text_ns']:>9}{row['facet_ns']:>10}{more:>9}")
    print("\n" + f"{'rules':<12}" + "".join(f"{count:>9,}" for count in COUNTS) + "   (ns a decision)")
    for name, found in many.items():
        print(f"{name:<12}" + "".join(f"{found[count]:>9}" for count in COUNTS))


if __name__ == "__main__":
    main()
