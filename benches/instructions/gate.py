"""The instruction gate: hot paths of the core, counted by callgrind, against a committed baseline.

Counts do not depend on how busy the machine is, so 1 % is enough to fail on. They do depend on the compiler and on what
the processor offers, and those of calls from Python on the interpreter: the counts of another compiler, processor or
interpreter are not compared. A processor that differs only in AVX-512, which valgrind does not offer to programs, may
take 10 % more; calls of a core built without its profile take 15 to 25 % more.
The keys of hash tables are random, so counts of large tables vary by about 1 %: a count above the limit is taken again,
and the least of several is compared. `--update` writes the baseline anew, the least of several, too.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BASELINE = HERE / "baseline.json"
TOLERANCE = 0.01
ALIKE_TOLERANCE = 0.10
"""For a processor that differs in AVX-512 from the one of the baseline."""
REPEATS = 4
CMD = "git log --oneline -n 20 -- src/main.py"
BINARY = ROOT / "target" / "release" / "examples" / "instructions"
CALLS = HERE / "calls.py"

sys.path.insert(0, str(HERE.parent))

import bobcat  # noqa: E402 - after the path of the corpora
import python_rules  # noqa: E402 - after the path of the corpora
from bobcat import PolicyBundle  # noqa: E402 - after the path of the corpora
from bobcat.ir.schema import Profile  # noqa: E402 - after the path of the corpora
from corpora.mixed import JsonObject, workload  # noqa: E402 - after the path of the corpora

Work = tuple[PolicyBundle, list[JsonObject]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One count: `times` runs of `what` on a policy and some requests, less one run.

    `call` counts calls from Python, the loop around them included.
    """

    name: str
    what: str
    times: int
    make: Callable[[], Work]


def mixed(rules: int, profile: Profile = "strict") -> Callable[[], Work]:
    """The shared workload."""

    def make() -> Work:
        work = workload(rules)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bobcat.PolicyWarning)
            return bobcat.compile_policy(work.text, profile=profile), list(work.requests)

    return make


def by_tool() -> Work:
    """A rule for each of twenty tools, which is all that it asks for."""
    rules = [{"id": f"r{number}", "match": {"tool": f"t{number}"}, "decision": "allow"} for number in range(20)]
    return bobcat.compile_policy({"rules": rules}), [{"tool": f"t{number}"} for number in range(20)] * 10


def instants() -> Work:
    """One rule about the instant of a call."""
    rules = [{"id": "later", "match": {"context.timestamp.gt": "2027-01-01T00:00:00Z"}, "decision": "deny"}]
    request = {"tool": "t", "context": {"timestamp": "2026-01-01T00:00:00Z"}}
    return bobcat.compile_policy({"rules": rules}), [request] * 200


def crowded(match: Callable[[int], JsonObject], cmd: str = CMD) -> Callable[[], Work]:
    """1,000 rules on one tool and one argument, none of which fires."""

    def make() -> Work:
        rules = [
            {"id": f"rule-{n}", "match": {"tool": "shell"} | match(n), "decision": "deny", "reason": "no"}
            for n in range(1_000)
        ]
        policy = {"version": 1, "rules": rules}
        request = {"tool": "shell", "args": {"amount": 7, "cmd": cmd}}
        return bobcat.compile_policy(json.dumps(policy)), [request]

    return make


def functions() -> Work:
    """The twenty rules in Python of `python_rules`."""
    policy = bobcat.compile_policy("rules: []", python_rules=python_rules.RULES)
    return policy, python_rules.json_calls()


def crowded_functions() -> Work:
    """1,000 functions on one tool and one argument, none of which fires."""

    def rule(number: int) -> python_rules.Rule:
        word = f"/srv/area-{number}/"
        made = lambda req, ctx: (  # noqa: E731 - it gets a name of its own
            bobcat.deny("no") if req.tool == "read" and req.args["path"].startswith(word) else None
        )
        made.__name__ = f"rule_{number}"
        return made

    policy = bobcat.compile_policy("rules: []", python_rules=[rule(number) for number in range(1_000)])
    return policy, [{"tool": "read", "args": {"path": "/srv/elsewhere/main.py"}}]


def band(number: int) -> JsonObject:
    """A band of its own for each rule."""
    return {"args.amount.between": [number * 10 + 10, number * 10 + 15]}


def needle(number: int) -> JsonObject:
    """A needle of its own for each rule."""
    return {"args.cmd.contains": f"/host-{number}/"}


def pattern(number: int) -> JsonObject:
    """A pattern of its own for each rule."""
    return {"args.cmd.matches": rf"(?i)\b(drop|truncate)\s+table\s+t{number}\b"}


def negation(number: int) -> JsonObject:
    """Violated limits: the one of all rules, and the one of each scenario."""
    return {"all_of": [{"not": {"args.amount": 7}}, {"not": {"args.cmd": f"ls {number}"}}]}


