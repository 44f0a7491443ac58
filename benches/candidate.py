"""The time of a decision beside a candidate policy, in times of the decision alone: `python benches/candidate.py`.

Both policies have the same number of rules, with other limits. `core` compares calls of the core, `runtime` what a
run, a guard or a server does for each call. A call that the two policies decide alike is the usual one; one that
diverges makes a record. Medians of interleaved rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

from bobcat import Policy, Request
from bobcat._core import evaluate_beside
from bobcat.pdp import evaluate
from bobcat.runtime.candidate import Candidate
from bobcat.runtime.evaluate import evaluate_or_deny

ROUNDS, CALLS = 21, 5_000


def policy(rules: int, limit: int) -> Policy:
    """Return a policy with one rule for each of some tools."""
    return Policy.compile(
        {
            "rules": [
                {
                    "id": f"pay-{n}",
                    "match": {"tool": f"pay_{n}", "args.amount.between": [1, limit]},
                    "decision": "allow",
                }
                for n in range(rules)
            ]
        }
    )


def seconds(call: Callable[[], object]) -> float:
    """Time one of many calls."""
    begun = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begun) / CALLS


def measure(rules: int) -> dict[str, float]:
    """Return nanoseconds by name, and the ratios to the decision alone."""
    enforced, other = policy(rules, 100), policy(rules, 50)
    candidate = Candidate(other)
    alike, diverging = (Request("pay_7", {"amount": amount, "to": "acct-1"}) for amount in (20, 70))
    context = alike.context
    calls: dict[str, Callable[[], object]] = {
        "core": lambda: evaluate(enforced, alike, context),
        "core beside": lambda: evaluate_beside(enforced, other, alike, context),
        "runtime": lambda: evaluate_or_deny(enforced, alike),
        "runtime beside": lambda: candidate.decide(enforced, alike),
        "runtime diverging": lambda: candidate.decide(enforced, diverging),
    }
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            found[name].append(seconds(call))
    times = {name: statistics.median(each) * 1e9 for name, each in found.items()}
    return {
        **times,
        "core ratio": times["core beside"] / times["core"],
        "runtime ratio": times["runtime beside"] / times["runtime"],
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=100)
    figures = measure(parser.parse_args().rules)
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}, indent=1))


if __name__ == "__main__":
    main()
