"""The page of all pages: docs/contents.md, made from the navigation of mkdocs.yml and the titles of the pages.

.venv/bin/python docs/site/contents.py        # writes the page
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

import yaml
from pages import ROOT, outside_files

PAGE = ROOT / "docs" / "contents.md"
_HEAD = """# All pages

Every page of the documentation, in the order of its navigation. [Bobcat](index.md) is the first one to read.
"""


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name objects of Python."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def config() -> dict[str, Any]:  # Any: YAML, here and below
    """Read mkdocs.yml."""
    found: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)
    return found


def navigation(entries: list[Any] | None = None) -> Iterator[str]:
    """Yield the pages of the navigation, or of a part of it, by their paths in the site."""
    for entry in config()["nav"] if entries is None else entries:
        below = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from [below] if isinstance(below, str) else navigation(below)


def contents() -> str:
    """Render the page: a heading for each part of the navigation, a line of links for each section."""
    text = _HEAD
    for part in config()["nav"]:
        [(title, entries)] = part.items()
        if title != "Home":
            text += f"\n## {title}\n\n" + "".join(f"* {line}\n" for line in _lines(entries))
    return text


def _lines(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        title, below = next(iter(entry.items())) if isinstance(entry, dict) else ("", entry)
        yield _link(below) if isinstance(below, str) else f"{title}: {', '.join(map(_link, navigation(below)))}"


def _link(site_path: str) -> str:
    path = dict(outside_files()).get(site_path, ROOT / "docs" / site_path)
    title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f"[{title}]({posixpath.relpath(path.relative_to(ROOT).as_posix(), 'docs')})"


if __name__ == "__main__":
    PAGE.write_text(contents(), encoding="utf-8")
