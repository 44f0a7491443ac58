"""lynx-agent's command line, under its path: the same commands, messages and exit codes. `bobcat` has better ones."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, NoReturn

import click

from bobcat.lynx.core.policy import PolicyBundle, load_policy_file
from bobcat.lynx.durability import replay, step_record_from_json
from bobcat.lynx.installing import install, version_of_environment
from bobcat.text.display import safe_name, safe_names, safe_text

__all__ = ["cli"]

VERSION = "2.5.0"
MESSAGE_CHARS = 100
STARTER = """\
version: 1
defaults:
  on_missing_shadow: approve_required
  on_no_match: deny

rules:
  # At equal priority the first rule that matches decides.
  - id: read-only-allow
    description: Reading is fine
    match:
      declared.scope.contains_any: ["filesystem:read", "net:read"]
    decision: allow

  - id: shell-rm-rf-root
    description: Nothing deletes the root of the file system
    match:
      tool: shell
      args.cmd.matches: '^\\s*rm\\s+(-[rRf]+\\s+)+/(\\s|$)'
    decision: deny
    reason: "rm -rf / is never allowed"

  - id: irreversible-needs-approval
    description: A person decides on what cannot be undone
    match:
      declared.reversible: false
    decision: approve_required
"""


@click.group()
@click.version_option(VERSION, prog_name="lynx")
def cli() -> None:
    """Policies for AI agents' tool calls, as lynx-agent has them."""


@cli.command()
@click.option("--dir", "directory", default=".", help="Where to write it.")
@click.option("--force", is_flag=True, help="Replace a policy.yaml that is there.")
def init(directory: str, *, force: bool) -> None:
    """Write a policy.yaml to start from."""
    folder = Path(directory).resolve()
    path = folder / "policy.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(safe_text(f"could not create {folder}: {error}"))
    if path.exists() and not force:
        fail(safe_text(f"= {path} already exists (use --force to overwrite)"))
    try:
        path.write_text(STARTER, encoding="utf-8")
    except OSError as error:
        fail(safe_text(f"could not write {path}: {error}"))
    click.echo(f"wrote {safe_text(path)}")


@cli.command()
@click.argument("script", type=click.Path(exists=True))
def run(script: str) -> None:
    """Import SCRIPT and await its `main()`."""
    directory = str(Path(script).resolve().parent)
    added = directory not in sys.path
    if added:
        sys.path.insert(0, directory)
    try:
        entry = runpy.run_path(script).get("main")
        if not iscoroutinefunction(entry):
            fail("script must define an async `main()` coroutine that calls run_agent(...)")
        asyncio.run(entry())
    finally:
        if added and directory in sys.path:
            sys.path.remove(directory)


@cli.command()
@click.argument("records_file", type=click.Path(exists=True))
@click.option("--run-id", default=None, help="Show this run only.")
def trace(records_file: str, run_id: str | None) -> None:
    """Show what a journal of one record per line says of each step."""
    records, seen = [], set()
    with open(records_file, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            found = _run_of(line, number)
            seen.add(found)
            if run_id is not None and found != run_id:
                continue
            try:
                records.append(step_record_from_json(line))
            except Exception as error:
                fail(safe_text(f"line {number}: unparseable record: {error}"))
    if not records:
        fail("no records found")
    if len(seen) > 1 and run_id is None:
        fail(f"file contains {len(seen)} runs ({safe_names(sorted(seen))}) — pick one with --run-id")
    view = replay(records)
    click.echo(f"run {safe_text(view.run_id)}: {view.records} records, {view.attempts} attempt(s)")
    for step in view.steps:
        if step.tool is None:
            click.echo(f"  step {step.step}: final answer: {safe_text(step.message)}")
            continue
        status = "?" if step.ok is None else "ok" if step.ok else "failed"
        note = ""
        if step.uncertain:
            note = "  [UNCERTAIN: intent without result — action may have executed]"
        elif step.resolved_uncertain:
            note = "  [resolved uncertain retry — the original attempt may still have executed]"
        click.echo(
            f"  step {step.step}: {safe_name(step.tool)} verdict={safe_text(step.verdict or '-')} {status}{note}"
        )
        if step.message:
            click.echo(f"           {safe_text(step.message[:MESSAGE_CHARS])}")
    click.echo(f"final: {'(run incomplete)' if view.final_answer is None else safe_text(view.final_answer)}")


def policy_commands(load: Callable[[str], PolicyBundle]) -> click.Group:
    """Return the commands about policy files, which `load` compiles."""

    @click.group("policy")
    def policy() -> None:
        """Look at policy files."""

    @policy.command("lint")
    @click.argument("path", default="policy.yaml")
    def lint(path: str) -> None:
        """Compile a policy and list its rules."""
        bundle = _loaded(load, path)
        click.echo(f"{len(bundle.rules)} rules compiled cleanly")
        for rule in bundle.rules:
            click.echo(f"  {safe_name(rule.id)} (priority {rule.priority}) - {safe_text(rule.description)}")

    @policy.command("bundle-id")
    @click.argument("path", default="policy.yaml")
    def bundle_id(path: str) -> None:
        """Print the id of a policy."""
        click.echo(_loaded(load, path).id)

    return policy


policy = policy_commands(load_policy_file)
cli.add_command(policy)


def _loaded(load: Callable[[str], PolicyBundle], path: str) -> PolicyBundle:
    try:
        return load(path)
    except Exception as error:
        report = bool(getattr(error, "diagnostics", ()))  # has several lines
        fail(safe_text(f"{type(error).__name__}: {error}", multiline=report))


def _run_of(line: str, number: int) -> str:
    """Return the run id of a line."""
    try:
        data: Any = json.loads(line.strip())  # Any: JSON
    except ValueError as error:
        fail(safe_text(f"line {number}: not JSON: {error}"))
    record = data if isinstance(data, dict) else {}
    if "run_id" not in record and "correlation_id" in record:
        fail(
            f"line {number}: this looks like an audit-sink file (jsonl_sink output), not a RunStore journal — trace "
            "reads StepRecords (step_record_to_json format)"
        )
    if "run_id" not in record:
        fail(f"line {number}: not a StepRecord (no run_id)")
    return str(record["run_id"])


def fail(words: str) -> NoReturn:
    """End with exit code 1 and one line on stderr."""
    click.echo(words, err=True)
    sys.exit(1)


def main() -> None:
    """The `lynx` command: programs that it runs import `lynx` from here, in the version of `BOBCAT_LYNX_VERSION`."""
    try:
        install(children=True, version=version_of_environment())
    except ValueError as error:
        click.echo(f"lynx: {safe_text(error)}", err=True)
        sys.exit(2)
    commands: click.Group = import_module("lynx.cli.main").cli
    commands()


if __name__ == "__main__":
    import_module("bobcat.lynx.cli.main").cli()  # in the version that is installed
