"""`bobcat diff`: two policies, two revisions of a repository, formats and exit codes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bobcat import Policy
from sarif_logs import results_of
from unit.cli_runner import Run, runner

OLD = """
rules:
  - {id: no-secrets, match: {tool: read, args.path.starts_with: /etc/}, decision: deny, priority: 5}
  - {id: reads, match: {tool: read}, decision: allow}
"""
WIDER = OLD.replace("/etc/", "/etc/ssh/")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("old.yaml").write_text(OLD)
    Path("wider.yaml").write_text(WIDER)
    Path("bad.yaml").write_text("rules: [{match: {}}]")
    return runner(capsys, monkeypatch)


def test_what_becomes_permitted_is_shown_with_a_call_and_both_rules(run: Run) -> None:
    done = run("diff", "old.yaml", "wider.yaml")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[:4] == ["old.yaml -> wider.yaml", "1 loosened", "permits more:", "  read: deny -> allow"]
    assert lines[4].startswith('    call  read {"path": "/etc/')
    assert lines[5] == "    old   deny by `no-secrets`  old.yaml:3:5"
    assert lines[6] == "    new   allow by `reads`  wider.yaml:4:5"


def test_the_same_policy_is_a_proof(run: Run) -> None:
    done = run("diff", "old.yaml", "old.yaml", "--fail-on", "any")
    assert (done.code, done.out.splitlines()[1]) == (0, "proved: both policies decide every call alike")


@pytest.mark.parametrize(
    ("old", "new", "fail_on", "code"),
    [
        ("old.yaml", "wider.yaml", "loosening", 1),
        ("old.yaml", "wider.yaml", "any", 1),
        ("wider.yaml", "old.yaml", "loosening", 0),
        ("wider.yaml", "old.yaml", "any", 1),
        ("old.yaml", "bad.yaml", "any", 3),
        ("old.yaml", "no-such.yaml", "any", 3),
    ],
)
def test_the_exit_code_says_what_was_found(run: Run, old: str, new: str, fail_on: str, code: int) -> None:
    assert run("diff", old, new, "--fail-on", fail_on).code == code


def test_an_unknown_that_cannot_exclude_a_loosening_fails(run: Run) -> None:
    Path("memory.yaml").write_text("rules: [{id: few, match: {tool: pay, run.count.pay.lt: 3}, decision: allow}]")
    Path("more.yaml").write_text("rules: [{id: few, match: {tool: pay, run.count.pay.lt: 4}, decision: allow}]")
    done = run("diff", "memory.yaml", "more.yaml", "--fail-on", "loosening")
    assert done.code == 1
    assert "unknown:" in done.out
    assert run("diff", "memory.yaml", "more.yaml").code == 0


def test_a_command_line_without_two_policies_is_refused(run: Run) -> None:
    assert run("diff", "old.yaml").code == 2
    assert run("diff", "--git", "nonsense").code == 2


def test_bundles_are_compared(run: Run) -> None:
    Path("old.bobcat").write_bytes(Policy.compile(OLD).to_bytes())
    assert "1 loosened" in run("diff", "old.bobcat", "wider.yaml").out


def test_json_sarif_and_markdown_say_the_same(run: Run) -> None:
    (found,) = run("diff", "old.yaml", "wider.yaml", "--format", "json").json()
    assert (found["loosening"], found["same"]) == (1, False)
    assert found["regions"][0]["call"]["tool"] == "read"
    (result,) = run("diff", "old.yaml", "wider.yaml", "--format", "sarif").json()["runs"][0]["results"]
    assert result["ruleId"] == "loosening"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "wider.yaml"
    assert "| read | deny -> allow |" in run("diff", "old.yaml", "wider.yaml", "--format", "markdown").out


def test_recorded_calls_are_counted(run: Run) -> None:
    calls = [{"tool": "read", "args": {"path": path}} for path in ("/etc/hosts", "/etc/ssh/key", "/data/a")]
    Path("calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    done = run("diff", "old.yaml", "wider.yaml", "--traffic", "calls.jsonl")
    assert "  read: deny -> allow   1 recorded call" in done.out
    assert "1 of 3 recorded calls are decided differently" in done.out
    Path("calls.jsonl").write_text('{"tool": "read"}\n{"tool": 5}\n')
    assert run("diff", "old.yaml", "wider.yaml", "--traffic", "calls.jsonl").code == 3


@pytest.fixture
def repository(run: Run) -> Run:
    """A repository in which a branch widens an included file, adds a policy and drops one."""

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], check=True, capture_output=True)

    Path("policies").mkdir()
    for path in ("old.yaml", "wider.yaml", "bad.yaml"):
        Path(path).unlink()
    git("init", "-b", "main")
    git("config", "user.email", "dev@example.org")
    git("config", "user.name", "dev")
    Path("policies/common.yaml").write_text("predicates: {secret: {args.path.starts_with: /etc/}}\n")
    Path("policies/read.yaml").write_text(
        "include: [common.yaml]\nrules:\n"
        "  - {id: no-secrets, match: {tool: read, all_of: [secret]}, decision: deny, priority: 5}\n"
        "  - {id: reads, match: {tool: read}, decision: allow}\n"
    )
    Path("policies/gone.yaml").write_text("rules: [{id: x, match: {tool: x}, decision: allow}]\n")
    Path("policies/same.yaml").write_text("rules: [{id: y, match: {tool: y}, decision: allow}]\n")
    git("add", ".")
    git("commit", "-m", "one")
    git("checkout", "-b", "feature")
    Path("policies/common.yaml").write_text("predicates: {secret: {args.path.starts_with: /etc/ssh/}}\n")
    Path("policies/new.yaml").write_text("rules: [{id: n, match: {tool: n}, decision: allow}]\n")
    Path("policies/gone.yaml").unlink()
    git("add", ".")
    git("commit", "-m", "two")
    git("checkout", "main")
    Path("policies/later.yaml").write_text("rules: [{id: l, match: {tool: l}, decision: allow}]\n")
    git("add", ".")
    git("commit", "-m", "three")
    git("checkout", "feature")
    return run


def test_policies_of_two_revisions_are_compared_with_what_they_include_there(repository: Run) -> None:
    found = repository("diff", "--git", "main...feature", "--format", "json").json()
    by_name = {item["new"]: item for item in found}
    assert set(by_name) == {
        "feature:policies/read.yaml",
        "feature:policies/new.yaml",
        "feature (no such file, which permits nothing)",
    }
    (region,) = by_name["feature:policies/read.yaml"]["regions"]
    assert (region["change"], region["old"]["place"]["file"]) == ("loosening", "policies/read.yaml")
    assert by_name["feature:policies/new.yaml"]["loosening"]
    assert by_name["feature (no such file, which permits nothing)"]["loosening"] == 0


def test_two_dots_compare_the_revisions_themselves(repository: Run) -> None:
    names = {item["old"] for item in repository("diff", "--git", "main..feature", "--format", "json").json()}
    assert "main:policies/later.yaml" in names


def test_paths_restrict_what_is_compared(repository: Run) -> None:
    done = repository("diff", "--git", "main...feature", "policies/new.yaml", "--format", "json")
    assert [item["new"] for item in done.json()] == ["feature:policies/new.yaml"]
    assert repository("diff", "--git", "main...feature", "/").code == 2


def test_a_path_of_neither_revision_is_a_mistake(repository: Run) -> None:
    done = repository("diff", "--git", "main...feature", "policies/raed.yaml", "--fail-on", "any")
    assert done.code == 2
    assert "`policies/raed.yaml` is in neither revision" in done.err
    assert repository("diff", "--git", "main...feature", "policies/gone.yaml").code == 0


def test_a_renamed_policy_is_compared_with_itself(repository: Run) -> None:
    Path("policies/same.yaml").rename("policies/moved.yaml")
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", "commit", "-qm", "move"], check=True)
    for path in ("policies/moved.yaml", "policies/same.yaml"):
        done = repository("diff", "--git", "feature~1...feature", path, "--fail-on", "any")
        assert done.code == 0
        assert done.out == (
            "feature~1:policies/same.yaml -> feature:policies/moved.yaml\n"
            "proved: both policies decide every call alike\n"
        )


def test_a_policy_that_cannot_be_read_is_named_with_its_revision(repository: Run) -> None:
    Path("policies/same.yaml").write_text("rules: [{id: y, mach: {tool: y}, decision: allow}]\n")
    subprocess.run(["git", "commit", "-qam", "break"], check=True)
    done = repository("diff", "--git", "feature~1...feature")
    assert done.code == 3
    assert "error: cannot compile `feature:policies/same.yaml`" in done.err
    assert "did you mean `match`?" in done.err


def test_options_hold_for_the_policies_of_revisions_or_are_refused(repository: Run) -> None:
    Path("policies/same.yaml").write_text(
        "vars: {n: 1}\nrules: [{id: y, match: {tool: y, args.n: '${n}'}, decision: allow}]\n"
    )
    subprocess.run(["git", "commit", "-qam", "vary"], check=True)
    asked = ("diff", "--git", "feature~1...feature", "policies/same.yaml")
    Path("policies/same.yaml").write_text(
        "vars: {n: 1}\nrules: [{id: y, match: {tool: y, args.n: '${n}'}, decision: deny}]\n"
    )
    subprocess.run(["git", "commit", "-qam", "deny"], check=True)
    assert 'y {"n": 7}' in repository(*asked, "--var", "n=7").out
    assert (
        "lynx_profile" in repository("diff", "--git", "main...feature", "policies/gone.yaml", "--profile", "lynx").out
    )
    for option in (["--include-root", "policies"], ["--expected-id", "0" * 64], ["--python-rule", "a:b"]):
        done = repository(*asked, *option)
        assert done.code == 2
        assert f"`{option[0]}` and `--git` exclude each other" in done.err


def test_an_unknown_revision_cannot_be_read(repository: Run) -> None:
    done = repository("diff", "--git", "main...no-such-branch")
    assert done.code == 3
    assert "no-such-branch" in done.err


def test_revisions_without_a_change_of_policies_have_no_difference(repository: Run) -> None:
    done = repository("diff", "--git", "main...main", "--fail-on", "any")
    assert (done.code, done.out) == (0, "no policy differs\n")


def test_a_changed_module_of_rules_is_unknown_and_fails(repository: Run) -> None:
    marked = "from bobcat import allow, rule\n\n\n@rule\ndef r(request, context):\n    return allow()\n"
    Path("policies/rules.py").write_text(marked)
    Path("policies/tool.py").write_text("from bobcat import tool\n")
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", "commit", "-qm", "rules"], check=True)
    asked = ("diff", "--git", "feature~1...feature", "--fail-on", "loosening")
    done = repository(*asked)
    assert done.code == 1
    assert "feature~1:policies/rules.py -> feature:policies/rules.py\n1 unknown\n" in done.out
    assert "tool.py" not in done.out
    assert repository(*asked, "policies/rules.py").code == 1
    assert repository(*asked, "policies/tool.py").code == 0
    (found,) = results_of(repository(*asked, "--format", "sarif").json())
    assert (found.rule, found.place.file) == ("unknown", "policies/rules.py")
