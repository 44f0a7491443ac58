"""The time and the size of `bobcat report` by the number of rules: `python benches/report.py [--rules N...]`.

The command runs as a process of its own. The rules are about 400 tools in three environments; some test arguments, and
five are about every tool.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 3
TOOLS = 400


def policy_text(count: int) -> str:
    """A policy with so many rules, the same one each time."""
    chosen = random.Random(7)  # not for cryptography
    lines = ["rules:"]
    lines += [
        f"  - {{id: secret-{number}, match: {{args.text.contains: secret-{number}}}, decision: deny, priority: 9}}"
        for number in range(5)
    ]
    for number in range(count - 5):
        environment = chosen.choice(["", ", context.environment: prod", ", context.environment.in: [dev, staging]"])
        argument = chosen.choice(["", ", args.path.starts_with: /srv/", ", args.amount.between: [1, 100]"])
        verdict = chosen.choice(["allow", "deny", "approve_required"])
        match = f"tool: tool_{number % TOOLS}{environment}{argument}"
        lines.append(f"  - {{id: rule-{number}, match: {{{match}}}, decision: {verdict}}}")
    return "\n".join(lines) + "\n"


def measure(count: int) -> tuple[float, int]:
    """The seconds of the fastest of some runs, and the bytes of the page."""
    with tempfile.TemporaryDirectory() as directory:
        policy, page = Path(directory, "policy.yaml"), Path(directory, "report.html")
        policy.write_text(policy_text(count))
        times = []
        for _ in range(RUNS):
            started = time.perf_counter()
            command = [sys.executable, "-m", "bobcat", "report", str(policy), "-o", str(page)]
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - started)
        return min(times), page.stat().st_size


def main() -> None:
    """Print a row for each number of rules."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rules", type=int, nargs="+", default=[100, 1_000, 10_000])
    for count in parser.parse_args().rules:
        seconds, size = measure(count)
        print(f"{count:>7,} rules  {seconds:6.2f} s  {size / 1e6:6.2f} MB")


if __name__ == "__main__":
    main()
