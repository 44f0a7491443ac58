"""`bobcat import` as a command; `test_import_*` have the decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unit.cli_runner import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("settings.json").write_text(json.dumps({"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(rm:*)"]}}))
    return runner(capsys, monkeypatch)


def test_a_policy_is_written_that_compiles_and_decides(run: Run) -> None:
    done = run("import", "claude", "settings.json", "-o", "policy.yaml")
    assert (done.code, "settings.json:1: note: Bash(ls:*)" in done.err) == (0, True)
    assert run("check", "policy.yaml").code == 0
    assert run("compile", "policy.yaml", "-o", "policy.bobcat").code == 0
    for command, code in (("ls -la", 0), ("ls; rm x", 4), ("cat x", 4)):
        args = json.dumps({"command": command})
        assert run("eval", "policy.bobcat", "--tool", "Bash", "--args", args, "--exit-code").code == code


def test_the_policy_goes_to_standard_output(run: Run) -> None:
    done = run("import", "claude", "settings.json")
    assert done.out.startswith("# Imported by `bobcat import claude` from settings.json.")
    shown = run("import", "claude", "settings.json", "--format", "json").json()
    assert (shown["policy"], shown["rules"]) == (done.out, 2)
    assert {"place", "source", "effect"} == set(shown["notes"][0])
    assert run("import", "codex", "-", stdin='prefix_rule(pattern=["ls"])').code == 0


def test_files_of_one_host_are_joined(run: Run) -> None:
    Path("local.json").write_text(json.dumps({"permissions": {"deny": ["Bash(ls:*)"]}}))
    run("import", "claude", "settings.json", "local.json", "-o", "policy.yaml")
    args = json.dumps({"command": "ls"})
    assert '"deny"' in run("eval", "policy.yaml", "--tool", "Bash", "--args", args, "--format", "json").out


def test_an_existing_file_stays(run: Run) -> None:
    Path("policy.yaml").write_text("mine")
    assert run("import", "claude", "settings.json", "-o", "policy.yaml").code == 3
    assert Path("policy.yaml").read_text() == "mine"
    assert run("import", "claude", "settings.json", "-o", "policy.yaml", "--force").code == 0


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("claude", "missing.json"), 3),
        (("claude",), 2),
        (("emacs", "settings.json"), 2),
        (("gemini", "settings.json"), 3),
        (("codex", "settings.json"), 3),
        (("claude", "."), 3),
        (("claude", "settings.json", "-o", "no/such/file"), 3),
    ],
)
def test_a_file_that_cannot_be_imported_is_an_error(run: Run, args: tuple[str, ...], code: int) -> None:
    assert run("import", *args).code == code


def test_text_that_is_not_utf_8_is_an_error(run: Run) -> None:
    Path("x.rules").write_bytes(b"\xff")
    assert run("import", "codex", "x.rules").code == 3
