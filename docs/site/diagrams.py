"""Drawings from text: `docs/images/NAME.diagram` is the source of `docs/images/NAME.svg`.

    python docs/site/diagrams.py        # writes the drawings whose sources changed

A source has the widths of its columns, boxes and arrows, one a line:

    columns: 120 150                  pixels; rows have one height
    agent 0 1 plain: agent | model    name, column, row, kind, and lines of text; 0-2 spans columns or rows 0 to 2
    agent -> policy: a call           an arrow, from side to side; -v> leaves or enters below or above

A drawing follows the colours of the reader's system, and in the site those of the page.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

IMAGES = Path(__file__).resolve().parents[1] / "images"
COLUMN_GAP, ROW, ROW_GAP, MARGIN, LINE = 58, 46, 20, 4, 17

LIGHT = "--ink:#1f2430;--soft:#5b6474;--line:#8a93a3;--paper:#ffffff;--box:#f4f6fa;"
LIGHT += "--allow:#1a7f46;--transform:#7c3aad;--ask:#9a5b00;--dry:#0b7285;--deny:#c02634"
DARK = "--ink:#e6e9ef;--soft:#aab2c0;--line:#7d8798;--paper:#1f2129;--box:#2a2e39;"
DARK += "--allow:#5fd08b;--transform:#cfa4f2;--ask:#f0b85a;--dry:#5ccfe0;--deny:#ff8a92"
STYLE = f""".diagram{{{LIGHT};font:13px system-ui,"DejaVu Sans",sans-serif}}
@media(prefers-color-scheme:dark){{.diagram{{{DARK}}}}}
.diagram rect{{fill:var(--box);stroke:var(--line)}}
.diagram text{{fill:var(--ink);text-anchor:middle}}
.diagram .more{{fill:var(--soft);font-size:12px}}
.diagram .label{{fill:var(--soft);font-size:12px;stroke:var(--paper);stroke-width:5;paint-order:stroke}}
.diagram path{{fill:none;stroke:var(--line);stroke-width:1.5}}
.diagram marker path{{fill:var(--line);stroke:none}}
""" + "".join(
    f".diagram .{kind} rect{{stroke:var(--{kind});stroke-width:1.5}}.diagram .{kind} text{{fill:var(--{kind})}}\n"
    for kind in ("allow", "transform", "ask", "dry", "deny")
)

_COLUMNS = re.compile(r"columns: ([\d ]+)")
_BOX = re.compile(r"(\w+) (\d+)(?:-(\d+))? (\d+)(?:-(\d+))? (\w+): (.+)")
_ARROW = re.compile(r"(\w+) (->|-v>) (\w+)(?:: (.+))?")
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A box with its corner, size, kind and lines of text."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    lines: tuple[str, ...]

    @property
    def middle(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2


def draw(source: str, name: str, alt: str) -> str:
    """Return the SVG of a source; ValueError names a line that is none of the three kinds."""
    widths: list[int] = []
    boxes: dict[str, Box] = {}
    arrows: list[str] = []
    for line in filter(None, map(str.strip, source.splitlines())):
        if found := _COLUMNS.fullmatch(line):
            widths = [int(width) for width in found[1].split()]
        elif found := _BOX.fullmatch(line):
            boxes[found[1]] = _box(found, widths)
        elif found := _ARROW.fullmatch(line):
            arrows.append(_arrow(boxes[found[1]], boxes[found[3]], found[2], found[4] or "", name))
        elif not line.startswith("#"):
            raise ValueError(f"neither columns, a box nor an arrow: {line}")
    width = max(box.x + box.width for box in boxes.values()) + MARGIN
    height = max(box.y + box.height for box in boxes.values()) + MARGIN
    head = (
        f'<svg class="diagram" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" aria-label="{escape(alt)}">\n<style>\n{STYLE}</style>\n'
        f'<marker id="{name}-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z"/></marker>\n'
    )
    return head + "".join([*arrows, *map(_shape, boxes.values())]) + "</svg>\n"


def _box(found: re.Match[str], widths: list[int]) -> Box:
    left, top = int(found[2]), int(found[4])
    right, bottom = int(found[3] or left), int(found[5] or top)
    x = MARGIN + sum(widths[:left]) + left * COLUMN_GAP
    width = sum(widths[left : right + 1]) + (right - left) * COLUMN_GAP
    y = MARGIN + top * (ROW + ROW_GAP)
    height = (bottom - top + 1) * ROW + (bottom - top) * ROW_GAP
    return Box(x, y, width, height, found[6], tuple(part.strip() for part in found[7].split(" | ")))


def _shape(box: Box) -> str:
    x, y = box.middle
    first = y - (len(box.lines) - 1) * LINE / 2 + 4.5
    texts = "".join(
        f'<text{" class=" + chr(34) + "more" + chr(34) if row else ""} x="{x:g}" y="{first + row * LINE:g}">'
        f"{escape(line)}</text>"
        for row, line in enumerate(box.lines)
    )
    frame = f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="6"/>'
    return f'<g class="{box.kind}">{frame}{texts}</g>\n'


def _arrow(start: Box, end: Box, form: str, label: str, name: str) -> str:
    points, at = _route(start, end, upright=form == "-v>")
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
    text = f'<text class="label" x="{at[0]:g}" y="{at[1]:g}">{escape(label)}</text>' if label else ""
    return f'<path d="{path}" marker-end="url(#{name}-arrow)"/>{text}\n'


def _route(start: Box, end: Box, *, upright: bool) -> tuple[list[Point], Point]:
    """Return the corners of an arrow, and the place of its label."""
    (a, b), (c, d) = start.middle, end.middle
    narrow, wide = sorted((start, end), key=lambda box: box.width)
    x = narrow.middle[0]
    if upright and wide.x <= x <= wide.x + wide.width:  # straight down or up, at the middle of the narrower one
        top, bottom = (start.y + start.height, end.y) if d > b else (start.y, end.y + end.height)
        return [(x, top), (x, bottom)], (x, (top + bottom) / 2 + 4)
    if upright:  # along the row, then into the end from below or above
        side = start.x if c < a else start.x + start.width
        edge = end.y + end.height if d < b else end.y
        return [(side, b), (c, b), (c, edge)], ((side + c) / 2, b - 7)
    left, right = (start.x + start.width, end.x) if c > a else (start.x, end.x + end.width)
    if end.y <= b <= end.y + end.height:
        d = b
    elif start.y <= d <= start.y + start.height:
        b = d
    middle = (left + right) / 2
    corners = [(left, b), (right, d)] if b == d else [(left, b), (middle, b), (middle, d), (right, d)]
    return corners, (middle, (b + d) / 2 - 7)


def inline(html: str, images: Path) -> str:
    """Replace the images of drawings by the drawings, so that they follow the colours of the page."""

    def replaced(found: re.Match[str]) -> str:
        source = images / f"{found[1]}.diagram"
        if not source.exists():
            return found[0]
        drawing = source.with_suffix(".svg").read_text(encoding="utf-8")
        return f'<span class="drawing">{drawing}</span>'

    return re.sub(r'<img [^>]*src="[./]*images/([\w-]+)\.svg"[^>]*>', replaced, html)


def sources() -> dict[Path, str]:
    """Draw every source: the SVG by the path where it belongs. The first line of a source is its title."""
    made = {}
    for path in sorted(IMAGES.glob("*.diagram")):
        title, _, source = path.read_text(encoding="utf-8").partition("\n")
        made[path.with_suffix(".svg")] = draw(source, path.stem, title.removeprefix("# "))
    return made


if __name__ == "__main__":
    for target, svg in sources().items():
        target.write_text(svg, encoding="utf-8")
        print(target.name, file=sys.stderr)
