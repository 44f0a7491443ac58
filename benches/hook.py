"""The hook of coding agents, from its cold start to its answer, beside `/bin/true`.

    python benches/hook.py [--rules N] [--rounds N]

The variants take turns, so that a busy machine slows all of them. Files are in a temporary directory, below
`--directory` if it is given: the log waits for that disk.
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

NATIVE = Path(sys.executable).parent / "bobcat-hook"
CALL = json.dumps({
    "session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "t7", "tool_input": {"command": "ls"},
}).encode()  # fmt: skip


def policy(rules: int) -> Policy:
    """A policy with one rule a tool."""
    return Policy.compile(
        {
            "rules": [
                {"match": {"tool": f"t{n}", "args.command.starts_with": "ls"}, "decision": "allow"}
                for n in range(rules)
            ]
        }
    )


def variants(directory: Path) -> dict[str, list[str]]:
    """The commands by name."""
    hook = [str(NATIVE), "codex", "--policy", str(directory / "policy.bobcat")]
    return {
        "/bin/true": ["/bin/true"],
        "no log": hook,
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
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        directory = Path(name)
        policy(given.rules).save(directory / "policy.bobcat")
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
