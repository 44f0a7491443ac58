"""`bobcat init`, `run`, `schema`, `completion`, help and versions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import click
import pytest

from bobcat import _core
from bobcat.cli.commands import COMMANDS, help_page
from unit.cli_runner import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    return runner(capsys, monkeypatch)


def test_init_writes_a_policy_without_findings(run: Run) -> None:
    assert run("init", "--dir", "new").code == 0
    done = run("check", "--deny-warnings", "new/policy.yaml")
    assert (done.code, done.out) == (0, "1 policy: 0 errors, 0 warnings\n")


def test_init_writes_formatted_files(run: Run) -> None:
    run("init")
    done = run("fmt", "--check", *sorted(str(path) for path in Path().glob("*.yaml")))
    assert (done.code, done.out) == (0, "0 of 3 files would change\n")


def test_the_starter_policy_passes_its_own_tests(run: Run, tmp_path: Path) -> None:
    run("init")
    done = subprocess.run([sys.executable, "test_policy.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "decided as expected" in done.stdout


def test_the_tests_of_the_starter_policy_notice_a_weaker_policy(run: Run, tmp_path: Path) -> None:
    run("init")
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy.read_text().replace("on_no_match: deny", "on_no_match: allow"))
    done = subprocess.run([sys.executable, "test_policy.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1


def test_every_rule_of_the_starter_policy_has_a_test(run: Run, tmp_path: Path) -> None:
    from bobcat import load_policy_file

    run("init")
    tests = (tmp_path / "test_policy.py").read_text()
    assert [
        rule.id for rule in load_policy_file(str(tmp_path / "policy.yaml")).rules if f'"{rule.id}"' not in tests
    ] == []


def test_the_starter_policy_passes_its_suites_and_they_reach_every_rule(run: Run) -> None:
    run("init")
    done = run("test", "--coverage", "--format", "json", "--fail-under", "95")
    report = done.json()
    assert (done.code, report["failed"]) == (0, 0)
    assert [policy["never_fired"] for policy in report["coverage"]["policies"]] == [[]]


def test_the_suites_of_the_starter_notice_a_weaker_policy(run: Run, tmp_path: Path) -> None:
    run("init")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        policy.read_text().replace(
            "- {id: list, action: [fs.list, fs.stat]", "- {id: list, action: [fs.list, fs.delete]"
        )
    )
    assert run("test").code == 1


def test_init_overwrites_only_with_the_option(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("mine")
    done = run("init")
    assert done.code == 3
    assert "`policy.yaml` already exists" in done.err
    assert (tmp_path / "policy.yaml").read_text() == "mine"
    assert not (tmp_path / "test_policy.py").exists()
    assert run("init", "--force").code == 0
    assert (tmp_path / "policy.yaml").read_text() != "mine"


def test_init_says_why_it_cannot_write(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot create `file/sub`" in run("init", "--dir", "file/sub").err


SCRIPT = """\
import sys
import neighbour

async def main():
    print("ran", neighbour.NAME, sys.argv[1:])
