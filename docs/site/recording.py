"""The recording of `make demo`: a real run in a terminal, as an animated SVG that needs no script.

    .venv/bin/python docs/site/recording.py        # runs the demo, writes docs/images/demo.svg

The pauses are not those of the run, which takes less than a second: a paragraph is shown at a time. A reader who
prefers reduced motion gets the first screen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
SVG = ROOT / "docs" / "images" / "demo.svg"
COLUMNS, ROWS = 100, 30
WIDTH, HEIGHT, SIZE, TOP, LEFT = 7.83, 18, 13, 44, 16  # of a character, a line, the font; of the first character
FIRST, PAUSE, LAST = 0.6, 1.6, 6.0  # seconds before the output, for a paragraph, and at the end
LABEL = (
    "A terminal: make demo compiles a policy, runs an agent behind it with a decision on each call, explains a denial."
)

_COLORS = {"31": "red", "32": "green", "33": "yellow", "35": "magenta", "36": "cyan"}
_STYLE = """text{font:13px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#d6dae3;white-space:pre}
.dim{fill:#99a1b1}.bold{font-weight:700}.red{fill:#ff8a92}.green{fill:#6fd89a}.yellow{fill:#f2c46b}
.magenta{fill:#d3a9f5}.cyan{fill:#6cd3e2}.page{fill:#171b26}.bar{fill:#252b3a}
@media(prefers-reduced-motion:reduce){.scroll,.cover{animation:none!important}}
"""


@dataclass(frozen=True)
class Run:
    """A piece of a line with one style, as classes of the SVG."""

    text: str
    style: str


Line = tuple[Run, ...]


def record() -> list[Line]:
    """Run the demo in a terminal and return its lines, wrapped as the terminal wraps them."""
    import pty  # Windows has none: the tests draw and read recordings there, too

    parent, child = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLORTERM")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    with tempfile.TemporaryDirectory() as scratch:
        demo = subprocess.Popen(
            [sys.executable, ROOT / "examples" / "demo.py", scratch], stdout=child, stderr=child, env=environment
        )
        os.close(child)
        output = _all_of(parent)
        if demo.wait() != 0:
            raise RuntimeError(f"the demo failed:\n{output}")
    return [row for text in output.replace("\r\n", "\n").rstrip("\n").split("\n") for row in _wrapped(_runs(text))]


def _all_of(descriptor: int) -> str:
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # the other side of a terminal is closed
            part = b""
        if not part:
            os.close(descriptor)
            return b"".join(parts).decode()
        parts.append(part)


def _runs(text: str) -> list[Run]:
    found, style = [], ""
    for code, piece in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", text):
        if code:
            names = [{"1": "bold", "2": "dim", **_COLORS}.get(part, "") for part in code.split(";")]
            style = " ".join(filter(None, names))
        if piece:
            found.append(Run(piece, style))
    return found


def _wrapped(runs: list[Run]) -> list[Line]:
    rows: list[list[Run]] = [[]]
    free = COLUMNS
    for run in runs:
        text = run.text
        while text:
            if not free:
                rows.append([])
                free = COLUMNS
            rows[-1].append(Run(text[:free], run.style))
            text, free = text[free:], max(0, free - len(text))
    return [tuple(row) for row in rows]


def render(lines: list[Line]) -> str:
    """Return the SVG of lines below the command that printed them."""
    lines = [(Run("$ ", "dim"), Run("make demo", "bold")), *lines]
    width, height = LEFT * 2 + COLUMNS * WIDTH, TOP + ROWS * HEIGHT
    texts = "".join(
        f'<text y="{number * HEIGHT + SIZE}">{"".join(map(_span, line))}</text>\n' for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:g} {height}" width="{width:g}" '
        f'height="{height}" aria-label="{LABEL}">\n<style>\n{_STYLE}{_animation(lines)}</style>\n'
        f'<rect class="page" width="{width:g}" height="{height}" rx="8"/>'
        f'<rect class="bar" width="{width:g}" height="30" rx="8"/>\n'
        f'<svg x="{LEFT}" y="{TOP - 6}" width="{COLUMNS * WIDTH:g}" height="{ROWS * HEIGHT}">'
        f'<g class="scroll">\n{texts}'
        f'<rect class="page cover" y="{len(lines) * HEIGHT}" width="{COLUMNS * WIDTH:g}" '
        f'height="{len(lines) * HEIGHT}"/></g></svg>\n</svg>\n'
    )


def _span(run: Run) -> str:
    text = escape(run.text, quote=False)
    return f'<tspan class="{run.style}">{text}</tspan>' if run.style else f"<tspan>{text}</tspan>"


def _animation(lines: list[Line]) -> str:
    """Return the keyframes: a cover uncovers a paragraph at a time, and the lines scroll when the screen is full."""
    ends = [1, *(number for number, line in enumerate(lines) if not line and number > 1), len(lines)]
    total = FIRST + PAUSE * (len(ends) - 2) + LAST
    scroll, cover = "", ""
    for index, end in enumerate(ends):
        at = 0 if not index else (FIRST + PAUSE * (index - 1)) / total * 100
        scroll += f"{at:.2f}%{{transform:translateY({-max(0, end - ROWS + 1) * HEIGHT}px)}}"
        cover += f"{at:.2f}%{{transform:translateY({(end - len(lines)) * HEIGHT}px)}}"
    return "".join(
        f"@keyframes {name}{{{frames}}}.{name}{{animation:{name} {total:g}s step-end infinite}}\n"
        for name, frames in (("scroll", scroll), ("cover", cover))
    )


def text_of(svg: str) -> str:
    """Return the text of a recording, without the command; the milliseconds of the run are replaced."""
    lines = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    text = "\n".join("".join(line.itertext()) for line in list(lines)[1:])
    return re.sub(r"in \d+ ms", "in N ms", text)


if __name__ == "__main__":
    SVG.write_text(render(record()), encoding="utf-8")
