"""Exact analysis beside z3: the same questions about policies of 10 to 1,000 rules on one tool.

`.venv/bin/python benches/exact_analysis.py` prints the processor seconds of each question, of both
where both can answer; `--long` adds policies of 1,000 rules beside the bars of `docs/explanation/performance.md`, and
fails above one. Processor time counts all threads of this process, so that a busy machine changes it little. The
policies are those of the tests beside z3: texts, numbers, bools and patterns at two arguments of one tool.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import z3

from analysis.long_policies import long_source
from analysis.z3_policies import PERMITS, VERDICTS, Calls, Rules, changed, random_policy
from bobcat import Policy
from bobcat.analysis import can, dead, surface
from bobcat.analysis.difference import compare
from bobcat.analysis.engine import Effort, Questions

SIZES = (10, 100, 1_000)
SEEDS = 3
GIVE_UP = 30.0
"""Seconds for one question."""
BARS = {"diff, one rule changed": 1.0, "diff, unrelated": 20.0, "dead": 5.0, "dead with clauses": 5.0, "surface": 5.0}
"""Processor seconds for 1,000 rules."""
MEMORY_BAR = 1 << 20
"""KiB."""
Question: TypeAlias = Callable[[], str]


def main() -> int:
    """Print a line for each question, and return 1 if one of the long ones is above its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="measure 1,000 rules beside the bars")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of rules beside z3")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # random rules are what `check` warns of
    for size in given.sizes:
        for name in ("diff", "can", "dead"):
            ours, theirs = (_measured(name, size, side) for side in (_ours, _theirs))
            print(f"{size:>6} rules  {name:<5} bobcat {ours}   z3 {theirs}", flush=True)
    return _long() if given.long else 0


def _measured(name: str, size: int, side: Callable[[str, Rules, Rules], Question]) -> str:
    """Return the median of some policies, and the answers."""
    seconds, answers = [], []
    for seed in range(SEEDS):
        chance = random.Random(1_000 * size + seed)
        old = _policy(chance, size)
        question = side(name, old, changed(chance, old))
        start = time.process_time()
        answers.append(question())
        seconds.append(time.process_time() - start)
        if answers[-1] == "unknown":
            break
    return f"{statistics.median(seconds):9.4f} s ({', '.join(answers)})"


def _policy(chance: random.Random, size: int) -> Rules:
    found = [random_policy(chance) for _ in range(size)]
    rules = tuple(rule for policy in found for rule in policy.rules)[:size]
    return Rules(rules, "deny", "deny")


def _ours(name: str, old: Rules, new: Rules) -> Question:
    policies = [Policy.compile(side.text()) for side in (old, new)]

    def difference() -> str:
        found = compare(Questions(policies, Effort.within(GIVE_UP)), limit=1, terms=False)
        return "same" if found.same else "differ" if found.found else "unknown"

    def permitted() -> str:
        answer = can(policies[0], tool="t", verdict="allow", budget=GIVE_UP)
        return type(answer).__name__.lower()

    def dead_rules() -> str:
        found = dead(policies[0], clauses=False, budget=GIVE_UP)
        return "unknown" if found.unknown else str(len(found.rules))

    return {"diff": difference, "can": permitted, "dead": dead_rules}[name]


def _theirs(name: str, old: Rules, new: Rules) -> Question:
    def solved(*claims: Any) -> str:  # Any: z3 has no types
        solver = z3.Solver()
        solver.set("timeout", int(1_000 * GIVE_UP))
        solver.add(*claims)
        return str(solver.check())

    def difference() -> str:
        calls = Calls()
        answer = solved(*calls.valid(), calls.verdict(old) != calls.verdict(new))
        return {"sat": "differ", "unsat": "same"}.get(answer, "unknown")

    def permitted() -> str:
        calls = Calls()
        answer = solved(*calls.valid(), calls.verdict(old) == VERDICTS.index("allow"))
        return {"sat": "witness", "unsat": "proof"}.get(answer, "unknown")

    def dead_rules() -> str:
        calls, start, count = Calls(), time.process_time(), 0
        for claim in _decides(calls, old):
            answer = solved(*calls.valid(), claim)
            if answer == "unknown" or time.process_time() - start > GIVE_UP:
                return "unknown"
            count += answer == "unsat"
        return str(count)

    return {"diff": difference, "can": permitted, "dead": dead_rules}[name]


def _decides(calls: Calls, policy: Rules) -> Iterator[Any]:  # Any: as above
    """Yield for each rule the claim that it decides, by its match or by its error."""
    earlier = z3.BoolVal(False)
    for rule in policy.rules:
        permits = rule.verdict in PERMITS
        true, _, _, error = calls._truth(rule.match, permits)
        own = true if permits else z3.Or(true, error)
        yield z3.And(own, z3.Not(earlier))
        earlier = z3.Or(earlier, own)


