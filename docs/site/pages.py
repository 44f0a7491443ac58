"""Turn pages that GitHub shows into pages of the site: paths of the repository, links between them, and fences.

The pages of docs/ keep their paths. Files elsewhere that pages link to get a page or a copy below the same path. Pure
functions; `mkdocs_hooks.py` calls them while the site is built, `tests/docs/test_site.py` without a build.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md")

_FENCE = re.compile(r"^(```+)([^\n`]*)$")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_COMMENT = re.compile(r"^<!--.*-->$")
_LANGUAGES = {"output": "text", "py": "python"}


def outside_files() -> Iterator[tuple[str, Path]]:
    """Yield the path in the site and the file of everything outside docs/ that the site has."""
    for name in OUTSIDE:
        yield _site_path(name), ROOT / name
    for path in sorted((ROOT / "examples").rglob("*")):
        if path.suffix in {".py", ".html", ".yaml"} and "__pycache__" not in path.parts:
            yield _site_path(path.relative_to(ROOT).as_posix()), path


def source_page(path: Path) -> str:
    """Render the page of a source file."""
    language = {".py": "python", ".html": "html", ".yaml": "yaml"}[path.suffix]
    index = "../index.md" if path.parent.name == "policies" else "index.md"
    return (
        f"# {path.name}\n\nOne of the [examples]({index}).\n\n````{language}\n{path.read_text(encoding='utf-8')}````\n"
    )


def site_markdown(markdown: str, site_path: str) -> str:
    """Rewrite the Markdown of a page for the site: its links to files outside docs/, its fences and its comments."""
    here = posixpath.dirname(_repository_path(site_path))

    def moved(found: re.Match[str]) -> str:
        target = _site_path(posixpath.normpath(posixpath.join(here, found[1])))
        return posixpath.relpath(target, posixpath.dirname(site_path)) + (found[2] or "")

    return "".join(f"{line}\n" for line in _lines(markdown, lambda line: _LINK.sub(moved, line)))


def site_html(html: str) -> str:
    """Rewrite the HTML of a page for the site: GitHub shows an escaped pipe in a cell without the backslash."""
    return re.sub(r"<td.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.DOTALL)


def _lines(markdown: str, rewrite: Callable[[str], str]) -> Iterator[str]:
    fence = ""
    for line in markdown.splitlines():
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
            yield fence + _info(found[2].strip())
        elif fence:
            fence = "" if line.rstrip() == fence else fence
            yield line
        elif _COMMENT.match(line):
            yield from (line, "")  # else the comment takes the table below it into its block
        else:
            yield rewrite(line)


def _info(info: str) -> str:
    """Reduce the info string of a fence to what the highlighter knows: the language and the title."""
    title = re.search(r'title="[^"]+"', info)
    language = info.split(" ")[0]
    return " ".join(filter(None, [_LANGUAGES.get(language, language), title and title[0]]))


def _repository_path(site_path: str) -> str:
    """Return the path in the repository of a page of the site."""
    return _outside().get(site_path, f"docs/{site_path}")


@cache
def _outside() -> dict[str, str]:
    return {site: path.relative_to(ROOT).as_posix() for site, path in outside_files()}


def _site_path(path: str) -> str:
    """Return the path in the site of a file of the repository, or of a directory with its files."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path in OUTSIDE:
        return path.replace("examples/README.md", "examples/index.md").lower()
    return f"{path}.md" if Path(path).suffix in {".py", ".html", ".yaml"} else path
