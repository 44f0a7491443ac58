"""Check a built site: links and anchors resolve, and pages load nothing from other hosts.

python docs/site/check.py .build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
_STYLES = {"stylesheet", "icon", "preload", "preconnect", "modulepreload"}


class _Page(HTMLParser):
    """Collect what a page links to, loads and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.duplicates: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if anchor := given.get("id") or (tag == "a" and given.get("name")):
            (self.duplicates if anchor in self.anchors else self.anchors).add(str(anchor))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") in _STYLES:
            self.loads.append(given["href"])
        if value := given.get(_LOADS.get(tag, "")):
            self.loads.append(value)


def faults(site: Path) -> list[str]:
    """List what is wrong with the pages below `site`, one line each."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name}: two elements have the id `{anchor}`" for anchor in sorted(page.duplicates)]
        found += [f"{name}: loads `{url}` from another host" for url in page.loads if urlsplit(url).netloc]
        for url in [*page.links, *page.loads]:
            if name.name != "404.html" and (fault := _fault(url, path, pages)):
                found.append(f"{name}: {fault}")
    for style in sorted(site.rglob("*.css")):
        if "url(http" in style.read_text(encoding="utf-8") or "url(//" in style.read_text(encoding="utf-8"):
            found.append(f"{style.relative_to(site)}: loads from another host")
    return found


def _fault(url: str, path: Path, pages: dict[Path, _Page]) -> str | None:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return f"links to `{url}`, which is not there"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return f"links to `{url}`, an anchor that is not there"
    return None


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]).resolve())
    print("\n".join(lines) or "every link and anchor of the site resolves")
    sys.exit(1 if lines else 0)
