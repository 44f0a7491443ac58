"""Modules of rules on the command line: compiled, checked, and what importing them does."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import pytest

from bobcat import load_bundle, request_from_json
from unit.cli_runner import Run, runner

RULES = '''\
from bobcat import allow, deny, rule
import colorsys
import rule_tables


@rule(priority=5)
def no_rm(request, context):
    """Files are kept."""
    if request.args.get("cmd", "").startswith(rule_tables.PREFIXES):
        return deny("no deleting")
    return None


@rule
def reads(request, context):
    return allow() if request.tool == "read_file" else None


def not_a_rule(request, context):
    while True:
        pass
'''
POLICY = "rules:\n  - {id: shell, match: {tool: shell}, decision: allow}\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("rule_tables", "colorsys", "kept_rules", "broken_rules"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "rule_tables.py").write_text('PREFIXES = ("rm ", "shred ")\n')
    (tmp_path / "kept_rules.py").write_text(RULES)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def test_a_module_becomes_a_bundle_that_needs_no_code(run: Run, here: Path) -> None:
    done = run("compile", "kept_rules.py", "-o", "out.bundle")
    bundle = load_bundle(here / "out.bundle")
    assert done.code == 0
    assert done.out == f"out.bundle: 2 rules, id {bundle.id}\n"
    decision = bundle.evaluate(request_from_json({"tool": "shell", "args": {"cmd": "rm -r x"}}))
    assert (str(decision.verdict), decision.matched_rules) == ("deny", ("no_rm",))


@pytest.mark.usefixtures("here")
def test_what_the_module_imports_is_reported(run: Run) -> None:
    for command in (("compile", "kept_rules.py", "-o", "out.bundle"), ("check", "kept_rules.py")):
        for name in ("rule_tables", "colorsys", "kept_rules"):
            sys.modules.pop(name, None)
        assert "kept_rules.py imports colorsys, rule_tables\n" in run(*command).err
    for name in ("rule_tables", "colorsys", "kept_rules"):
        sys.modules.pop(name, None)
    said = run("compile", "kept_rules.py", "policy.yaml", "-o", "out.bundle", "--format", "json").json()
    assert said["imported"] == ["colorsys", "rule_tables"]
    assert run("compile", "policy.yaml", "-o", "out.bundle", "--format", "json").json()["imported"] == []


def test_an_unmarked_function_that_looks_like_a_rule_is_reported(run: Run, here: Path) -> None:
    (here / "kept_rules.py").write_text(
        RULES
        + """
def used(request, context):
    return None

def forgotten(req, ctx):
    return None

def _helper(req, ctx):
    return None

def of_something_else(first, second):
    return used
"""
    )
    for command in (("compile", "kept_rules.py", "-o", "out.bundle"), ("check", "kept_rules.py")):
        sys.modules.pop("kept_rules", None)
        done = run(*command)
        reported = [line.split("`")[1] for line in done.err.splitlines() if "is not a rule" in line]
        assert reported == ["not_a_rule", "forgotten"]
    assert load_bundle(here / "out.bundle").rule_count == 2


def test_a_module_and_a_policy_make_one_bundle(run: Run, here: Path) -> None:
    assert run("compile", "kept_rules.py", "policy.yaml", "-o", "out.bundle").code == 0
    bundle = load_bundle(here / "out.bundle")
    names = [getattr(rule, "name", None) or str(rule.id) for rule in bundle.ir.rules]  # type: ignore[union-attr]
    assert names == ["no_rm", "shell", "reads"]
    shown = run("inspect", "out.bundle", "--format", "json").json()["rules"]
    assert [row["source"] for row in shown] == ["kept_rules.py:7:1", "policy.yaml:2:5", "kept_rules.py:15:1"]
    assert [row["kind"] for row in shown] == ["function", "declarative", "function"]
    assert shown[0]["description"] == "Files are kept."
    listed = run("inspect", "--ir", "out.bundle").out
    assert "no_rm: Python function, priority" in listed
    assert "return deny('no deleting')" in listed


@pytest.mark.usefixtures("here")
def test_two_policies_are_a_mistake(run: Run) -> None:
    done = run("compile", "kept_rules.py", "policy.yaml", "policy.yaml", "-o", "out.bundle")
    assert done.code == 2
    assert "second" in done.err


def test_every_command_takes_a_module(run: Run, here: Path) -> None:
    call = ("--tool", "shell", "--args", '{"cmd": "shred x"}')
    assert run("eval", "kept_rules.py", *call).out.startswith("deny")
    explained = run("explain", "kept_rules.py", *call).out
    assert "no_rm (Python function)  fires   kept_rules.py:7:1" in explained
    assert "decides   kept_rules.py:10:9" in explained
    assert "kept_rules.py:7:1" in explained
    assert run("bundle-id", "kept_rules.py").out.strip() == run("bundle-id", "kept_rules.py").out.strip()
    assert "no_rm" in run("inspect", "kept_rules.py", "--ir").out


def test_a_rule_that_cannot_be_compiled_is_a_finding(run: Run, here: Path) -> None:
    (here / "broken_rules.py").write_text(
        "import time\nfrom bobcat import deny, rule\n\n@rule\ndef late(request, context):\n"
        '    return deny("late") if time.time() > request.args["until"] else None\n'
    )
    done = run("check", "broken_rules.py")
    assert done.code == 1
    assert "error[E0808]" in done.out
    assert "broken_rules.py:6:28" in done.out
    refused = run("compile", "broken_rules.py", "-o", "out.bundle")
    assert refused.code == 1
    assert not (here / "out.bundle").exists()
    assert "warning[W0116]" in run("check", "broken_rules.py", "--uncompiled", "callable").out
    assert run("compile", "broken_rules.py", "-o", "out.bundle", "--uncompiled", "callable").code == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise ValueError('not today')\n", "broken_rules.py:1: its import raises ValueError: not today"),
        ("x = 1\nimport no_such_module_here\n", "broken_rules.py:2: its import raises ModuleNotFoundError"),
        ("def f(:\n", "broken_rules.py:1:7: "),
        ("raise SystemExit(3)\n", "its import raises SystemExit"),
        ("x = 1\n", "defines no rule; mark its functions"),
    ],
)
def test_a_module_that_cannot_be_imported_is_an_error_without_a_traceback(
    run: Run, here: Path, text: str, says: str
) -> None:
    (here / "broken_rules.py").write_text(text)
    for command in (("check", "broken_rules.py"), ("compile", "broken_rules.py", "-o", "out.bundle")):
        done = run(*command)
        assert done.code == 3
        assert says in done.err
        assert "Traceback" not in done.err


BUILT = """\
from bobcat import deny, rule
from bobcat.build import Policy, args, context, tool, when

