"""Time of `bobcat test` and `bobcat mutate` for policies of 100 and 1,000 rules and a suite of 1,000 cases.

    .venv/bin/python benches/suites.py [--rules 100] [--jobs 2]

Prints seconds of the wall clock, and of the CPU over all processes. The suite has one call for each case, at a bound
of a rule or beside it, with the verdict and the rule of the decision.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bobcat.testing.mutation.campaign import Campaign
from bobcat.testing.suites.session import Selected, collect, run, select
from bobcat.testing.suites.update import updates

CASES = 1_000
VERDICTS = ("allow", "deny", "approve_required")


def suite(directory: Path, rules: int) -> Selected:
    """Write a policy and its suite; return the cases."""
    chosen = random.Random(1)
    account = {"args.to.matches": "^acct-[0-9]{1,9}$"}
    match = [
        {"tool": f"tool{number % (rules // 5)}", "args.amount.between": [number, number + 50], **account}
        for number in range(rules)
    ]
    written = [{"id": f"r{n}", "match": each, "decision": VERDICTS[n % 3]} for n, each in enumerate(match)]
    (directory / "policy.yaml").write_text(json.dumps({"rules": written, "defaults": {"on_missing_shadow": "deny"}}))
    cases = []
    for number in range(CASES):
        index = number % rules
        args = {"amount": index + chosen.choice((0, 50, 51, -1, 20)), "to": "acct-1"}
        cases.append({"name": f"c{number}", "request": {"tool": f"tool{index % (rules // 5)}", "args": args}})
    path = directory / "rules.policytest.yaml"
    path.write_text(json.dumps({"policy": "policy.yaml", "cases": cases}))
    collected = collect([str(path)])
    results = run(select(collected)).results
    path.write_text(next(updates([item.suite for item in collected.suites], results)).after)
    return select(collect([str(path)]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rules", type=int, nargs="*", default=[100, 1_000])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    for rules in given.rules:
        with TemporaryDirectory() as directory:
            cases = suite(Path(directory), rules)
            tested = run(cases)
            print(
                f"{rules:,} rules: test of {CASES:,} cases {tested.seconds:.3f} s, {tested.failed} failed", flush=True
            )
            before, started = os.times(), time.perf_counter()
            result = Campaign(cases).run(jobs=given.jobs)
            after, seconds = os.times(), time.perf_counter() - started
            cpu = sum(after[:4]) - sum(before[:4])
            counts = f"{result.count('killed'):,} killed, {result.count('survived'):,} survived"
            counts += f", {result.count('no_difference'):,} without a difference"
            print(
                f"{rules:,} rules: mutate {len(result.results):,} mutants {seconds:.1f} s, {cpu:.1f} s of CPU: {counts}"
            )


if __name__ == "__main__":
    main()
