"""A check of GitHub workflows for what a schema cannot see: what their jobs need, run, pin and may do."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_REFERENCE = re.compile(r"\b(matrix|needs|steps|env|inputs)\.([\w-]+)(?:\.outputs\.([\w-]+))?")
_SCRIPT = re.compile(r"(?<![\w/.-])\.ci/([\w-]+)")
_MAKE = re.compile(r"(?:^|[\s;&|])make ((?:[\w-]+ ?)+)")
UNTRUSTED = re.compile(r"github\.(?:event\.|head_ref|ref_name)|inputs\.|matrix\.|secrets\.|needs\.|steps\.")
"""Text of others, or of another part of the workflow: it reaches a script as a variable."""


def problems(path: Path, root: Path) -> list[str]:
    """Return what is wrong with the workflow at `path` in the repository `root`, one line each."""
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    found = [f"line without a comment that names the release: {line.strip()}" for line in unnamed_pins(text)]
    if workflow.get("permissions") != {"contents": "read"}:
        found.append("permissions of the whole workflow are not `contents: read`")
    if "concurrency" not in workflow:
        found.append("no concurrency group")
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        found += [f"job {name}: {problem}" for problem in _of_job(job, jobs, root)]
    return found


def unnamed_pins(text: str) -> Iterator[str]:
    """Yield the lines that use a pinned action and do not name its release."""
    for line in text.splitlines():
        if re.search(r"uses: \S+@[0-9a-f]{40}", line) and not re.search(r"  # v\d+(?:\.\d+){1,2}$", line):
            yield line


def _of_job(job: dict[str, Any], jobs: dict[str, Any], root: Path) -> Iterator[str]:
    if "timeout-minutes" not in job:
        yield "no timeout"
    needs = job.get("needs", [])
    needs = [needs] if isinstance(needs, str) else needs
    yield from (f"needs `{other}`, which is no job" for other in needs if other not in jobs)
    if _is_circular(job, jobs):
        yield "needs itself"
    steps = {step["id"] for step in job["steps"] if "id" in step}
    matrix = _matrix_keys(job)
    for step in job["steps"]:
        uses, run = step.get("uses"), step.get("run")
        if (uses is None) == (run is None):
            yield "a step has not one of `uses` and `run`"
        if uses is not None and not uses.startswith("./") and not _PINNED.fullmatch(uses):
            yield f"`{uses}` is not pinned to a commit"
        if run is not None:
            yield from _of_script(run, root)
    for expression in _EXPRESSION.findall(str(job)):
        for kind, name, _ in _REFERENCE.findall(expression):
            if kind == "matrix" and name not in matrix:
                yield f"`matrix.{name}` is not in the matrix"
            if kind == "steps" and name not in steps:
                yield f"`steps.{name}` is no step"
            if kind == "needs" and name not in needs:
                yield f"`needs.{name}` is not needed"


def _is_circular(job: dict[str, Any], jobs: dict[str, Any]) -> bool:
    seen: list[dict[str, Any]] = []
    waiting = [job]
    while waiting:
        needs = waiting.pop().get("needs", [])
        for other in [needs] if isinstance(needs, str) else needs:
            if jobs.get(other) is job:
                return True
            if other in jobs and jobs[other] not in seen:
                seen.append(jobs[other])
                waiting.append(jobs[other])
    return False


def _matrix_keys(job: dict[str, Any]) -> set[str]:
    matrix = job.get("strategy", {}).get("matrix", {})
    included = [set(each) for each in matrix.get("include", [])]
    # A key of `include` alone counts if every combination has it.
    return (set(matrix) - {"include", "exclude"}) | (set.intersection(*included) if included else set())


def _of_script(run: str, root: Path) -> Iterator[str]:
    for expression in _EXPRESSION.findall(run):
        if UNTRUSTED.search(expression):
            yield f"`{expression.strip()}` is text of the script; pass it in `env`"
    checked = subprocess.run(["bash", "-n"], input=run, capture_output=True, text=True)
    if checked.returncode != 0:
        yield f"bash refuses `{run.strip()}`: {checked.stderr.strip()}"
    for script in _SCRIPT.findall(run):
        path = root / ".ci" / script
        if not path.is_file() or not path.stat().st_mode & 0o100:
            yield f".ci/{script} is no executable file"
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    for targets in _MAKE.findall(run):
        for target in targets.split():
            if not re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE):
                yield f"`make {target}`: there is no such target"