HOSTS = ("a.example", "b.example")
NO_POST = when(tool == "fetch", args.method == "POST").deny("read only", id="no-post", priority=9)
POLICY = Policy(
    [when(tool == "fetch", args.host == host).allow(id=f"host-{host}") for host in HOSTS],
    when(context.principal.id == "root", args.cmd.matches("ls")).allow(id="root"),
    on_no_match="approve_required",
)


@rule
def no_rm(request, context):
    return deny("no deleting") if request.args.get("cmd") == "rm" else None
"""


def test_a_module_may_hold_rules_that_are_built_and_functions(run: Run, here: Path) -> None:
    (here / "built_rules.py").write_text(BUILT)
    assert run("compile", "built_rules.py", "-o", "out.bundle").code == 0
    shown = run("inspect", "out.bundle", "--format", "json").json()
    assert [(row["id"], row["source"]) for row in shown["rules"]] == [
        ("no-post", "built_rules.py:5:11"),
        ("host-a.example", "built_rules.py:7:6"),
        ("host-b.example", "built_rules.py:7:6"),
        ("root", "built_rules.py:8:5"),
        ("no_rm", "built_rules.py:14:1"),
    ]
    assert load_bundle(here / "out.bundle").defaults.on_no_match == "approve_required"


def test_lints_and_errors_of_built_rules_point_at_python(run: Run, here: Path) -> None:
    (here / "built_rules.py").write_text(BUILT)
    checked = run("check", "built_rules.py")
    assert "built_rules.py:8:42" in checked.out
    assert "W0106" in checked.out
    (here / "wrong_rules.py").write_text(BUILT.replace("args.method ==", "args.method.any().price_ =="))
    wrong = run("check", "wrong_rules.py")
    assert "wrong_rules.py:5: its import raises TypeError: the result of `any` has no fields" in wrong.err
    (here / "wrong_rules.py").write_text(BUILT.replace("args.method ==", "args.method.any(gt=1, smaller=2) | tool =="))
    assert "`tool` is a path, not a condition: compare it" in run("check", "wrong_rules.py").err
    (here / "wrong_rules.py").write_text(BUILT.replace('args.method == "POST"', "args.method.any(gt=1, startswith=2)"))
    refused = run("check", "wrong_rules.py")
    assert refused.code == 1
    assert "wrong_rules.py:5:33" in refused.out
    assert "`startswith` is not an operator" in refused.out


def test_a_module_of_another_directory_with_the_same_name_is_not_its_source(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback looks for a relative path through `sys.path` when the working directory has no such file."""
    text = "from bobcat import allow, rule\n\n\n@rule\ndef f(request, context):\n    return allow()\n"
    for name, comment in (("one", ""), ("two", "# another\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same_name.py").write_text(comment + text)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "one"), *sys.path])
    monkeypatch.chdir(tmp_path)
    assert linecache.getline("same_name.py", 1) == "from bobcat import allow, rule\n"
    monkeypatch.chdir(tmp_path / "two")
    assert run("check", "same_name.py").code == 0
    assert run("compile", "same_name.py", "-o", "p.bundle").code == 0