def _long() -> int:
    """Measure policies of 1,000 rules of ten tools, and of one tool, beside the bars."""
    failed = False
    chance = random.Random(1)
    sources = [long_source(chance, 1_000) for _ in range(2)]
    wide = [Policy.compile(source) for source in sources]
    sources[0]["rules"][500]["decision"] = "dry_run" if sources[0]["rules"][500]["decision"] == "deny" else "deny"
    sources[0]["rules"][500].pop("transform", None)
    nearly = Policy.compile(sources[0])
    narrow = [Policy.compile(_on_one_tool(source)) for source in (long_source(chance, 1_000) for _ in range(2))]
    questions: list[tuple[str, str, Question]] = [
        ("diff, one rule changed", "ten tools", lambda: _compared(wide[0], nearly)),
        ("diff, unrelated", "ten tools", lambda: _compared(*wide)),
        ("diff, unrelated", "one tool", lambda: _compared(*narrow)),
        ("diff, unrelated", "own terms", lambda: _compared(*(_own(1_000, side, "amount") for side in "ab"))),
        ("diff, unrelated", "own prefix", lambda: _compared(*(_own(1_000, side, "starts_with") for side in "ab"))),
        ("diff, unrelated", "own pattern", lambda: _compared(*(_own(1_000, side, "matches") for side in "ab"))),
        ("diff, unrelated", "transforms", lambda: _compared(*(_transforming(1_000, side) for side in "ab"))),
        ("dead", "ten tools", lambda: _parts(wide[0], clauses=False)),
        ("dead with clauses", "ten tools", lambda: _parts(wide[0], clauses=True)),
        ("surface", "ten tools", lambda: f"{len(surface(wide[0], budget=GIVE_UP).rows)} rows"),
    ]
    for name, tools, question in questions:
        start = time.process_time()
        answer = question()
        taken = time.process_time() - start
        failed |= taken > BARS[name]
        print(f"{name:<24} {tools:<12} {taken:8.2f} s of {BARS[name]:4.0f} s  {answer}", flush=True)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"memory, at most {most / 1024:.0f} MiB of {MEMORY_BAR / 1024:.0f}")
    return int(failed or most > MEMORY_BAR)


def _compared(old: Policy, new: Policy) -> str:
    found = compare(Questions((old, new), Effort.within(60.0)))
    return f"{len(found.found)} regions, {len(found.unknown)} unknown, {[reason.code for reason in found.reasons]}"


def _parts(policy: Policy, *, clauses: bool) -> str:
    found = dead(policy, clauses=clauses, budget=60.0)
    return f"{len(found.rules)} rules, {len(found.clauses)} clauses, {len(found.unknown)} unknown"


def _own(rules: int, side: str, kind: str) -> Policy:
    """Return rules of one tool, each with its own operand and its own approvers; half of the operands are common."""
    found = []
    for number in range(rules):
        name = f"{number}" if number % 2 else f"{side}{number}"
        match: Any = {  # Any: plain data
            "amount": {"args.amount": number},
            "starts_with": {"args.path.starts_with": f"/srv/{name}/"},
            "matches": {"args.path.matches": f"^/srv/{name}/[a-z]+[.]md$"},
        }[kind]
        asks = (number + (side == "b")) % 3 > 0
        rule: dict[str, Any] = {  # Any: plain data
            "id": f"{side}{number}",
            "match": {"tool": "t", **match},
            "decision": "allow",
        }
        if asks:
            rule |= {"decision": "approve_required", "approvers": [f"{side}{number}"]}
        found.append(rule)
    return Policy.compile({"rules": found})


def _transforming(rules: int, side: str) -> Policy:
    """Return rules of one tool of which some set an argument that rules above read."""
    found: list[dict[str, Any]] = []  # Any: plain data
    for number in range(rules):
        name = f"{number}" if number % 2 else f"{side}{number}"
        match: dict[str, Any] = {"tool": "t", "args.path.starts_with": f"/srv/{name}/"}
        rule: dict[str, Any] = {"id": f"{side}{number}", "match": match, "decision": "allow"}
        if number % 10 == 0:
            match["args.limit.gt"] = 100
            rule |= {"decision": "deny"}
        elif number % 50 == 7:
            rule |= {"decision": "transform", "transform": {"jsonpath": "$.args.limit", "set": number}}
        found.append(rule)
    return Policy.compile({"rules": found})


def _on_one_tool(source: dict[str, Any]) -> dict[str, Any]:  # Any: plain data
    for rule in source["rules"]:
        rule["match"] = {key: value for key, value in rule["match"].items() if not key.startswith("tool")} | {
            "tool": "t"
        }
        if rule["decision"] == "transform":
            rule["decision"] = "allow"
            rule.pop("transform")
    return source


if __name__ == "__main__":
    sys.exit(main())
