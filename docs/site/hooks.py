"""Hooks of MkDocs: see `pages.py`, which does the work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, InclusionLevel

sys.path.insert(0, str(Path(__file__).parent))

from diagrams import IMAGES, inline
from pages import OUTSIDE, ROOT, outside_files, site_html, site_markdown, source_page


def on_files(files: Any, config: Any) -> Any:  # Any: classes of MkDocs, which the type checker does not see
    """Add the files outside docs/ that pages link to."""
    for site_path, path in outside_files():
        if path.relative_to(ROOT).as_posix() in OUTSIDE:
            files.append(File.generated(config, site_path, abs_src_path=str(path)))
        else:
            page = source_page(path)
            files.append(File.generated(config, site_path, content=page, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite what only GitHub understands; the landing page and source files get the width of the navigation."""
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]
    elif page.file.generated_by and page.file.inclusion is InclusionLevel.NOT_IN_NAV:
        page.meta["hide"] = ["navigation", "toc"]
    return site_markdown(markdown, page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """Rewrite the HTML, and put drawings into it, where they follow the colours of the page."""
    return inline(site_html(html), IMAGES)
