"""`bobcat migrate`: files that it writes and leaves, its report, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import Policy
from unit.cli_runner import Run, runner

BEFORE = "rules:\n- id: a  # c\n  decision: deny\n"
AFTER = "rules:\n- id: a  # c\n  match: {}\n  decision: deny\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def test_only_the_file_itself_is_rewritten(run: Run) -> None:
    part = "rules:\n- {id: b, match: {args.x: no}, decision: deny}\n"
    main = "include: [part.yaml]\nrules:\n- {id: a, match: {args.x: no}, decision: deny}\n"
    Path("main.yaml").write_text(main)
    Path("part.yaml").write_text(part)
    assert run("migrate", "main.yaml").code == 0
    assert Path("main.yaml").read_text() == main.replace(": no}", ': "no"}')
    assert Path("part.yaml").read_text() == part


def test_the_command_writes_what_is_proved_and_lists_the_rest(run: Run) -> None:
    Path("a.yaml").write_text(BEFORE)
    Path("b.yaml").write_text("rules:\n- {id: b, verdict: deny, match: {tool: [x]}}\n")
    dry = run("migrate", "--profile", "lynx", "a.yaml", "--check")
    assert dry.code == 1
    assert Path("a.yaml").read_text() == BEFORE
    assert "+  match: {}" in run("migrate", "--profile", "lynx", "a.yaml", "--diff").out
    done = run("migrate", "--profile", "lynx", "a.yaml", "b.yaml", "--format", "json")
    assert done.code == 1
    first, second = done.json()["files"]
    assert (first["complete"], first["written"], second["complete"], second["written"]) == (True, True, False, True)
    assert [item["code"] for item in second["not_automatic"]] == ["E0308"]
    assert Path("a.yaml").read_text() == AFTER
    assert "decision: deny" in Path("b.yaml").read_text()
    assert run("migrate", "--profile", "lynx", "a.yaml").code == 0
    shown = run("migrate", "--profile", "lynx", "b.yaml")
    assert "1 not automatic" in shown.out


def test_the_command_refuses_what_it_cannot_read(run: Run) -> None:
    Path("bad.yaml").write_text("rules: [\n")
    Path("good.yaml").write_text(BEFORE)
    assert run("migrate", "--profile", "lynx", "good.yaml", "bad.yaml").code == 1
    assert Path("good.yaml").read_text() == BEFORE
    assert run("migrate", "missing.yaml").code == 3
    Policy.compile("rules: []").save("p.bobcat")
    assert run("migrate", "p.bobcat").code == 3