"""


def test_run_awaits_main_beside_its_neighbours(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "neighbour.py").write_text("NAME = 'next door'")
    (tmp_path / "sub" / "agent.py").write_text(SCRIPT)
    done = run("run", "sub/agent.py", "one", "--two")
    assert (done.code, done.out) == (0, "ran next door ['one', '--two']\n")


@pytest.mark.parametrize("text", ["", "main = 5", "def main(): pass"])
def test_run_needs_an_async_main(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "agent.py").write_text(text)
    done = run("run", "agent.py")
    assert done.code == 1
    assert "must define an async `main()`" in done.err


def test_run_needs_a_script(run: Run) -> None:
    done = run("run", "none.py")
    assert (done.code, done.err) == (3, "error: cannot read `none.py`: no such file or directory\n")


def test_a_main_with_parameters_gets_a_suggestion(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("async def main(argv): ...")
    done = run("run", "agent.py", "one")
    assert done.code == 1
    assert done.err == (
        "error: `main()` is called without arguments, and missing a required argument: 'argv'; ARGS are in `sys.argv`\n"
    )


FACTS = "async def main(extra):\n    print(extra)\n"


def test_run_passes_facts_to_a_main_that_takes_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(FACTS)
    (tmp_path / "facts.json").write_text('{"tables": ["users"], "region": "us"}')
    given = ("--extra", "@facts.json", "--extra", "region=eu", "--extra", "open=true", "--extra", 'limit={"a": 1}')
    done = run("run", *given, "agent.py", "--extra", "is=an argument of the script")
    assert (done.code, done.err) == (0, "")
    assert done.out == "{'tables': ['users'], 'region': 'eu', 'open': True, 'limit': {'a': 1}}\n"
    assert run("run", "agent.py").out == "{}\n"


@pytest.mark.parametrize(
    ("extra", "code", "said"),
    [
        ("open", 2, "write it as NAME=VALUE or @FILE"),
        ("=1", 2, "write it as NAME=VALUE or @FILE"),
        ("uncertain_retry=true", 2, "the run itself sets it"),
        ("a=NaN", 2, "must be a finite number"),
        ("@none.json", 3, "cannot read `none.json`"),
        ("@list.json", 3, "must hold a JSON object"),
        ("@broken.json", 3, "`broken.json` is not JSON"),
    ],
)
def test_facts_that_a_run_would_refuse_are_refused(run: Run, tmp_path: Path, extra: str, code: int, said: str) -> None:
    (tmp_path / "agent.py").write_text(FACTS)
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "broken.json").write_text("{")
    done = run("run", "--extra", extra, "agent.py")
    assert done.code == code
    assert said in done.err


def test_facts_for_a_main_that_takes_none_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("async def main(): ...")
    done = run("run", "--extra", "open=true", "agent.py")
    assert (done.code, done.err) == (1, "error: `--extra` needs a parameter: `async def main(extra)`\n")


@pytest.mark.parametrize("command", ["check", "bundle-id", "doctor"])
def test_a_command_without_a_policy_suggests_init(run: Run, command: str) -> None:
    done = run(command)
    assert done.code == 3
    assert done.err == "error: cannot read `policy.yaml`: no such file or directory; `bobcat init` writes one\n"


@pytest.mark.parametrize("text", ["async def main():\n    1 / 0\n", "1 / 0\n", "async def main(:\n"])
def test_a_script_that_fails_shows_its_own_frames_only(tmp_path: Path, text: str) -> None:
    (tmp_path / "agent.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", "from bobcat.cli.main import main; main()", "run", "agent.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "agent.py" in done.stderr
    assert "bobcat/cli" not in done.stderr
    assert "runpy" not in done.stderr


def test_a_policy_error_of_a_script_is_a_message(run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "from bobcat import compile_policy\n"
        "async def main():\n"
        "    compile_policy('rules: [{id: a, decision: allow}]')\n"
    )
    done = run("run", "agent.py")
    assert done.code == 1
    assert "error[E" in done.err


def test_schema_prints_a_valid_json_schema_that_accepts_the_starter_policy(run: Run, tmp_path: Path) -> None:
    import jsonschema_rs
    import yaml

    schema = run("schema").json()
    jsonschema_rs.meta.validate(schema)
    run("init")
    validator = jsonschema_rs.Draft202012Validator(schema)
    validator.validate(yaml.safe_load((tmp_path / "policy.yaml").read_text()))
    assert not validator.is_valid({"rules": [{"id": "a", "decision": "perhaps"}]})
    assert run("schema", "-o", "schema.json").code == 0
    assert json.loads((tmp_path / "schema.json").read_text()) == schema


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0
    assert "_BOBCAT_COMPLETE" in done.out


SHELLS = {
    "bash": 'eval "$(bobcat completion bash)"; COMP_WORDS=(bobcat runs l); COMP_CWORD=2; '
    '_bobcat_completion bobcat; echo "${COMPREPLY[*]}"',
    "fish": 'bobcat completion fish | source; complete -C "bobcat runs l"',
    "zsh": "compdef() { :; }; _describe() { print $completions_with_descriptions }; "
    'eval "$(bobcat completion zsh)"; words=(bobcat runs l); CURRENT=3; _bobcat_completion',
}
FOUND = {
    "bash": "list\n",
    "fish": "list\tList runs, most recently changed first.\n",
    "zsh": "list:List runs, most recently changed first.\n",
}


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_a_shell_that_is_installed_completes(shell: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path}
    done = subprocess.run([shell, "-c", SHELLS[shell]], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (FOUND[shell], "")


def test_completing_a_command_imports_no_command() -> None:
    probe = (
        "import os, sys\nos.environ.update(_BOBCAT_COMPLETE='zsh_complete', COMP_WORDS='bobcat b', COMP_CWORD='1')\n"
        "from bobcat.cli.main import main\n"
        "try: main([])\nexcept SystemExit: pass\n"
        "assert not {'bobcat.cli.bench', 'bobcat.cli.bundle_id'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    assert "Time the decisions of a policy, and compare with a baseline." in done.stdout.splitlines()


def test_completion_knows_three_shells(run: Run) -> None:
    assert run("completion", "tcsh").code == 2


def test_help_lists_every_command_without_loading_one(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    for name in COMMANDS:
        assert f"  {name} " in done.out
    sections = [line for line in done.out.splitlines() if line.endswith(":")]
    assert sections == ["Options:", "Policies:", "Runs:", "Other:"]
    probe = (
        "import sys\nfrom bobcat.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "assert not {'rich', 'yaml', 're2', 'bobcat.compiler', 'bobcat.cli.eval'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True)


@pytest.mark.parametrize("width", [50, 61, 78])
def test_the_page_of_help_is_as_wide_as_it_may_be(width: int) -> None:
    page = help_page(width)
    words = [entry[2] for entry in COMMANDS.values()]
    assert all(" ".join(summary.split()) in " ".join(page.split()) for summary in words)
    lines = page.splitlines()
    assert max(map(len, lines)) <= width
    for line, following in pairwise(lines):
        if line.startswith("  ") and following.startswith("    "):
            assert len(line) + 1 + len(following.split()[0]) > width, "the word had room on the line before"


def test_help_follows_the_width_of_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in (("70", 68), ("300", 78), ("20", 50)):
        monkeypatch.setenv("COLUMNS", columns)
        assert run("--help").out == help_page(width)


@pytest.mark.parametrize("words", [(), ("runs",)])
def test_without_a_command_help_is_printed_line_by_line(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    if hasattr(click.exceptions, "NoArgsIsHelpError"):
        assert (done.code, done.out) == (2, "")
    else:  # before click 8.2
        assert (done.code, done.err) == (0, "")
    lines = (done.out or done.err).splitlines()
    assert lines[0] == " ".join(("Usage: bobcat", *words, "[OPTIONS] COMMAND [ARGS]..."))
    assert len(lines) > 10


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    done = run(command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"Usage: bobcat {command}")


def test_the_version_is_that_of_the_core(run: Run) -> None:
    assert run("--version").out == f"bobcat {_core.__version__}\n"


def test_an_unknown_command_is_a_usage_error(run: Run) -> None:
    done = run("chekc")
    assert done.code == 2
    assert "unknown command `chekc`; did you mean `check`?" in done.err
    assert run("frobnicate").err.endswith("unknown command `frobnicate`\n")


def test_a_reader_that_leaves_is_no_error(run: Run, tmp_path: Path) -> None:
    run("init")
    command = f"{sys.executable} -c 'from bobcat.cli.main import main; main()' schema | head -c 10"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, cwd=tmp_path)
    assert "Error" not in done.stderr
    assert done.returncode == 0


HOSTILE = "h\x1b[2J\x9b31m\r\b\u202e\u200b\u2028\n[ok] forged"


@pytest.mark.parametrize(
    "body, code",
    [
        ("warnings.warn(TEXT)", 0),
        ("logging.getLogger('of.the.script').error(TEXT)", 0),
        ("logging.getLogger('x').error(TEXT, exc_info=ValueError(TEXT))", 0),
        ("asyncio.ensure_future(fail()); await asyncio.sleep(0)", 0),
        ("thread = threading.Thread(target=asyncio.run, args=(fail(),), name=TEXT); thread.start(); thread.join()", 0),
        ("Fails()", 0),
        ("one = Fails(); one.itself = one", 0),
        ("threading.Timer(0.2, asyncio.run, (fail(),)).start()", 0),
        ("sys.exit(TEXT)", 1),
        ("raise ValueError(TEXT)", 1),
    ],
)
def test_what_a_script_makes_python_print_is_shown_as_untrusted_text(tmp_path: Path, body: str, code: int) -> None:
    lines = [
        "import asyncio, logging, sys, threading, warnings",
        f"TEXT = {HOSTILE!r}",
        "class Fails:",
        "    def __del__(self):",
        "        raise ValueError(TEXT)",
        "    def __repr__(self):",
        "        return TEXT",
        "async def fail():",
        "    raise ValueError(TEXT)",
        "async def main():",
        f"    {body}",
    ]
    (tmp_path / "agent.py").write_text("\n".join(lines))
    command = [sys.executable, "-m", "bobcat", "run", "agent.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    reported = done.stderr.decode()
    assert done.returncode == code
    assert "h\\x1b[2J\\x9b31m" in reported
    assert all(character in ("\n", *map(chr, range(32, 127))) for character in reported)
    assert code or "\n[ok] forged" not in reported
