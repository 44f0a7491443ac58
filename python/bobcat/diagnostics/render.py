"""Rendering of diagnostics as text for humans and as JSON for programs; `sarif` renders them for code scanning.

Sources are passed as texts by file name; a finding in another file is shown without its line.
This module does not read files, print, or read the environment.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bobcat.diagnostics.catalogue import CODES
from bobcat.diagnostics.model import Diagnostic, Severity, Span
from bobcat.text.display import columns, safe_cells, safe_text, suspicions

TAB = 4
"""Columns a tab is shown as."""
WIDTH = 160
"""Columns of a source line that are shown; a longer one is truncated around the finding."""
MAX_WIDE = 4 * WIDTH
"""Characters of a source line that is measured completely to decide about truncation."""

_LINE_BREAK = re.compile("\r\n|[\n\r]")  # the line breaks of YAML 1.2, and of SARIF
_UNSEEN = "\ufffd"
"""Replacement of an invisible or control character of a source line."""
_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_DIM = "\x1b[2m"
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.NOTE: "\x1b[1;36m"}


def render_text(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], *, color: bool = False) -> str:
    """Format every finding with its source line and a caret; empty without findings."""
    lines: dict[str, list[str]] = {}
    return "\n\n".join(_block(item, sources, lines, _Paint(color)) for item in diagnostics)


def lines_of(text: str) -> list[str]:
    """Split a source into lines as spans count them."""
    return _LINE_BREAK.split(text.removeprefix("\ufeff"))


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Return one JSON object: `errors`, `warnings`, and `diagnostics` in the order given."""
    found = list(diagnostics)
    counts = Counter(item.severity for item in found if item.suppressed is None)
    document = {
        "version": 1,
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "diagnostics": [_json(item) for item in found],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def place(span: Span) -> str:
    """Return the start of a span: `file:line:column`, or `file: $.rules[0].match` for a source without text."""
    return f"{span.file}:{span.line}:{span.column}" if span.line else f"{span.file}: {span.path or '$'}"


class _Paint:
    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self._on else text


def _block(item: Diagnostic, sources: Mapping[str, str], lines: dict[str, list[str]], paint: _Paint) -> str:
    colour = _COLOURS[item.severity]
    out = [f"{paint(colour, f'{item.severity}[{item.code}]')}{paint(_BOLD, f': {safe_text(item.message)}')}"]
    gutter = ""
    if item.span is not None:
        number = str(item.span.line) if item.span.line else ""
        gutter = " " * len(number)
        out.append(f"{gutter} {paint(_DIM, '-->')} {safe_text(place(item.span))}")
        source = _line(item.span, sources, lines)
        if source is not None:
            text, mark = _marked(source, item.span)
            bar = paint(_DIM, "|")
            out.append(f"{gutter} {bar}")
            out.append(f"{paint(_DIM, number)} {bar} {text}{suspicions(text)}".rstrip())
            out.append(f"{gutter} {bar} {_indented(mark, colour, paint)}")
    equals = f"{gutter} {paint(_DIM, '=')}"
    out.extend(f"{equals} note: {safe_text(other.message)}: {safe_text(place(other.span))}" for other in item.related)
    if item.help is not None:
        out.append(f"{equals} help: {safe_text(item.help)}")
    return "\n".join(out)


def _indented(mark: str, colour: str, paint: _Paint) -> str:
    bare = mark.lstrip(" ")
    return " " * (len(mark) - len(bare)) + paint(colour, bare)


def _line(span: Span, sources: Mapping[str, str], lines: dict[str, list[str]]) -> str | None:
    if not span.line or span.file not in sources:
        return None
    if span.file not in lines:
        lines[span.file] = lines_of(sources[span.file])
    split = lines[span.file]
    return split[span.line - 1] if span.line <= len(split) else None


def _marked(line: str, span: Span) -> tuple[str, str]:
    """Return a source line as displayed, and the line of carets below it."""
    start = min(span.column - 1, len(line))
    if span.end_line == span.line:
        end = max(start, min(span.end_column - 1, len(line)))
    else:
        end = start + len(line[start:].rstrip())
    # PERF: a policy of one line can have megabytes and a thousand findings; only the displayed part is processed.
    first = max(0, start - WIDTH) if len(line) > MAX_WIDE else 0
    window = line[first : start + WIDTH] if len(line) > MAX_WIDE else line
    if window.isascii() and window.isprintable():  # PERF: most lines; each character takes one column
        cells: Sequence[str] = window
    else:
        safe = safe_cells(window, _UNSEEN)
        cells = [" " * TAB if char == "\t" else cell for char, cell in zip(window, safe, strict=True)]
    at, stop = start - first, min(end - first, len(window))
    before, marked = _width(cells[:at]), max(1, _width(cells[at:stop]))
    text = "".join(cells)
    if len(window) == len(line) and _width(cells) <= WIDTH:
        return text, " " * before + "^" * marked
    left = max(0, at - WIDTH // 4)
    right = min(len(cells), left + WIDTH)
    head, tail = ("..." if first + left else ""), ("..." if first + right < len(line) else "")
    before = len(head) + _width(cells[left:at])
    marked = max(1, min(marked, _width(cells[at:right])))
    return head + "".join(cells[left:right]) + tail, " " * before + "^" * marked


def _width(cells: Sequence[str]) -> int:
    if isinstance(cells, str):
        return len(cells)
    return sum(columns(char) for cell in cells for char in cell)


# Any: JSON.
def _json(item: Diagnostic) -> dict[str, Any]:
    return {
        "code": item.code,
        "name": CODES[item.code].name if item.code in CODES else "",
        "severity": str(item.severity),
        "message": item.message,
        "help": item.help,
        "span": _json_span(item.span) if item.span is not None else None,
        "related": [{"message": other.message, "span": _json_span(other.span)} for other in item.related],
        **({"suppressed": item.suppressed} if item.suppressed is not None else {}),
    }


def _json_span(span: Span) -> dict[str, Any]:
    if not span.line:
        return {"file": span.file, "path": span.path}
    return {name: value for name, value in asdict(span).items() if name != "path"}
