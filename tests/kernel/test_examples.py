"""Every example runs and prints what its reader is promised; every example policy is clean and decides as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat.lint.check import check_source

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
OUTPUTS = Path(__file__).parent / "outputs"
NUMBERED = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))
POLICIES = sorted((EXAMPLES / "policies").glob("*.yaml"))


def run(script: Path, *args: str, **env: str) -> str:
    """The output of a script. Warnings are errors there too."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), *args],
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env={**os.environ, **env}, cwd=OUTPUTS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("script", NUMBERED, ids=lambda path: path.stem)
def test_an_example_prints_what_it_promises(script: Path) -> None:
    expected = OUTPUTS / f"{script.stem}.txt"
    printed = run(script, ANTHROPIC_API_KEY="", OPENAI_API_KEY="")
    if os.environ.get("BOBCAT_UPDATE_OUTPUTS"):
        expected.write_text(printed)
    assert printed == expected.read_text()


def test_every_output_has_its_example() -> None:
    names = {path.stem for path in OUTPUTS.glob("*.txt")}
    assert names == {*(path.stem for path in NUMBERED), "demo"}


def test_the_demo_shows_all_five_verdicts_and_explains_a_denial(tmp_path: Path) -> None:
    printed = run(EXAMPLES / "demo.py", str(tmp_path), NO_COLOR="1")
    normalised = re.sub(r"rules in \d+ ms", "rules in N ms", printed)
    normalised = re.sub(r"digest [0-9a-f]{64}", "digest D", normalised)
    expected = OUTPUTS / "demo.txt"
    if os.environ.get("BOBCAT_UPDATE_OUTPUTS"):
        expected.write_text(normalised)
    assert normalised == expected.read_text()
    assert "s3cret" not in printed.split("to the model")[-3]
    # It really happened.
    assert (tmp_path / "workspace" / "notes" / "today.md").read_text() == "release 1.4.2\n"
    assert (tmp_path / "workspace" / "billing.version").read_text() == "1.4.2"
    assert len((tmp_path / "audit.jsonl").read_text().splitlines()) == 40
    assert bobcat.load_bundle(tmp_path / "ops.bobcat").id in printed


def test_the_demo_needs_no_directory_and_colours_only_a_terminal() -> None:
    assert "\x1b[" not in run(EXAMPLES / "demo.py")
    assert "\x1b[" in run(EXAMPLES / "demo.py", FORCE_COLOR="1", NO_COLOR="", TERM="xterm-256color")


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_an_example_policy_has_no_findings(path: Path) -> None:
    assert check_source(path.read_text(), str(path)) == ()


def decide(environment: str, tool: str, **args: Any) -> tuple[str, str]:
    policy = bobcat.load_policy_file(str(EXAMPLES / "policies" / "ops.yaml"))
    request = bobcat.request_from_json({"tool": tool, "args": args, "context": {"environment": environment}})
    decision = bobcat.evaluate(policy, request)
    return decision.verdict.value, decision.matched_rules[-1]


@pytest.mark.parametrize(
    ("cmd", "verdict"),
    [
        ("ls notes", "allow"),
        ("cat notes/today.md", "allow"),
        ("git log --oneline -n 20", "allow"),
        ("cat /etc/passwd", "deny"),
        ("cat ../secret", "deny"),
        ("ls; reboot", "deny"),
        ("ls\nreboot", "deny"),
        ("cat notes/a.md\n", "allow"),
        ("cat notes/a.md\nreboot", "deny"),
        ("/bin/rm x", "deny"),
        ("sh -c 'rm x'", "deny"),
        ("git log --output=x", "deny"),
    ],
)
def test_the_ops_policy_reads_shell_lines(cmd: str, verdict: str) -> None:
    assert decide("staging", "shell", cmd=cmd)[0] == verdict


@pytest.mark.parametrize(
    ("environment", "sql", "decision"),
    [
        ("prod", "SELECT name FROM services LIMIT 5", ("allow", "sql-reads")),
        ("prod", "SELECT name FROM services", ("transform", "sql-reads-are-limited")),
        ("prod", "SELECT name FROM services; DELETE FROM services", ("deny", "sql-changes-in-prod")),
        ("prod", "SELECT name FROM services -- LIMIT 5", ("deny", "<default:on_missing_shadow>")),
        ("prod", "WITH x AS (DELETE FROM t) SELECT 1", ("deny", "sql-changes-in-prod")),
        ("staging", "UPDATE services SET version = '2' WHERE name = 'billing'", ("allow", "sql-changes-in-staging")),
        ("staging", "UPDATE services SET version = '2'", ("deny", "<default:on_missing_shadow>")),
        ("Prod", "DELETE FROM t WHERE a = 1", ("deny", "<default:on_missing_shadow>")),
        ("staging", "DROP TABLE t", ("deny", "<default:on_missing_shadow>")),
    ],
)
def test_the_ops_policy_reads_sql(environment: str, sql: str, decision: tuple[str, str]) -> None:
    assert decide(environment, "query", sql=sql) == decision


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/etc/x", "files-outside-workspace"),
        ("a/x.md", "files-outside-workspace"),
        ("notes/../x.md", "files-outside-workspace"),
        ("../x", "<rule_error:files-outside-workspace:undecidable>"),
        ("a/../../x", "<rule_error:files-outside-workspace:undecidable>"),
        ("~/x", "<rule_error:files-outside-workspace:undecidable>"),
    ],
)
def test_the_ops_policy_keeps_files_in_the_workspace(path: str, rule: str) -> None:
    assert decide("staging", "fs.write", path=path, content="") == ("deny", rule)
    assert decide("staging", "fs.delete", path=path) == ("deny", rule)
