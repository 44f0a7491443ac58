"""The hook of coding agents, from its cold start to its answer, beside `/bin/true`.

    python benches/hook.py [--rules N] [--rounds N] [--calls N]

A session has `--calls` calls on record, and each round adds one. The variants take turns, so that a busy machine slows
all of them. Files are in a temporary directory, below `--directory` if it is given: the log and the session wait for
that disk.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bobcat import Policy
from bobcat._core import HookSession
from bobcat.text.json_text import json_text

NATIVE = Path(sys.executable).parent / "bobcat-hook"
CALL = json.dumps({
    "session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "t7", "tool_input": {"command": "ls"},
}).encode()  # fmt: skip


def policy(rules: int, *, remembers: bool = False) -> Policy:
    """A policy with one rule a tool; one that remembers counts the calls of each hundredth tool."""
    written = []
    for n in range(rules):
        match: dict[str, object] = {"tool": f"t{n}", "args.command.starts_with": "ls"}
        if remembers and n % 100 == 7:
            match[f"run.count.t{n}.lt"] = 1_000_000
        written.append({"match": match, "decision": "allow"})
    return Policy.compile({"rules": written})


def fill(directory: Path, calls: int) -> None:
    """Put calls on record."""
    loaded = Policy.load(directory / "remembering.bobcat")
    args, stamp = {"command": "ls"}, "2026-01-01T00:00:00.000000Z"
    request = {"tool": "t7", "args": args, "context": {"timestamp": stamp}}
    for number in range(calls):
        session = HookSession.open(loaded, directory / "sessions", "codex", "s")
        session.call(json_text(request), id=f"c{number}", tool="t7", args=json_text(args))


def variants(directory: Path) -> dict[str, list[str]]:
    """The commands by name."""
    hook = [str(NATIVE), "codex", "--policy", str(directory / "policy.bobcat")]
    return {
        "/bin/true": ["/bin/true"],
        "no log": hook,
        "session": [
            *hook[:3],
            str(directory / "remembering.bobcat"),
            "--state",
            str(directory / "sessions"),
        ],
        "log.jsonl": [*hook, "--log", str(directory / "log.jsonl")],
        "log.db (by Python)": [*hook, "--log", str(directory / "log.db")],
    }


def milliseconds(command: list[str]) -> float:
    """Run a command once; it must permit the call."""
    began = time.perf_counter()
    subprocess.run(command, input=CALL, check=True, stdout=subprocess.PIPE)
    return (time.perf_counter() - began) * 1000


def fsync_milliseconds(directory: Path) -> float:
    """One write of a line and its sync."""
    with (directory / "line").open("ab") as file:
        began = time.perf_counter()
        file.write(CALL)
        file.flush()
        os.fsync(file.fileno())
        return (time.perf_counter() - began) * 1000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        directory = Path(name)
        policy(given.rules).save(directory / "policy.bobcat")
        policy(given.rules, remembers=True).save(directory / "remembering.bobcat")
        fill(directory, given.calls)
        commands = variants(directory)
        times: dict[str, list[float]] = {each: [] for each in commands}
        syncs = []
        for number in range(given.rounds):
            for each, command in commands.items():
                if not each.startswith("log.db") or number % 10 == 0:
                    times[each].append(milliseconds(command))
            syncs.append(fsync_milliseconds(directory))
    for each, found in times.items():
        print(f"{each:20} median {statistics.median(found):7.2f} ms, fastest {min(found):7.2f} ms")
    print(f"{'a write and fsync':20} median {statistics.median(syncs):7.2f} ms, fastest {min(syncs):7.2f} ms")


if __name__ == "__main__":
    main()
