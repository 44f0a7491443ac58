"""Hooks of MkDocs: see `pages.py`, which does the work."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
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
    """Rewrite what only GitHub understands, and set the layout and the weight in searches of some pages."""
    if page.file.src_uri.startswith(("adr/", "notes/", "changelog", "contributing", "examples/")):
        page.meta["search"] = {"boost": 0.5}  # behind pages for users
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]
    elif page.file.generated_by and page.file.inclusion is InclusionLevel.NOT_IN_NAV:
        page.meta["hide"] = ["navigation", "toc"]
    return site_markdown(markdown, page.file.src_uri)


@event_priority(-100)  # type: ignore[untyped-decorator]  # after the index is written
def on_post_build(config: Any, **_: Any) -> None:
    """Write the index of the search as a script, too: pages opened from the disk can load no other file."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    index.with_suffix(".js").write_text(f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8")


def on_page_content(html: str, **_: Any) -> str:
    """Rewrite the HTML, and put drawings into it, where they follow the colours of the page."""
    return inline(site_html(html), IMAGES)