SCENARIOS = (
    Scenario("load, 1,000 rules", "load", 3, mixed(1_000)),
    Scenario("decide, 1 rule", "decide", 21, mixed(1)),
    Scenario("decide, 100 rules", "decide", 21, mixed(100)),
    Scenario("decide, 1,000 rules", "decide", 21, mixed(1_000)),
    Scenario("decide, 1,000 bands", "decide", 2_001, crowded(band)),
    Scenario("decide, 1,000 needles", "decide", 2_001, crowded(needle)),
    Scenario("decide, 1,000 patterns", "decide", 2_001, crowded(pattern)),
    Scenario("decide, 100 kB, needles", "decide", 4, crowded(needle, "git log " * 12_500)),
    Scenario("decide, 100 kB, patterns", "decide", 4, crowded(pattern, "git log " * 12_500)),
    Scenario("decide, 20 functions", "decide", 21, functions),
    Scenario("decide, 1,000 functions", "decide", 2_001, crowded_functions),
    Scenario("decide, 1,000 negations", "decide", 2_001, crowded(negation)),
    Scenario("call, by the tool", "call", 101, by_tool),
    Scenario("call, 1 rule", "call", 101, mixed(1)),
    Scenario("call, 10 rules", "call", 101, mixed(10)),
    Scenario("call, 10 rules, lynx", "call", 101, mixed(10, "lynx")),
    Scenario("call, 20 functions", "call", 51, functions),
    Scenario("call, an instant", "call", 101, instants),
)


def main() -> int:
    """Count, compare or update; 1 when a count has grown by more than the tolerance."""
    if shutil.which("valgrind") is None:
        print("instructions: skipped, there is no valgrind here")
        return 0
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--quiet", "-p", "bobcat-core", "--example", "instructions"],
        cwd=ROOT,
        check=True,
    )
    baseline: dict[str, Any] = json.loads(BASELINE.read_text(encoding="utf-8"))  # Any: JSON
    updates = "--update" in sys.argv[1:]
    limits = {} if updates else limits_of(baseline)
    enough = 0 if updates else sys.maxsize
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        least = pool.map(lambda each: least_count(each, limits.get(each.name, enough)), SCENARIOS)
        counts = dict(zip((each.name for each in SCENARIOS), least, strict=True))
    if updates:
        text = json.dumps({"machine": machine(), "python": sys.version, "instructions": counts}, indent=2)
        BASELINE.write_text(text + "\n", encoding="utf-8")
        print(f"wrote {BASELINE.relative_to(ROOT)}")
        return 0
    return compare(counts, baseline["instructions"], limits)


def limits_of(baseline: dict[str, Any]) -> dict[str, int]:
    """Largest count of each scenario that passes here; a scenario without one is not compared."""
    written, here = baseline["machine"], machine()
    if written == here:
        tolerance = TOLERANCE
    elif without_avx512(written) == without_avx512(here):
        tolerance = ALIKE_TOLERANCE
    else:
        print("instructions: the baseline is of another compiler or processor; counts are only shown")
        return {}
    print(f"instructions: a count may be {tolerance:.0%} above the baseline")
    counted = {each.name for each in SCENARIOS if each.what != "call" or baseline["python"] == sys.version}
    if len(counted) < len(SCENARIOS):
        print("instructions: the baseline is of another interpreter; counts of calls are only shown")
    return {name: int(known * (1 + tolerance)) for name, known in baseline["instructions"].items() if name in counted}


def without_avx512(machine: dict[str, str]) -> dict[str, str]:
    """An environment, whether the processor has AVX-512 or not."""
    flags = machine["processor"].split()
    return {**machine, "processor": " ".join(flag for flag in flags if not flag.startswith("avx512"))}


def compare(counts: dict[str, int], baseline: dict[str, int], limits: dict[str, int]) -> int:
    """Print a line per scenario; 1 when one is above its limit."""
    failed = False
    for name, counted in counts.items():
        grown = counted > limits.get(name, counted)
        failed |= grown
        word = "TOO MANY" if grown else "ok" if name in limits else "not compared"
        print(f"{name:<24} {counted:>10,} instructions (baseline {baseline[name]:>10,}): {word}", flush=True)
    return int(failed)


def least_count(scenario: Scenario, enough: int) -> int:
    """Smallest of up to `REPEATS` counts; the first one that is at most `enough` ends the search."""
    least = count(scenario)
    for _ in range(REPEATS - 1):
        if least <= enough:
            break
        least = min(least, count(scenario))
    return least


def count(scenario: Scenario) -> int:
    """Instructions of one load, or of one decision."""
    policy, requests = scenario.make()
    with tempfile.TemporaryDirectory() as scratch:
        policy_file, requests_file = Path(scratch) / "policy", Path(scratch) / "requests"
        policy_file.write_bytes(policy.to_bytes() if scenario.what == "call" else policy.ir_bytes)
        requests_file.write_text("\n".join(map(json.dumps, requests)), encoding="utf-8")

        def run(times: int) -> int:
            counted = [sys.executable, str(CALLS)] if scenario.what == "call" else [str(BINARY), scenario.what]
            command = [
                "valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out",
                *counted, str(policy_file), str(requests_file), str(times),
            ]  # fmt: skip
            environment = os.environ | {"PYTHONHASHSEED": "0"}
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
            collected = re.search(r"Collected : (\d+)", done.stderr)
            if collected is None:
                raise SystemExit(f"valgrind said nothing of instructions:\n{done.stderr}")
            return int(collected[1])

        more = run(scenario.times) - run(1)
    each = 1 if scenario.what == "load" else len(requests)
    return round(more / (scenario.times - 1) / each)


def machine() -> dict[str, str]:
    """The environment that counts depend on."""
    rustc = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    flags = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")]
        wanted = {"avx2", "avx512f", "bmi2", "sse4_2"}
        flags = " ".join(sorted(wanted & set(lines[0].split()))) if lines else ""
    return {"rustc": rustc, "architecture": platform.machine(), "processor": flags}


if __name__ == "__main__":
    sys.exit(main())
