"""`bobcat fmt`: what it writes, what it leaves, and its exit codes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bobcat import Policy
from bobcat.formatting import POLICY, formatted
from bobcat.formatting.layout import Layout
from docs.markdown_blocks import blocks_of
from unit.cli_runner import Run, runner

UGLY = "rules:\n- {decision: deny,   match: {tool: x}, id: a}\n"
NICE = "rules:\n  - {id: a, match: {tool: x}, decision: deny}\n"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def test_files_and_directories_are_formatted(run: Run) -> None:
    Path("d").mkdir()
    for name in ("a.yaml", "d/b.yml", "d/compose.yaml"):
        Path(name).write_text(UGLY if "compose" not in name else "services:   {}\n")
    Path("d/t.policytest.yaml").write_text("cases:\n- {request: {args:  {}, tool: x}, name:  a}\npolicy: ../a.yaml\n")
    done = run("fmt")
    assert done.code == 0
    assert done.out.splitlines() == [
        "formatted a.yaml",
        "formatted d/b.yml",
        "formatted d/t.policytest.yaml",
        "3 of 3 files changed",
    ]
    assert Path("a.yaml").read_text() == Path("d/b.yml").read_text() == NICE
    assert Path("d/compose.yaml").read_text() == "services:   {}\n"
    assert Path("d/t.policytest.yaml").read_text() == (
        "cases:\n  - {name: a, request: {tool: x, args: {}}}\npolicy: ../a.yaml\n"
    )
    assert run("fmt", "--check").code == 0


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_a_dry_run_writes_nothing(run: Run, option: str) -> None:
    Path("p.yaml").write_text(UGLY)
    done = run("fmt", "p.yaml", option)
    assert done.code == 1
    assert Path("p.yaml").read_text() == UGLY
    assert ("+  - {id: a, match: {tool: x}, decision: deny}" in done.out) is (option == "--diff")
    assert run("fmt", "p.yaml", option, "--format", "json").code == 1


def test_the_report_as_json(run: Run) -> None:
    Path("p.yaml").write_text(UGLY)
    Path("bad.yaml").write_text("rules: [\n")
    done = run("fmt", "p.yaml", "bad.yaml", "--format", "json")
    assert done.code == 2
    assert done.json() == {"version": 1, "files": 2, "changed": ["p.yaml"], "failed": ["bad.yaml"], "written": True}


def test_standard_input_is_formatted_to_standard_output(run: Run) -> None:
    assert run("fmt", "-", stdin=UGLY).out == NICE
    assert run("fmt", "-", stdin=UGLY).code == 0
    assert run("fmt", "-", "--check", stdin=UGLY).code == 1
    assert run("fmt", "-", "--check", stdin=NICE).code == 0
    assert run("fmt", "-", "a.yaml", stdin=NICE).code == 2
    assert run("fmt", "-", stdin=b"a: \xff\n").code == 2


@pytest.mark.parametrize(
    "text",
    ["rules: [\n", "rules: []\nrules: []\n", "", "a: !t 1\n", "- a\n", "%YAML 1.2\n---\nrules: []\n", b"a: \xff\n"],
)
def test_a_file_with_errors_is_left_and_named(run: Run, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    Path("p.yaml").write_bytes(data)
    done = run("fmt", "p.yaml")
    assert done.code == 2
    assert "p.yaml" in done.err
    assert Path("p.yaml").read_bytes() == data
    assert not [name for name in os.listdir() if name != "p.yaml"]


def test_json_and_missing_files_are_refused(run: Run) -> None:
    Path("p.json").write_text("{}")
    assert run("fmt", "p.json").code == 3
    assert run("fmt", "missing.yaml").code == 3


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(run: Run) -> None:
    Path("real.yaml").write_text(UGLY)
    Path("real.yaml").chmod(0o640)
    Path("link.yaml").symlink_to("real.yaml")
    assert run("fmt", "link.yaml").code == 0
    assert Path("link.yaml").is_symlink()
    assert Path("real.yaml").stat().st_mode & 0o777 == 0o640
    assert Path("real.yaml").read_text() == NICE


def test_an_included_file_is_formatted_like_others(run: Run) -> None:
    Path("main.yaml").write_text("include:   [part.yaml]\nvars: {n:   1}\npredicates: {known: {tool:  x}}\n")
    Path("part.yaml").write_text("rules:\n- {match: {all_of: [known,   {args.n: '${n}'}]}, decision: deny}\n")
    before = Policy.compile(Path("main.yaml")).id
    assert run("fmt", "main.yaml", "part.yaml").code == 0
    assert Path("part.yaml").read_text() == 'rules:\n  - {match: {all_of: [known, {args.n: "${n}"}]}, decision: deny}\n'
    assert Policy.compile(Path("main.yaml")).id == before


def test_every_shipped_policy_can_be_formatted() -> None:
    texts = [path.read_text() for path in (ROOT / "examples").rglob("*.yaml")]
    texts += [path.read_text() for path in (ROOT / "python/bobcat/cli/starter").glob("*.yaml")]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    pages = [page for page in pages if page.stem not in ("diagnostics", "lints", "lynx-profile")]
    blocks = [block for page in pages for block in blocks_of(page) if block.language == "yaml"]
    texts += [block.body for block in blocks if block.body.startswith("rules:")]
    assert len(texts) > 30
    for text in texts:
        formatted(text, "p.yaml", POLICY)


def test_a_text_that_means_something_else_is_not_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("p.yaml").write_text(UGLY)
    for changed in ("rules:\n  - {id: a, match: {tool: y}, decision: deny}\n", "rules: []\n", "rules: [\n"):
        monkeypatch.setattr(Layout, "text", lambda *_, changed=changed, **__: changed)
        done = run("fmt", "p.yaml")
        assert done.code == 2
        assert "would not mean the same" in done.err
        assert Path("p.yaml").read_text() == UGLY
