"""The command line under `bobcat.lynx.cli` beside lynx-agent's own: the same output and the same exit codes."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import lynx
import lynx.cli.main
import pytest
from click.testing import CliRunner

from bobcat import lynx as ours
from bobcat.lynx.cli.main import cli
from lynx_runs import POLICY, Death, Script, World, play

POLICY_WITH_DESCRIPTIONS = POLICY.replace("id: echo,", "id: echo, description: says it,")


def both(*arguments: str) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
    """Exit code, output and error output of either."""
    answers = []
    for command in (cli, lynx.cli.main.cli):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = CliRunner().invoke(command, list(arguments))
        answers.append((done.exit_code, done.stdout, done.stderr))
    return answers[0], answers[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_lint_and_bundle_id_say_the_same(folder: Path) -> None:
    (folder / "policy.yaml").write_text(POLICY_WITH_DESCRIPTIONS)
    (folder / "bad.yaml").write_text("rules: [5]")
    for arguments in (["policy", "lint"], ["policy", "bundle-id"], ["policy", "lint", "policy.yaml"], ["--version"],
                      ["policy", "lint", "bad.yaml"], ["policy", "bundle-id", "bad.yaml"]):  # fmt: skip
        mine, theirs = both(*arguments)
        assert mine == theirs, arguments
    mine, theirs = both("policy", "lint", "missing.yaml")
    assert mine == theirs
    assert mine[0] == 1


def test_no_command_is_help_and_exit_code_2() -> None:
    mine, theirs = both()
    assert mine[0] == theirs[0] == 2
    for name in ("init", "run", "trace", "policy"):
        assert name in mine[2] + mine[1]


def test_init_writes_a_policy_of_the_same_meaning(folder: Path) -> None:
    for name, command in (("a", cli), ("b", lynx.cli.main.cli)):
        assert CliRunner().invoke(command, ["init", "--dir", name]).output.startswith("wrote ")
        again = CliRunner().invoke(command, ["init", "--dir", name])
        assert again.exit_code == 1
        assert again.stderr == f"= {folder / name / 'policy.yaml'} already exists (use --force to overwrite)\n"
        assert CliRunner().invoke(command, ["init", "--dir", name, "--force"]).exit_code == 0
    ids = [lynx.compile_policy((folder / name / "policy.yaml").read_text()).id for name in "ab"]
    assert ids == ["43c33f1c4074c971"] * 2
    (folder / "file").write_text("")
    mine, theirs = both("init", "--dir", "file/x")
    assert mine == theirs


@pytest.mark.parametrize("deaths", [(), (Death(4, False),), (Death(3, True), Death(4, False))])
def test_trace_shows_the_same_of_a_journal(folder: Path, deaths: tuple[Death, ...]) -> None:
    calls = (("echo", "a", 1), ("deploy", "b", 0), ("query", "fail", 7), ("missing", "a", 0))
    script = Script(calls, approver="alice", journaled=True, deaths=deaths)
    records: list[Any] = []

    class Kept(ours.DuplicateRecord):
        pass

    for attempt in play(ours, script, ours.compile_policy, Kept):
        records = attempt["journal"]
    lines = [
        ours.step_record_to_json(ours.StepRecord(*record, ours.core.types.now_utc())) for record in records
    ]  # fmt: skip
    for count in range(1, len(lines) + 1):
        (folder / "journal.jsonl").write_text("\n".join(lines[:count]) + "\n\n")
        mine, theirs = both("trace", "journal.jsonl")
        assert mine == theirs
    assert both("trace", "journal.jsonl", "--run-id", "other")[0] == (1, "", "no records found\n")


@pytest.mark.parametrize(
    "text", ["", "{", "{}", '{"correlation_id": "c"}', '{"run_id": "r"}',
             '{"run_id":"a","seq":0,"kind":"final","timestamp":"2026-01-01T00:00:00+00:00","body":{}}\n'
             '{"run_id":"b","seq":0,"kind":"final","timestamp":"2026-01-01T00:00:00+00:00","body":{}}'],
)  # fmt: skip
def test_trace_refuses_an_invalid_journal_with_the_same_message(folder: Path, text: str) -> None:
    (folder / "journal.jsonl").write_text(text)
    mine, theirs = both("trace", "journal.jsonl")
    assert mine == theirs
    assert mine[0] == 1


def test_run_awaits_main(folder: Path) -> None:
    (folder / "greeting.py").write_text("WORD = 'hello'\n")
    (folder / "script.py").write_text("import greeting\nasync def main():\n    print(greeting.WORD, __name__)\n")
    (folder / "none.py").write_text("main = 5\n")
    for arguments in (["run", "script.py"], ["run", "none.py"]):
        mine, theirs = both(*arguments)
        assert mine == theirs
    assert both("run", "missing.py")[0][0] == both("run", "missing.py")[1][0] == 2


def test_the_world_of_these_tests_is_the_one_of_the_runs() -> None:
    world = World(ours, Script(()))
    assert asyncio.run(world.step(())).text == "done"
