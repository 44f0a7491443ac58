"""Runs the steps of a composite action as GitHub's runner does, for the expressions that our action uses."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


@dataclass
class Job:
    """The state of a job: what its steps printed and gave out, the steps with `uses`, and the result."""

    root: Path
    github: dict[str, Any]
    environment: dict[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    log: str = ""
    failed: str = ""

    @property
    def summary(self) -> str:
        path = self.root / "summary.md"
        return path.read_text() if path.exists() else ""


def run_action(action: Path, job: Job, repository: Path, **given: str) -> Job:
    """Run every step; the first one that fails ends the job."""
    definition = yaml.safe_load((action / "action.yml").read_text())
    inputs = {name: str(each.get("default", "")) for name, each in definition["inputs"].items()}
    unknown = set(given) - set(inputs)
    assert not unknown, unknown
    inputs = {name: _text(value, {}, job) for name, value in inputs.items()} | given
    for number, step in enumerate(definition["runs"]["steps"]):
        if "if" in step and not _holds(step["if"], inputs, job):
            continue
        if "uses" in step:
            job.used.append((step["uses"], {k: _text(v, inputs, job) for k, v in step.get("with", {}).items()}))
            continue
        output = job.root / f"output-{number}"
        output.touch()
        environment = {
            **os.environ, **job.environment, "GITHUB_OUTPUT": str(output), "RUNNER_TEMP": str(job.root),
            "GITHUB_STEP_SUMMARY": str(job.root / "summary.md"), "GITHUB_ACTION_PATH": str(action),
            **{name: _text(value, inputs, job) for name, value in step.get("env", {}).items()},
        }  # fmt: skip
        directory = repository / _text(step.get("working-directory", "."), inputs, job)
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=directory, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        job.log += done.stdout + done.stderr
        pairs = (line.partition("=") for line in output.read_text().splitlines())
        job.outputs[step.get("id", str(number))] = {name: value for name, _, value in pairs}
        if done.returncode:
            job.failed = step["name"]
            return job
    return job


def _text(value: object, inputs: dict[str, str], job: Job) -> str:
    return _EXPRESSION.sub(lambda found: _value(found[1].strip(), inputs, job), str(value))


def _value(name: str, inputs: dict[str, str], job: Job) -> str:
    if name.startswith("'"):
        return name.strip("'")
    context, *path = name.split(".")
    if context == "inputs":
        return inputs[path[0]]
    if context == "steps":
        return job.outputs.get(path[0], {}).get(path[2], "")
    assert context == "github", name
    found: Any = job.github
    for part in path:
        found = found.get(part, "") if isinstance(found, dict) else ""
    return found if isinstance(found, str) else json.dumps(found)


def _holds(condition: str, inputs: dict[str, str], job: Job) -> bool:
    for part in condition.split("&&"):
        left, sign, right = part.strip().split(" ")
        equal = _value(left, inputs, job) == _value(right, inputs, job)
        if equal is not (sign == "=="):
            return False
    return True
