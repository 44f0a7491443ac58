"""The documentation is code: its examples run, its links lead somewhere, its figures come from the artefact."""

from __future__ import annotations

import ast
import pkgutil
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

from docs.markdown_blocks import blocks_of, run_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
RUNNABLE = [page for page in PAGES if any(block.language in ("python", "console") for block in blocks_of(page))]
LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\((?!https?:|mailto:)([^)#\s]+)?(#[^)\s]+)?\)")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUNNABLE, ids=_name)
def test_every_example_of_a_page_runs_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    run_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in LINK.findall(re.sub(r"```.*?```|`[^`\n]*`", "code", text, flags=re.DOTALL)):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{_name(page)} links to {target}, which is not there"
        if anchor and file.suffix == ".md":
            assert anchor[1:] in _anchors(file), f"{_name(page)} links to {target}{anchor}, a heading that is not there"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    seen: set[Path] = set()
    queue = [index]
    while queue:
        page = queue.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        queue += [
            (page.parent / target).resolve() for target, _ in LINK.findall(page.read_text(encoding="utf-8")) if target
        ]
    lost = [_name(page) for page in (ROOT / "docs").rglob("*.md") if page not in seen]
    assert not lost


def test_every_example_is_on_its_page_with_what_it_shows() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    for program in (ROOT / "examples").glob("[0-9]*.py"):
        shows = (ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))) or "").partition("\n\n")[0]
        assert f"| [`{program.name}`]({program.name}) | {' '.join(shows.split())} |" in page


def test_decision_records_are_numbered_without_gap_or_repetition() -> None:
    numbers = sorted(int(page.name[:4]) for page in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_command_line_page_shows_every_command_and_its_options() -> None:
    import click

    from bobcat.cli.commands import COMMANDS
    from bobcat.cli.group import cli

    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    context = click.Context(cli, info_name="bobcat")
    for name in COMMANDS:
        assert f"## `bobcat {name}`" in page
        section = page.split(f"## `bobcat {name}`")[1].split("\n## ")[0]
        command = cli.get_command(context, name)
        assert command is not None
        for parameter in command.params:
            for option in parameter.opts if isinstance(parameter, click.Option) and not parameter.hidden else []:
                assert f"`{option}" in section, f"`bobcat {name}` has {option}, which the page does not show"


def _steps(text: str) -> list[dict[str, str]]:
    """The steps of every job of a workflow, or a list of steps."""
    import yaml

    found = yaml.safe_load(text)
    return found if isinstance(found, list) else [step for job in found["jobs"].values() for step in job["steps"]]


WORKFLOWS = [
    (page, block.body)
    for page in PAGES
    for block in blocks_of(page)
    if block.language == "yaml" and (".github/workflows" in block.body or "- run: bobcat " in block.body)
]


@pytest.mark.parametrize(("page", "text"), WORKFLOWS, ids=lambda item: _name(item) if isinstance(item, Path) else "")
def test_a_workflow_calls_commands_with_options_that_they_have(page: Path, text: str) -> None:
    import click
    import yaml

    from bobcat.cli.group import cli

    calls = [shlex.split(step["run"]) for step in _steps(text) if step.get("run", "").startswith("bobcat ")]
    actions = [step for step in _steps(text) if ".github/actions/bobcat" in step.get("uses", "")]
    assert calls or actions
    inputs = yaml.safe_load((ROOT / ".github/actions/bobcat/action.yml").read_text(encoding="utf-8"))["inputs"]
    for action in actions:
        assert set(action["with"]) <= set(inputs)
    for call in calls:
        command = cli.get_command(click.Context(cli), call[1])
        assert command is not None
        known = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in call if word.startswith("--")} <= known


def test_names_of_lynx_agents_modules_are_where_the_migrating_page_says() -> None:
    import lynx

    import bobcat
    import bobcat.lynx

    found = []
    for module in pkgutil.walk_packages(bobcat.lynx.__path__, "bobcat.lynx."):
        where = module.name.removeprefix("bobcat.lynx.").partition(".")[0]
        if where in ("adapters", "shadows", "sandbox", "cli", "v2_11") or module.name.endswith("__"):
            continue
        names = getattr(import_module(module.name), "__all__", ())
        found += [name for name in names if not hasattr(bobcat, name)]
    assert {*found} <= {"PythonRule", "canonical_json", "new_correlation_id", "now_utc"}
    assert all(hasattr(bobcat, name) for name in lynx.__all__)


def test_the_figures_of_python_rules_are_those_that_were_measured() -> None:
    import json

    measured = json.loads((ROOT / "benches" / "python_rules_results.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "reference" / "python-rules.md").read_text(encoding="utf-8")
    for name, row in (
        ("host", 'callables (`uncompiled="callable"`)'),
        ("compiled", "compiled Python"),
        ("yaml", "YAML"),
    ):
        assert f"| {row} | {measured['nanoseconds_per_decision'][name]:,} |" in page
    ratios = measured["ratios"]
    assert f"Compiled rules are {ratios['host / compiled']} times as fast as callables" in page
    assert f"and take {ratios['compiled / yaml']} times as long as the same rules in YAML" in page
    assert (
        f"Of the {measured['corpus']} rules of the corpus, written in many styles, {measured['corpus_compiled']} are"
        in page
    )
