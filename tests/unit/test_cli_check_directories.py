"""`bobcat check DIRECTORY` and `--tools`: every policy below a directory, in one order, with one summary."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.cli_runner import Run, runner

GOOD = "rules: [{id: a, match: {tool: x}, decision: allow}]\n"
WARNED = "rules: [{id: a, match: {tool.starts_with: read_}, decision: allow}]\n"
WRONG = "rules: [{id: a, match: {arg.x: 1}, decision: allow}]\n"
TOOLS = """\
from bobcat import tool
from bobcat.tools import ToolSet

@tool()
async def read_file(path: str) -> str:
    return path

tools = ToolSet.from_functions(read_file)
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "policies/b.yaml": WARNED,
        "policies/a/z.yml": GOOD,
        "policies/ci.yaml": "jobs: {build: {steps: []}}\n",
        "policies/role.yaml": "apiVersion: rbac/v1\nkind: Role\nrules: [{verbs: [get]}]\n",
        "policies/.hidden/c.yaml": WRONG,
        "policies/rules.py": "raise RuntimeError\n",
        "policies/notes.txt": "rules:\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_every_policy_below_a_directory_is_checked(run: Run, here: Path) -> None:
    done = run("check", "policies")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "2 policies: 0 errors, 1 warning, 2 notes"
    assert "`policies/ci.yaml` is skipped: it has none of the keys" in done.out
    assert "`policies/role.yaml` is skipped: its `apiVersion` marks" in done.out
    assert "hidden" not in done.out


def test_the_exit_code_is_that_of_the_files(run: Run, here: Path) -> None:
    assert run("check", "--deny-warnings", "policies").code == 1
    (here / "policies" / "wrong.yaml").write_text(WRONG)
    assert run("check", "policies").code == 1
    assert run("check", "policies/a").code == 0


def test_a_directory_without_a_policy_is_an_error_of_the_input(run: Run, here: Path) -> None:
    (here / "empty").mkdir()
    done = run("check", "empty")
    assert (done.code, done.err) == (3, "error: no policy found below `empty`\n")


def test_json_and_sarif_are_of_all_files_in_the_order_of_their_paths(run: Run, here: Path) -> None:
    (here / "policies" / "a" / "a.yaml").write_text(WRONG)
    document = run("check", "--format", "json", "policies").json()
    files = [item["span"]["file"] for item in document["diagnostics"] if item["span"]]
    assert files == ["policies/a/a.yaml", "policies/b.yaml"]
    assert (document["errors"], document["warnings"]) == (1, 1)
    sarif = run("check", "--format", "sarif", "policies").json()
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["N0103", "N0103", "E0301", "W0131"]


def test_a_file_that_is_named_twice_is_checked_once(run: Run, here: Path) -> None:
    assert run("check", "policies/a", "policies/a/z.yml").out == "1 policy: 0 errors, 0 warnings\n"


def test_what_is_ignored_is_counted(run: Run, here: Path) -> None:
    (here / "p.yaml").write_text(WARNED.rstrip() + "  # bobcat: ignore W0131 because all of them read\n")
    done = run("check", "--deny-warnings", "p.yaml")
    assert (done.code, done.out) == (0, "1 policy: 0 errors, 0 warnings, 1 ignored\n")


def test_tools_are_imported_and_compared(run: Run, here: Path) -> None:
    (here / "my_tools.py").write_text(TOOLS)
    (here / "p.yaml").write_text("rules: [{id: a, match: {tool: raed_file}, decision: deny}]\n")
    for spec in ("my_tools.py", "my_tools.py:tools"):
        done = run("check", "--tools", spec, "p.yaml")
        assert done.code == 0
        assert "did you mean `read_file`?" in done.out
        assert done.out.splitlines()[-1] == "1 policy: 0 errors, 1 warning, 1 note"
    assert run("check", "--tools", "my_tools.py:nothing", "p.yaml").code == 3
    assert run("check", "--tools", "missing.py", "p.yaml").code == 3


def test_a_comment_in_a_module_of_rules_ignores_a_finding(run: Run, here: Path) -> None:
    (here / "built.py").write_text(
        "from bobcat.build import tool, when\n\n"
        'READS = when(tool.starts_with("read_")).allow(id="a")  # bobcat: ignore W0131 because all of them read\n'
    )
    done = run("check", "built.py")
    assert done.out.splitlines()[-1] == "1 policy: 0 errors, 0 warnings, 1 ignored"
