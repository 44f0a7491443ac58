"""Large policies: the `lynx` profile beside the strict one, decisions with markers of errors, preparing, checking.

    python benches/large_policies.py [--json] [--check 100000]

The profiles decide the shared mixed workload and wide ones, request by request in turn. Preparing and checking have a
process each; times are of the processor, and memory is what the process holds more than before (preparing), and at most
(checking).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import bobcat
from bobcat.model.request_json import request_from_json
from corpora.mixed import workload
from shapes.turns import in_turn
from wide.generate import SHAPES, wide_workload

SIZES = (10, 100, 1_000, 10_000)
WIDE_SIZES = (10, 100, 1_000)
REQUESTS = 40
PREPARE = """
import gc, json, sys, time, bobcat
def resident():
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096
with open(sys.argv[1], "rb") as file:
    bundle = bobcat.load_bundle(file.read())
before, started = resident(), time.process_time()
bundle.prepare()
print(json.dumps([(time.process_time() - started) * 1e3, (resident() - before) / 2**20]))
"""
CHECK = """
import json, resource, subprocess, sys
subprocess.run([sys.executable, "-m", "bobcat", "check", sys.argv[1]], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""
ERRORS = """
rules:
  - {id: limit, match: {tool: pay, args.amount.gt: 100}, decision: allow}
  - {id: rest, match: {tool: pay}, decision: approve_required, approvers: [alice]}
"""


def profiles(name: str, policy: Any, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of the requests in nanoseconds by profile, and the ratio."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strict, lynx = (bobcat.compile_policy(policy, profile=profile) for profile in ("strict", "lynx"))
    requests = [request_from_json(call) for call in calls]
    for request in requests:
        if bobcat.evaluate(strict, request).verdict is not bobcat.evaluate(lynx, request).verdict:
            raise SystemExit(f"the profiles differ: {request}")
    taken = in_turn([partial(_decide, policy, requests) for policy in (strict, lynx)])
    strict_ns, lynx_ns = (nanoseconds / len(requests) for nanoseconds in taken)
    return {"workload": name, "strict_ns": strict_ns, "lynx_ns": lynx_ns, "ratio": lynx_ns / strict_ns}


def compared_profiles(seed: int) -> Iterator[dict[str, Any]]:
    """Those of the mixed workload by size, and of wide workloads by shape and size."""
    for rules in SIZES:
        work = workload(rules)
        yield profiles(f"mixed {rules:,}", work.text, work.requests[:REQUESTS])
    for shape in SHAPES:
        for rules in WIDE_SIZES:
            wide = wide_workload(rules, seed, shape=shape)
            yield profiles(f"{shape} {rules:,}", wide.policy, wide.requests)


def _decide(policy: bobcat.PolicyBundle, requests: list[bobcat.ActionRequest]) -> None:
    evaluate = bobcat.evaluate
    for request in requests:
        evaluate(policy, request)


def errors() -> dict[str, float]:
    """A decision without an error, with the marker of one, and a denial because of one, in nanoseconds."""
    policy = bobcat.compile_policy(ERRORS)
    strict = bobcat.compile_policy(ERRORS.replace("allow", "deny"))
    plain, marked = (bobcat.Request("pay", {"amount": amount}, declared={"reversible": True}) for amount in (5, "many"))
    if len(bobcat.evaluate(policy, marked).matched_rules) != 2:
        raise SystemExit("the decision has no marker")
    taken = in_turn([partial(bobcat.evaluate, *call) for call in ((policy, plain), (policy, marked), (strict, marked))])
    return dict(zip(("plain_ns", "marker_ns", "denial_ns"), taken, strict=True))


def preparing(rules: int) -> dict[str, float]:
    """`Policy.prepare` of a loaded bundle."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "policy.bobcat")
        file.write_bytes(bobcat.compile_policy(workload(rules).text).to_bytes())
        milliseconds, mebibytes = _measured(PREPARE, file)
    return {"rules": rules, "ms": milliseconds, "mib": mebibytes}


def checking(rules: int) -> dict[str, float]:
    """`bobcat check` of rules with two clauses, twenty rules a tool."""
    verdicts = ("deny", "allow", "approve_required", "dry_run")
    lines = [
        f"  - id: rule-{n}\n    match:\n      tool: tool-{n // 20}\n      args.account: acct-{n}\n"
        f"    decision: {verdicts[n % 4]}\n    reason: rule number {n}\n"
        for n in range(rules)
    ]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "policy.yaml")
        file.write_text("version: 1\nrules:\n" + "".join(lines), encoding="utf-8")
        seconds, mebibytes = _measured(CHECK, file)
    return {"rules": rules, "s": seconds, "mib": mebibytes}


def _measured(program: str, file: Path) -> tuple[float, float]:
    ran = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    first, second = json.loads(ran.stdout)
    return first, second


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", type=int, default=100_000, metavar="RULES", help="size of the checked policy")
    parser.add_argument("--seed", type=int, default=7, help="of the wide workloads")
    arguments = parser.parse_args()
    compared, marked = list(compared_profiles(arguments.seed)), errors()
    prepared, checked = [preparing(rules) for rules in (1_000, 10_000)], checking(arguments.check)
    if arguments.json:
        figures = {"profiles": compared, "errors": marked, "preparing": prepared, "checking": checked}
        print(json.dumps(figures, indent=1))
        return
    for row in compared:
        print("{workload:>17}: strict {strict_ns:,.0f} ns, lynx {lynx_ns:,.0f} ns, {ratio:.2f} x".format(**row))
    print("plain {plain_ns:,.0f} ns, with a marker {marker_ns:,.0f} ns, denied {denial_ns:,.0f} ns".format(**marked))
    for row in prepared:
        print("{rules:>7,.0f} rules: prepare {ms:,.0f} ms, {mib:,.0f} MiB".format(**row))
    print("{rules:>7,.0f} rules: check {s:.1f} s, {mib:,.0f} MiB".format(**checked))


if __name__ == "__main__":
    main()
