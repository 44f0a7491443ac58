"""The hook in the real coding agents: the time that it adds to a tool call.

    PYTHONPATH=tests BOBCAT_HOSTS=.build/hosts python tests/hooks/real/measure.py [--calls N] [--rounds N]

A session of a host in which the model, which runs on this machine, proposes N commands that do nothing; with the hook,
with the hook and its log, and without. The sessions take turns; the fastest one of each kind counts. The processor
time of the host and its hooks depends less on other work on the machine. `make bench-hooks` runs this.
"""

from __future__ import annotations

import argparse
import resource
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


def seconds(scratch: Scratch, calls: int) -> tuple[float, float]:
    """Run a session; the time and the processor time that it takes."""
    began, used = time.perf_counter(), processor_time()
    ran = scratch.run(*(f"true {number}" for number in range(calls)))  # Gemini CLI ends a session that repeats itself
    took = time.perf_counter() - began, processor_time() - used
    assert ran.finished, ran
    return took


def processor_time() -> float:
    """The processor time of all processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="Measure the hook in the real coding agents.")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for host in HOSTS:
        with tempfile.TemporaryDirectory() as directory:
            scratches = {kind: prepared(host, kind, Path(directory) / kind.replace(" ", "-")) for kind in KINDS}
            best = dict.fromkeys(KINDS, (float("inf"), float("inf")))
            for _ in range(given.rounds):
                for kind, scratch in scratches.items():
                    wall, processor = seconds(scratch, given.calls)
                    best[kind] = min(best[kind][0], wall), min(best[kind][1], processor)
            base = best["no hook"]
            for kind, took in best.items():
                added = [f"{(took[at] - base[at]) / given.calls * 1000:+.1f} ms" for at in (0, 1)]
                more = "" if kind == "no hook" else f", a call {added[0]}, {added[1]} of processor time"
                print(f"{host:12} {kind:13} {took[0]:6.2f} s for {given.calls} calls{more}", flush=True)


if __name__ == "__main__":
    main()
