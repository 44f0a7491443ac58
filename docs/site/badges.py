"""The badges of the README: facts of this repository as small SVG files, which need no other host.

python docs/site/badges.py        # writes docs/images/badges
"""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BADGES = ROOT / "docs" / "images" / "badges"
_PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)")
_RUNNERS = {"Linux": "ubuntu", "macOS": "macos", "Windows": "windows"}
_LETTER, _PADDING, _HEIGHT = 6.6, 7, 20


def badges() -> dict[Path, str]:
    """Draw every badge: the SVG by the path where it belongs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    systems = [name for name, runner in _RUNNERS.items() if f"{runner}-" in workflow]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = f"\n## {rust['version']} - unreleased\n" not in changes
    named = [found for each in project["classifiers"] if (found := _PYTHON.fullmatch(each))]
    facts = {
        "ci": ("ci", " | ".join(systems)),
        "pypi": ("pypi", rust["version"] if released else "not yet"),
        "python": ("python", " | ".join(found[1] for found in named)),
        "rust": ("core", f"Rust ≥ {rust['rust-version']}"),
        "types": ("types", "mypy --strict"),
        "license": ("license", project["license"]),
    }
    return {BADGES / f"{name}.svg": _badge(*texts) for name, texts in facts.items()}


def _badge(left: str, right: str) -> str:
    widths = [len(text) * _LETTER + 2 * _PADDING for text in (left, right)]
    total = sum(widths)
    texts = "".join(
        f'<text x="{x:g}" y="14" textLength="{len(text) * _LETTER:g}">{escape(text)}</text>'
        for text, x in ((left, widths[0] / 2), (right, widths[0] + widths[1] / 2))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{total:g}" height="{_HEIGHT}" '
        f'aria-label="{escape(left)}: {escape(right)}">\n'
        f'<clipPath id="r"><rect width="{total:g}" height="{_HEIGHT}" rx="3"/></clipPath>\n'
        f'<g clip-path="url(#r)"><rect width="{widths[0]:g}" height="{_HEIGHT}" fill="#474e5d"/>'
        f'<rect x="{widths[0]:g}" width="{widths[1]:g}" height="{_HEIGHT}" fill="#2450a8"/></g>\n'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g>\n'
        "</svg>\n"
    )


if __name__ == "__main__":
    BADGES.mkdir(exist_ok=True)
    for path, svg in badges().items():
        path.write_text(svg, encoding="utf-8")
