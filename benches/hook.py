"""The hook of coding agents, from its cold start to its answer, beside `/bin/true`.

    python benches/hook.py [--rules N] [--rounds N] [--calls N...]

Sessions have `--calls` calls on record, each with a result that sources read; the policy has counts, a count in a
window, a sum, a sequence and a source. Each round adds one call to each. The variants take turns, so that a busy
machine slows all of them. The slowest rounds write a snapshot after the answer. Files are in a temporary directory,
below `--directory` if it is given: the log and the session wait for that disk.
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
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bobcat import Policy
from bobcat._core import HookSession
from bobcat.text.json_text import json_text

NATIVE = Path(sys.executable).parent / "bobcat-hook"
CALL = json.dumps({
    "session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "t7",
    "tool_input": {"command": "ls", "amount": 1},
}).encode()  # fmt: skip
REMEMBERS = {
    "run.count.t7.lt": 1_000_000,
    "run.count": {"of": {"tool": "t7"}, "within": "30d", "lt": 1_000_000},
    "run.sum.t7.amount.lt": 1_000_000,
    "run.never": {"event": {"call": {"tool": "t9"}}, "since": {"result": {"tool": "t7"}}},
    "args.command.from": "listed",
}


def policy(rules: int, *, remembers: bool = False) -> Policy:
    """A policy with one rule a tool; one that remembers reads the session in the rule of one tool."""
    written = []
    for n in range(rules):
        match: dict[str, object] = {"tool": f"t{n}", "args.command.starts_with": "ls"}
        if remembers and n == 7:
            match = {"tool": "t7", **REMEMBERS}
        written.append({"match": match, "decision": "allow"})
    text: dict[str, object] = {"rules": written}
    if remembers:
        text["sources"] = {"listed": {"tool": "t7", "fields": ["name", "id"]}}
    return Policy.compile(text)


def fill(directory: Path, calls: int) -> None:
    """Put calls and their results on record; the first result has the argument that the policy asks for."""
    loaded = Policy.load(directory / "remembering.bobcat")
    place = directory / f"sessions-{calls}"
    for number in range(calls + 1):
        at = datetime.now(UTC) - timedelta(minutes=10) * (calls + 1 - number)
        stamp = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        args = json_text({"command": "ls", "amount": 1})
        request = json_text({"tool": "t7", "args": json.loads(args), "context": {"timestamp": stamp}})
        value = json_text({"name": "ls" if number == 0 else f"file {number}", "id": number})
        session = HookSession.open(loaded, place, "codex", "s")
        session.call(request, id=f"c{number}", tool="t7", args=args)
        session.close()
        session = HookSession.open(loaded, place, "codex", "s")
        session.result(id=f"c{number}", tool="t7", args=args, value=value, failed=False, at=stamp)
        session.close()


def variants(directory: Path, calls: list[int]) -> dict[str, list[str]]:
    """The commands by name."""
    hook = [str(NATIVE), "codex", "--policy", str(directory / "policy.bobcat")]
    remembering = [*hook[:3], str(directory / "remembering.bobcat"), "--state"]
    sessions = {f"session of {each} calls": [*remembering, str(directory / f"sessions-{each}")] for each in calls}
    return {
        "/bin/true": ["/bin/true"],
        "no log": hook,
        **sessions,
        "log.jsonl": [*hook, "--log", str(directory / "log.jsonl")],
        "with a candidate": [
            *hook,
            *("--log", str(directory / "candidate.jsonl"), "--candidate", str(directory / "policy.bobcat")),
        ],
        "log.db (by Python)": [*hook, "--log", str(directory / "log.db")],
    }


def milliseconds(command: list[str]) -> float:
    """Run a command once; it must permit the call."""
    began = time.perf_counter()
    answer = subprocess.run(command, input=CALL, check=True, stdout=subprocess.PIPE).stdout
    took = time.perf_counter() - began
    if answer:
        raise SystemExit(f"{command} answered {answer.decode()}")
    return took * 1000


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
    parser.add_argument("--calls", type=int, nargs="*", default=[0, 1_000, 10_000])
    parser.add_argument("--directory", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        directory = Path(name)
        policy(given.rules).save(directory / "policy.bobcat")
        policy(given.rules, remembers=True).save(directory / "remembering.bobcat")
        for calls in given.calls:
            fill(directory, calls)
        commands = variants(directory, given.calls)
        times: dict[str, list[float]] = {each: [] for each in commands}
        syncs = []
        for number in range(given.rounds):
            for each, command in commands.items():
                if not each.startswith("log.db") or number % 10 == 0:
                    times[each].append(milliseconds(command))
            syncs.append(fsync_milliseconds(directory))
    for each, found in {**times, "a write and fsync": syncs}.items():
        median, slow = statistics.median(found), statistics.quantiles(found, n=50)[-1]
        print(f"{each:24} fastest {min(found):7.2f} ms, median {median:7.2f} ms, 98 % below {slow:7.2f} ms")


if __name__ == "__main__":
    main()
