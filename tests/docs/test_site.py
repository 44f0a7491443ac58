"""The documentation site: navigation, pages that GitHub shows too, drawings from text, and the checker of links."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs" / "site"))

from badges import BADGES, badges  # noqa: E402
from check import faults  # noqa: E402
from contents import PAGE, config, contents, navigation  # noqa: E402
from diagrams import IMAGES, draw, inline, sources  # noqa: E402
from pages import OUTSIDE, outside_files, site_html, site_markdown  # noqa: E402
from recording import LABEL, SVG, Run, record, render, text_of  # noqa: E402


def test_every_page_stands_in_the_navigation_once() -> None:
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    outside = {site for site, path in outside_files() if path.relative_to(ROOT).as_posix() in OUTSIDE}
    assert sorted(navigation()) == sorted(pages | outside)


@pytest.mark.parametrize(
    ("page", "markdown", "site"),
    [
        ("index.md", "[a](how-to/install.md#x)", "[a](how-to/install.md#x)"),
        ("how-to/triggers.md", "[a](../../examples/33_daily_report.py)", "[a](../examples/33_daily_report.py.md)"),
        ("index.md", "[a](../examples/README.md)", "[a](examples/index.md)"),
        ("examples/index.md", "[a](02_agent.py) [b](../docs/index.md)", "[a](02_agent.py.md) [b](../index.md)"),
        ("changelog.md", "[a](docs/reference/api.md#runs)", "[a](reference/api.md#runs)"),
        ("index.md", "[a](https://example.com/x) [b](#c)", "[a](https://example.com/x) [b](#c)"),
        ("index.md", "```python no-run door=mcp\n[a](b)\n```", "```python\n[a](b)\n```"),
        ("index.md", '```yaml title="p.yaml" no-run\n```', '```yaml title="p.yaml"\n```'),
        ("index.md", "<!-- figures -->\n| a |", "<!-- figures -->\n\n| a |"),
    ],
)
def test_a_page_is_rewritten_for_the_site(page: str, markdown: str, site: str) -> None:
    assert site_markdown(markdown, page) == f"{site}\n"


def test_escaped_pipes_of_cells_are_pipes() -> None:
    assert site_html(r"<td><code>a\|b</code></td><code>a\|b</code>") == r"<td><code>a|b</code></td><code>a\|b</code>"


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<a href="other.html">', None),
        ('<a href="other.html#here">', None),
        ('<a href="https://example.com/">', None),
        ('<a href="missing.html">', "links to `missing.html`, which is not there"),
        ('<a href="other.html#gone">', "links to `other.html#gone`, an anchor that is not there"),
        ('<a href="#gone">', "links to `#gone`, an anchor that is not there"),
        ('<img src="gone.svg">', "links to `gone.svg`, which is not there"),
        ('<script src="https://example.com/x.js"></script>', "loads `https://example.com/x.js` from another host"),
        ('<link rel="stylesheet" href="//example.com/x">', "loads `//example.com/x` from another host"),
        ('<p id="a"><p id="a">', "two elements have the id `a`"),
    ],
)
def test_the_checker_finds_faults(tmp_path: Path, html: str, fault: str | None) -> None:
    (tmp_path / "other.html").write_text('<p id="here">')
    (tmp_path / "index.html").write_text(html)
    assert faults(tmp_path) == ([f"index.html: {fault}"] if fault else [])


def test_the_checker_finds_styles_that_load_from_another_host(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face{src:url(https://example.com/x)}")
    assert faults(tmp_path) == ["a.css: loads from another host"]


def test_the_configuration_names_no_other_host() -> None:
    assert config()["theme"]["font"] is False
    assert [name for name in config().get("extra_javascript", []) if "//" in name] == []


def test_the_page_of_all_pages_is_made_from_the_navigation() -> None:
    assert PAGE.read_text(encoding="utf-8") == contents(), "run: make docs-write"


def test_drawings_are_made_from_their_sources() -> None:
    made = sources()
    assert made
    assert {path: path.read_text(encoding="utf-8") for path in made} == made, "run: make docs-write"


def test_a_drawing_has_its_boxes_arrows_and_words() -> None:
    drawing = ElementTree.fromstring(
        draw("columns: 90 90\na 0 0 plain: x | y\nb 1 0 deny: <z>\na -> b: to", "n", "A & B")
    )
    assert drawing.get("aria-label") == "A & B"
    assert [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")] == ["to", "x", "y", "<z>"]


def test_a_line_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="neither columns, a box nor an arrow: a => b"):
        draw("columns: 90\na 0 0 plain: x\na => b", "n", "")


def test_drawings_are_part_of_the_page_and_other_images_are_not() -> None:
    assert inline('<img alt="x" src="../images/forms.svg" />', IMAGES).startswith('<span class="drawing"><svg ')
    assert (
        inline('<img alt="x" src="../images/approval.png" />', IMAGES) == '<img alt="x" src="../images/approval.png" />'
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a run is recorded in a pseudo-terminal, which Windows lacks")
def test_the_recording_shows_what_the_demo_prints() -> None:
    recorded = SVG.read_text(encoding="utf-8")
    assert text_of(recorded) == text_of(render(record())), "run: make docs-write"
    assert f"![{LABEL}](images/demo.svg)" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_a_recording_of_other_output_has_another_text() -> None:
    lines = [(Run("compiled in 12 ms", "bold"),), (), (Run("denied <all>", "red"),)]
    assert text_of(render(lines)) == "compiled in N ms\n\ndenied <all>"


def test_badges_state_facts_of_the_project() -> None:
    made = badges()
    assert {path: path.read_text(encoding="utf-8") for path in BADGES.glob("*.svg")} == made, "run: make docs-write"


@pytest.mark.parametrize(
    "page", ["README.md", "docs/index.md", "docs/explanation/concepts.md", "docs/explanation/engine.md"]
)
def test_images_of_a_page_are_there(page: str) -> None:
    images = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / page).read_text(encoding="utf-8"))
    assert images
    assert [image for image in images if not ((ROOT / page).parent / image).is_file()] == []
