"""What a worker, `bobcat --help` and `bobcat eval BUNDLE` import: no module that they can do without.

`benches/startup.py` measures their time; modules are what costs it, and lists of them hold on a busy machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bobcat import compile_policy
from bobcat.cli.check import MAX_RULES

POLICY = """
rules:
  - {id: rm, match: {tool: shell, args.cmd.matches: "rm -rf"}, decision: deny, reason: not that}
  - {id: rest, match: {tool: shell}, decision: allow}
"""
WORKER = """
import bobcat
policy = bobcat.load_bundle(PATH)
decision = bobcat.evaluate(policy, bobcat.Request("shell", {"cmd": "rm -rf /"}))
assert (decision.verdict, decision.reason, policy.rule_count) == ("deny", "not that", 2)
"""
COMMAND = """
from bobcat.cli.main import main
try:
    main(ARGUMENTS)
except SystemExit as ended:
    assert ended.code == 0
"""
REPORT = """
import sys
before = set(sys.modules)
PATH, ARGUMENTS = sys.argv[1], sys.argv[2:]
{}
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""

# With the modules that these import in turn: `inspect` for `dataclasses`, `zlib` for `shutil`.
COMPILER = {"yaml", "re2", "bobcat.compiler", "bobcat.frontend", "bobcat.lint", "bobcat.build", "bobcat.diagnostics"}
RUNS = {"asyncio", "bobcat.model.run", "bobcat.runtime", "bobcat.tools", "bobcat.journal", "logging", "hashlib"}
DECODER = {"msgspec", "bobcat.ir.schema", "bobcat.ir.canonical", "bobcat.bundle.manifest", "bobcat.language"}
NEVER = COMPILER | RUNS | DECODER | {"rich", "bobcat.bundle.explanation", "ssl", "sqlite3", "email", "zlib"}
NOT_CHECKED = {
    "bobcat.frontend.python.lower", "bobcat.frontend.lynx.policy", "bobcat.doctor.examine", "bobcat.testing",
    "bobcat.diagnostics.sarif", "bobcat.build", "rich",
}  # fmt: skip
WITH_TYPING = {"typing", "re", "enum", "functools", "collections", "contextlib"}
"""`typing` and what it imports: half of the time of the other imports. The first decision needs them."""

ENTRY = ("main", "commands", "exit_codes")
"""The modules of every command line."""


def imported(body: str, path: str = "", *arguments: str) -> list[str]:
    """The modules that a program imports beside those that the interpreter has at its start."""
    command = [sys.executable, "-c", REPORT.format(body), path, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stderr.splitlines()[-1].split()


def forbidden(modules: Sequence[str], packages: set[str]) -> list[str]:
    """The modules that are, or are below, one of these packages."""
    return [name for name in modules if any(name == each or name.startswith(f"{each}.") for each in packages)]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("start") / "policy.bobcat"
    compile_policy(POLICY).save(path)
    return str(path)


def test_a_worker_that_decides_imports_next_to_nothing(bundle: str) -> None:
    modules = imported(WORKER, bundle)
    assert "bobcat.bundle.load" in modules
    others = {"dataclasses", "inspect", "click", "json", "pathlib", "copy", "importlib", "uuid", "decimal"}
    assert forbidden(modules, NEVER | others) == []


def test_importing_what_a_worker_calls_imports_no_typing() -> None:
    modules = imported("import bobcat\nbobcat.evaluate, bobcat.load_bundle")
    assert {"bobcat._core", "bobcat.bundle.load"} <= set(modules)
    assert forbidden(modules, NEVER | WITH_TYPING | {"dataclasses", "inspect", "datetime"}) == []


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_imports_no_click_and_no_policy(bundle: str, option: str) -> None:
    modules = imported(COMMAND, bundle, option)
    ours = {name for name in modules if name.startswith("bobcat")}
    assert ours == {
        "bobcat",
        "bobcat.lazy",
        "bobcat.cli",
        "bobcat.cli.main",
        "bobcat.cli.commands",
        "bobcat.cli.exit_codes",
    }
    assert forbidden(modules, NEVER | WITH_TYPING | {"click", "json", "dataclasses", "pathlib", "shutil"}) == []


@pytest.mark.parametrize("format", ["text", "json"])
def test_eval_of_a_bundle_imports_no_click_and_no_front_end(bundle: str, format: str) -> None:
    call = ("eval", bundle, "--tool", "shell", "--args", '{"cmd": "ls"}', "--format", format)
    modules = imported(COMMAND, bundle, *call)
    assert forbidden(modules, NEVER | {"click", "pathlib", "dataclasses", "copy", "inspect", "shutil"}) == []
    commands = {name for name in modules if name.startswith("bobcat.cli.")}
    assert commands == {
        f"bobcat.cli.{name}" for name in ("main", "commands", "exit_codes", "plain_eval", "json_document")
    }


def test_the_command_eval_imports_no_front_end(bundle: str) -> None:
    call = ("eval", bundle, "--tool", "shell", "--args", '{"cmd": "ls"}', "--profile", "strict")
    modules = imported(COMMAND, bundle, *call)
    assert "bobcat.cli.eval" in modules
    assert forbidden(modules, NEVER | {"pathlib", "dataclasses", "copy"}) == []


def test_check_of_a_policy_without_python_rules_imports_no_compiler_of_them(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    modules = imported(COMMAND, "", "check", str(policy))
    assert "bobcat.frontend.strict.policy" in modules
    assert forbidden(modules, NOT_CHECKED | RUNS - {"hashlib"}) == []


@pytest.mark.parametrize(("rules", "exact"), [(MAX_RULES, True), (MAX_RULES + 1, False)])
def test_check_imports_the_exact_analysis_for_policies_that_it_analyses(
    tmp_path: Path, rules: int, exact: bool
) -> None:
    policy = tmp_path / "policy.yaml"
    lines = (f"- {{id: r{n}, match: {{tool: t{n}}}, decision: deny}}\n" for n in range(rules))
    policy.write_text("rules:\n" + "".join(lines), encoding="utf-8")
    assert ("bobcat.analysis.exact_lints" in imported(COMMAND, "", "check", str(policy))) is exact


def test_the_lists_name_modules_that_exist() -> None:
    """A module that is renamed would be allowed by mistake."""
    listed = NEVER | NOT_CHECKED
    ours = sorted(name for name in listed if name.startswith("bobcat"))
    body = f"import {', '.join(ours)}, {', '.join(sorted(listed - set(ours)))}"
    assert set(forbidden(imported(body), set(ours))) >= set(ours)
