"""The profile that the compiler lays the hot paths out by: which branches are taken, and how often.

`make profile` builds the core with counters in it, runs it on the work below, and writes what was counted, of the
functions that ran often, to `rust/profile/`. `make build` and `pip install` use it when the compiler is the one it was
written with, see docs/adr/0009. The mixed and wide workloads have a seed of their own, from the generators that the
benches use; shapes, operators, Python rules and the loop are the very ones that the benches measure.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "rust" / "profile"))

from profile_flags import compiler, profile_of  # noqa: E402 - after its path

SCRATCH = ROOT / ".build" / "profile"
SEED = 4_711
OFTEN = 2_000
"""Minimum count of some block of a function that is kept in the profile; others are left out."""


def main() -> int:
    """Count and write; with `--work`, do the work."""
    if sys.argv[1:] == ["--work"]:
        work()
        return 0
    release, host = compiler()
    merge = tool("llvm-profdata", host)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    counts, package = SCRATCH / "counts", SCRATCH / "package"
    print("building the core with counters in it", flush=True)
    maturin = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--out", str(SCRATCH)]
    flags = f"build.rustflags={json.dumps([f'-Cprofile-generate={counts}'])}"
    run([*maturin, "--target-dir", str(SCRATCH / "target"), "--config", flags])
    with zipfile.ZipFile(next(SCRATCH.glob("*.whl"))) as wheel:
        wheel.extractall(package)
    shutil.rmtree(counts, ignore_errors=True)  # those of build scripts
    print("running it", flush=True)
    run([sys.executable, __file__, "--work"], PYTHONPATH=str(package))
    whole, hot = SCRATCH / "whole.txt", SCRATCH / "hot.txt"
    run([merge, "merge", "-text", "-sparse", "-o", str(whole), str(counts)])
    hot.write_text(often(whole.read_text(encoding="utf-8")), encoding="utf-8")
    written = profile_of(release, host)
    run([merge, "merge", "-sparse", "-o", str(written), str(hot)])
    print(f"wrote {written.relative_to(ROOT)} ({written.stat().st_size:,} bytes)")
    return 0


def often(text: str) -> str:
    """The functions of a profile that ran often."""
    head, *functions = re.split(r"(?m)^(?=\S.*\n# Func Hash:\n)", text)

    def most(function: str) -> int:
        _, _, counters = function.partition("# Counter Values:\n")
        return max(map(int, re.match(r"(?:\d+\n)*", counters).group().split()), default=0)  # type: ignore[union-attr]

    return head + "".join(function for function in functions if most(function) >= OFTEN)


def tool(name: str, host: str) -> str:
    """A tool of the compiler's own LLVM."""
    found = Path(output(["rustc", "--print", "sysroot"]).strip(), "lib", "rustlib", host, "bin", name)
    if not found.exists():
        raise SystemExit(f"there is no {found}; `rustup component add llvm-tools` installs it")
    return str(found)


def output(command: list[str]) -> str:
    """The output of a program."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run(command: list[str], **environment: str) -> None:
    """Run a program, and end with its exit code when it fails."""
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment)
    if done.returncode:
        raise SystemExit(done.returncode)


def work() -> None:
    """The training workload: decisions of every kind above all, then loading, compiling, and runs."""
    import bobcat
    import loop
    import operators
    import python_rules
    from bobcat.model.request_json import request_from_json
    from corpora.mixed import workload
    from corpora.shapes import SHAPES
    from wide.generate import wide_workload

    def decide(bundle: bobcat.PolicyBundle, calls: list[dict[str, object]], times: int) -> None:
        requests = [request_from_json(call) for call in calls]
        lines = "".join(json.dumps(call) + "\n" for call in calls).encode()
        for _ in range(times):
            for request in requests:
                bobcat.evaluate(bundle, request)
        for _ in range(max(1, times // 4)):
            bobcat.evaluate_many(bundle, requests)
            bobcat.evaluate_json(bundle, lines)

    for rules in (1, 10, 100, 1_000):
        mixed = workload(rules, seed=SEED)
        bundle = bobcat.compile_policy(mixed.text)
        decide(bundle, list(mixed.requests), 200)
        decide(bobcat.compile_policy(mixed.policy, profile="lynx"), list(mixed.requests), 10)
        data = bundle.to_bytes()
        for _ in range(10):
            bobcat.load_bundle(data)
    for kind, rules in (("wide", 100), ("wide", 1_000), ("flat", 1_000), ("deep", 1_000)):
        wide = wide_workload(rules, SEED, shape=kind)
        decide(bobcat.compile_policy(wide.policy), list(wide.requests), 40)
    for name in ("lower.contains", "lower.in", "any.ends_with", "any.lower.eq", "all.in"):
        decide(bobcat.compile_policy(operators.policy(name, 100, 50)), operators.calls(100, 50), 20)
    for shape in SHAPES:
        for size in shape.sizes[:2]:
            decide(bobcat.compile_policy(shape.policy(size)), [shape.call(size)], 400)
    functions = bobcat.compile_policy("rules: []", python_rules=python_rules.RULES)
    decide(functions, python_rules.json_calls(), 60)
    for store in (None, bobcat.MemoryStore):
        loop.seconds_per_step(bobcat, 500, store)


if __name__ == "__main__":
    sys.exit(main())
