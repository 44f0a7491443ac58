"""The states that the automata of one policy keep are bounded together, however many patterns met long texts."""

from __future__ import annotations

import subprocess
import sys

PATTERNS = 600
# The budget of 64 MiB, and what the patterns themselves and the allocator take; without it each keeps some 256 KiB.
MOST_MIB = 96

PROGRAM = """
import random
from pathlib import Path

from bobcat import compile_policy
from bobcat.model.request_json import request_from_json

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024

count = int(input())
rules = [{"match": {f"args.p{i}.matches": f"[a-d].{{10}}Q{i}"}, "decision": "deny"} for i in range(count)]
bundle = compile_policy({"defaults": {"on_missing_shadow": "allow"}, "rules": rules})
text = "".join(random.Random(1).choices("abcdefgh ", k=20_000))
before = resident()
for i in range(count):
    for end, verdict in (("", "allow"), (f"a0123456789Q{i}", "deny")):
        request = request_from_json({"tool": "t", "args": {f"p{i}": text + end}})
        assert bundle.evaluate(request).verdict.value == verdict
print(resident() - before)
"""


def test_states_of_many_patterns_are_kept_within_one_budget() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=str(PATTERNS), capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < MOST_MIB
