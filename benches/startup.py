"""Start-up: what a worker, the command line and the native hook need before their first answer, over `python -c pass`.

    python benches/startup.py [--wheel WHEEL] [--rounds N] [--rules N] [--keep FILE] [--imports NAME]

A fresh environment gets the core dependencies and Bobcat: the wheel, or the built tree that this program imports, with
its bytecode. The variants take turns; each round has one `python -c pass`, and the figures are medians of the
differences to that of the same round. Processor time is user and system time of the process: on a busy machine it
counts, and wall time does not. `--imports` prints the slowest imports of one variant and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import bobcat
from compare import machine
from hook import CALL, policy
from startup_page import FIGURES

ROOT = Path(__file__).resolve().parent.parent
CORE = ("click", "google-re2", "markdown-it-py", "mdurl", "msgspec", "pygments", "pyyaml", "rich")
"""The dependencies of the package, with theirs."""
SCRIPT = """#!{python}
# -*- coding: utf-8 -*-
import re
import sys
from bobcat.cli.main import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""
"""The command as pip writes it."""
IMPORT = "import bobcat; bobcat.evaluate, bobcat.load_bundle"
WORKER = """
import bobcat
policy = bobcat.load_bundle({path!r})
decision = bobcat.evaluate(policy, bobcat.Request("t7", {{"command": "ls"}}))
assert decision.verdict == "allow"
"""
SLOWEST = 25


def environment(directory: Path, wheel: Path | None) -> Path:
    """Make the environment; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    python = directory / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = [
        line.split()[0]
        for line in (ROOT / ".ci" / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
        if line.partition("==")[0] in CORE
    ]
    subprocess.run([*pip, *pinned], check=True)
    if wheel is not None:
        subprocess.run([*pip, "--no-deps", str(wheel)], check=True)
        return python
    version = f"python{platform.python_version().rpartition('.')[0]}"
    package = directory / "lib" / version / "site-packages" / "bobcat"
    shutil.copytree(Path(bobcat.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([str(python), "-m", "compileall", "-q", str(package)], check=True)
    command = directory / "bin" / "bobcat"
    command.write_text(SCRIPT.format(python=python), encoding="utf-8")
    command.chmod(0o755)
    hook = Path(sys.executable).parent / "bobcat-hook"
    if hook.is_file():
        shutil.copy(hook, directory / "bin" / "bobcat-hook")
    return python


def variants(python: Path, bundle: Path) -> dict[str, list[str]]:
    """The commands by name; the first one is the base of the others."""
    command, hook = str(python.with_name("bobcat")), python.with_name("bobcat-hook")
    code = [str(python), "-c"]
    found = {
        "python -c pass": [*code, "pass"],
        "a worker's imports": [*code, IMPORT],
        "a worker's first decision": [*code, WORKER.format(path=str(bundle))],
        "bobcat --help": [command, "--help"],
        "bobcat eval BUNDLE": [command, "eval", str(bundle), "--tool", "t7", "--args", '{"command": "ls"}'],
        "import click": [*code, "import click"],
    }
    if hook.is_file():
        found["bobcat-hook"] = [str(hook), "codex", "--policy", str(bundle)]
    return found


def once(command: list[str]) -> tuple[float, float]:
    """Run a command; return its milliseconds of wall and of processor time."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    began = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=clean)
    assert process.stdin is not None
    process.stdin.write(CALL)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return took * 1000, (usage.ru_utime + usage.ru_stime) * 1000


def measure(commands: dict[str, list[str]], rounds: int) -> list[dict[str, Any]]:
    """A row for each variant: medians, and medians over the base."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            took = once(command)
            if number:  # the first round reads files and makes caches
                times[name].append(took)
    base = next(iter(times.values()))
    rows = []
    for name, found in times.items():
        over = [(wall - other, spent - less) for (wall, spent), (other, less) in zip(found, base, strict=True)]
        medians = [[round(statistics.median(each), 1) for each in zip(*pairs, strict=True)] for pairs in (found, over)]
        rows.append({"name": name, "wall_ms": medians[0][0], "cpu_ms": medians[0][1],
                     "wall_over_ms": medians[1][0], "cpu_over_ms": medians[1][1]})  # fmt: skip
    return rows


def slowest(command: list[str], python: Path) -> None:
    """Print the imports of a command with the most time of their own."""
    words = command if command[0] == str(python) else [str(python), *command]
    run = subprocess.run([python, "-X", "importtime", *words[1:]], capture_output=True, text=True, check=True)
    rows = [line.removeprefix("import time:").split("|") for line in run.stderr.splitlines() if "|" in line][1:]
    rows.sort(key=lambda row: -int(row[0]))
    print(f"{len(rows)} modules")
    for own, _, name in rows[:SLOWEST]:
        print(f"{int(own) / 1000:7.2f} ms  {name.strip()}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--rules", type=int, default=100)
    parser.add_argument("--keep", type=Path, help="write the results there, and the figures of the page")
    parser.add_argument("--imports", metavar="NAME")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        bundle = directory / "policy.bobcat"
        policy(given.rules).save(bundle)
        python = environment(directory / "venv", given.wheel)
        commands = variants(python, bundle)
        if given.imports:
            slowest(commands[given.imports], python)
            return
        rows = measure(commands, given.rounds)
    load = os.getloadavg()[0]
    for row in rows:
        print("{name:26} wall {wall_ms:6.1f} ms, CPU {cpu_ms:6.1f} ms; over the first: wall {wall_over_ms:6.1f} ms, "
              "CPU {cpu_over_ms:6.1f} ms".format(**row))  # fmt: skip
    print(f"{given.rounds} rounds, a load average of {load:.1f}")
    if given.keep:
        results = {"machine": {**machine(), "load_average": round(load, 1)}, "rounds": given.rounds,
                   "rules": given.rules, "rows": rows}  # fmt: skip
        given.keep.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
        FIGURES.update(results)


if __name__ == "__main__":
    main()
