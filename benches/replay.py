"""The time of `bobcat replay` on a decision log that this program generates: `python benches/replay.py [--records N]`.

Every record has two entries, a decision and its outcome, as a guard writes them. The command runs as a process of its
own; the floor is a process that only reads the lines of the file.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bobcat.decision_log.entry import EMPTY, Head, entry_row, row_line, time_text
from bobcat.text.json_text import json_text

RUNS = 3
OLD_LIMIT, NEW_LIMIT = 900, 880
POLICY = f"""
rules:
  - {{id: no-force, match: {{tool: git, args.command.contains: --force}}, decision: deny, priority: 9}}
  - {{id: git, match: {{tool: git}}, decision: allow}}
  - {{id: reports, match: {{tool: fs.write, args.path.starts_with: reports/}}, decision: allow}}
  - {{id: small, match: {{tool: pay, args.amount.lt: {NEW_LIMIT}}}, decision: allow}}
  - {{id: large, match: {{tool: pay}}, decision: approve_required}}
"""
COUNT_LINES = "import sys; print(sum(1 for line in open(sys.argv[1], 'rb')))"


def bodies(count: int) -> Iterator[dict[str, object]]:
    """Decisions of a week of traffic, the same ones each time."""
    chosen = random.Random(7)  # not for cryptography
    for number in range(count):
        roll = chosen.random()
        args: dict[str, object]
        if roll < 0.5:
            tool, args, rule = "fs.write", {"path": f"reports/{number}.txt", "content": "x" * 80}, "reports"
        elif roll < 0.8:
            tool, args, rule = "git", {"command": f"git log -n {number % 50}"}, "git"
        else:
            amount = chosen.randrange(1_000)
            rule = "small" if amount < OLD_LIMIT else "large"
            tool, args = "pay", {"to": f"account-{number % 977}", "amount": amount}
        yield {
            "tool": tool, "args": args, "verdict": "approve_required" if rule == "large" else "allow",
            "matched_rules": [rule], "reason": "", "principal": {"kind": "user", "id": f"user-{number % 100}"},
            "environment": "prod", "bundle_id": "b" * 64,
        }  # fmt: skip


def write_log(path: Path, count: int) -> None:
    """Write the chain of a log without a sync for each entry."""
    head, began = EMPTY, datetime(2026, 11, 2, tzinfo=UTC)
    outcome = json_text({"status": "ok", "duration_ms": 3, "value": "done"})
    with path.open("w", encoding="ascii") as file:
        for number, body in enumerate(bodies(count)):
            at = time_text(began + timedelta(milliseconds=600 * number))
            for kind, text in (("decision", json_text(body)), ("outcome", outcome)):
                row = entry_row(head, f"{number:032x}", kind, at=at, body=text)
                file.write(row_line(row) + "\n")
                head = Head(row.seq, row.hash)


def seconds(*command: str, expected: int) -> tuple[float, str]:
    """The best time of a command, and its output."""
    best, out = float("inf"), ""
    for _ in range(RUNS):
        start = time.perf_counter()
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # our own command
        best, out = min(best, time.perf_counter() - start), done.stdout
        if done.returncode != expected:
            raise RuntimeError(done.stderr)
    return best, out


def main() -> None:
    """Generate the log, and print times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=1_000_000)
    count = parser.parse_args().records
    with tempfile.TemporaryDirectory(prefix="bobcat-bench-") as directory:
        log, policy = Path(directory) / "decisions.jsonl", Path(directory) / "new.yaml"
        policy.write_text(POLICY, encoding="utf-8")
        write_log(log, count)
        print(f"{count:,} records, {2 * count:,} entries, {log.stat().st_size / 1e6:,.0f} MB")
        floor, _ = seconds(sys.executable, "-c", COUNT_LINES, str(log), expected=0)
        print(f"{'read the lines':<24} {floor:>7.2f} s")
        replay = (sys.executable, "-m", "bobcat", "replay", str(log), "--policy", str(policy))
        took, out = seconds(*replay, expected=0)
        print(f"{'bobcat replay':<24} {took:>7.2f} s  {count / took:>11,.0f} records/s")
        print(out.splitlines()[-1])
        took, _ = seconds(*replay, "--against", str(policy), expected=0)
        print(f"{'bobcat replay --against':<24} {took:>7.2f} s  {count / took:>11,.0f} records/s")


if __name__ == "__main__":
    main()
