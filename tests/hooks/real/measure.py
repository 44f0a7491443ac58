"""The hook in the real coding agents: the time that it adds to a tool call.

    PYTHONPATH=tests BOBCAT_HOSTS=.build/hosts python tests/hooks/real/measure.py [--calls N] [--rounds N]

A session of a host in which the model, which runs on this machine, proposes N commands that do nothing; with the hook,
with the hook and its log, and without. The sessions take turns; the fastest one of each kind counts. `make bench-hooks`
runs this.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bobcat import Policy
from bobcat.cli.hooks.call import Host
from hooks.real.programs import HOSTS, Scratch, new_scratch

RULES = 1000
KINDS: dict[str, list[str] | None] = {"no hook": None, "hook": [], "hook and log": ["--log", "LOG"]}


def policy() -> Policy:
    """A policy of many rules that permits the command."""
    rules = [{"match": {"tool": f"t{n}", "args.command": "x"}, "decision": "deny"} for n in range(RULES)]
    rules.append(
        {"match": {"tool.in": ["Bash", "run_shell_command"], "args.command.glob": "true *"}, "decision": "allow"}
    )
    return Policy.compile({"rules": rules})


def prepared(host: Host, kind: str, place: Path) -> Scratch:
    """A project with the hook of this kind."""
    scratch = new_scratch(host, place)
    policy().save(scratch.project / "policy.bobcat")
    options = KINDS[kind]
    if options is not None:
        scratch.install(*(str(place / "log.jsonl") if option == "LOG" else option for option in options))
    return scratch


def seconds(scratch: Scratch, calls: int) -> float:
    """Run a session."""
    began = time.perf_counter()
    ran = scratch.run(*(f"true {number}" for number in range(calls)))  # Gemini CLI ends a session that repeats itself
    took = time.perf_counter() - began
    assert ran.finished, ran
    return took


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="Measure the hook in the real coding agents.")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for host in HOSTS:
        with tempfile.TemporaryDirectory() as directory:
            scratches = {kind: prepared(host, kind, Path(directory) / kind.replace(" ", "-")) for kind in KINDS}
            best = dict.fromkeys(KINDS, float("inf"))
            for _ in range(given.rounds):
                for kind, scratch in scratches.items():
                    best[kind] = min(best[kind], seconds(scratch, given.calls))
            base = best["no hook"]
            for kind, took in best.items():
                added = "" if kind == "no hook" else f", {(took - base) / given.calls * 1000:+.1f} ms a call"
                print(f"{host:12} {kind:13} {took:6.2f} s for {given.calls} calls{added}", flush=True)


if __name__ == "__main__":
    main()
