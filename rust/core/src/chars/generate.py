"""Writes `tables.rs` beside this file: the characters of Unicode 14.0 as CPython 3.11 has them.

Run with CPython 3.11: `python3.11 rust/core/src/chars/generate.py`. The tables are committed; a build never runs this.
Another version of Unicode changes decisions: `docs/reference/semantics.md` names this one, and a test compares all
characters.
"""

from __future__ import annotations

import _sre
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from re._casefix import _EXTRA_CASES

VERSION = "14.0.0"
POINTS = [point for point in range(0x80, sys.maxunicode + 1) if not 0xD800 <= point <= 0xDFFF]


def packed(rows: Iterable[str]) -> Iterator[str]:
    """Several rows on a line."""
    line = "   "
    for row in rows:
        if len(line) + len(row) > 116:
            yield line
            line = "   "
        line += f" {row}"
    yield line


def constant(name: str, doc: str, kind: str, rows: Iterable[str], wrap: str = "&[{}]") -> Iterator[str]:
    """One Rust constant."""
    before, after = wrap.split("{}")
    yield f"/// {doc}."
    yield "#[rustfmt::skip]"
    yield f"pub(crate) static {name}: {kind} = {before}"
    yield from packed(rows)
    yield f"{after};"


def ranges(name: str, doc: str, test: Callable[[str], bool]) -> Iterator[str]:
    """A table of the characters that pass a test, as the gaps before its ranges and their lengths."""
    found: list[list[int]] = []
    for point in POINTS:
        if test(chr(point)):
            if found and found[-1][1] == point - 1:
                found[-1][1] = point
            else:
                found.append([point, point])
    gaps = (after[0] - before[1] for before, after in pairwise([[0, 0], *found]))
    rows = (f"{gap}, {high - low}," for gap, (low, high) in zip(gaps, found, strict=True))
    kind = f"[(u32, u32); {len(found)}]"
    yield from constant(name, f"{doc}, beyond ASCII", kind, rows, "ranges(&[{}])")


def runs(name: str, doc: str, simple: dict[int, int]) -> Iterator[str]:
    """A table of characters and the one character that each is mapped to, as runs with a constant distance.

    A run is the gap before it, that distance, the number of its characters, and the step from one to the next.
    """
    found: list[list[int]] = []
    for source, target in sorted(simple.items()):
        if found:
            first, to, count, step = found[-1]
            gap = source - first - (count - 1) * step
            if target - source == to - first and gap in ((step,) if count > 1 else (1, 2)):
                found[-1][2:] = [count + 1, gap]
                continue
        found.append([source, target, 1, 1])
    starts = [0, *(source + (count - 1) * step for source, _, count, step in found)]
    rows = (
        f"{source - before}, {target - source}, {count}, {step},"
        for before, (source, target, count, step) in zip(starts, found, strict=False)
    )
    yield from constant(name, doc, f"[(u32, u32); {len(simple)}]", rows, "pairs(&[{}])")


def mapping(name: str, doc: str, of: Callable[[str], str], otherwise: Callable[[str], str]) -> Iterator[str]:
    """Tables of the characters that `of` maps in another way than `otherwise`: to one character, and to more.

    More than one are runs: the first character, the number of characters, and the targets of the first. From one to the
    next the first target ascends by one.
    """
    found = {char: of(char) for char in map(chr, POINTS) if of(char) != otherwise(char)}
    simple = {ord(char): ord(text) for char, text in found.items() if len(text) == 1}
    if simple:
        yield from runs(name, doc, simple)
        yield ""
    more = [[*map(ord, char + text)] for char, text in found.items() if len(text) > 1]
    series: list[list[int]] = []
    for source, target, *rest in more:
        if series:
            first, count, to, *others = series[-1]
            if (source, target, rest) == (first + count, to + count, others):
                series[-1][1] += 1
                continue
        series.append([source, 1, target, *rest])
    rows = (", ".join(map(str, row + [0] * (5 - len(row)))) + "," for row in series)
    yield from constant(
        f"{name}_MORE", f"{doc}: more than one character", f"[[u16; 4]; {len(more)}]", rows, "texts(&[{}])"
    )


def check_patterns(lower: dict[int, int]) -> None:
    """Assert what the `python` dialect of patterns derives from these tables."""
    for char in map(chr, range(sys.maxunicode + 1)):
        assert bool(re.match(r"\w", char)) == (char == "_" or char.isalpha() or char.isnumeric())
        assert bool(re.match(r"\d", char)) == char.isdecimal()
        assert bool(re.match(r"\s", char)) == (char.isspace() and char <= "\u3000")
    assert all(_sre.unicode_iscased(dst) for dst in lower.values()), "a literal without case has a partner"
    known = set(lower) | set(lower.values())
    wide = {point for point in POINTS if point > 0xFFFF and _sre.unicode_iscased(point)}
    assert wide <= known, "a cased character beyond U+FFFF is missing"


def main() -> None:
    """Writes the file."""
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"the tables are those of Unicode {VERSION}: run this with python3.11")
    lower = {point: _sre.unicode_tolower(point) for point in range(sys.maxunicode + 1)}
    lower = {point: to for point, to in lower.items() if to != point}
    upper = {point: ord(chr(point).upper()) for point in POINTS if len(chr(point).upper()) == 1}
    upper = {point: to for point, to in upper.items() if to != point}
    check_patterns(lower)

    def simply_lower(char: str) -> str:
        return chr(lower.get(ord(char), ord(char)))

    def simply_upper(char: str) -> str:
        return chr(upper.get(ord(char), ord(char)))

    parts = [
        [f"//! The characters of Unicode {VERSION}, as CPython 3.11 has them. Written by `generate.py`."],
        ["use super::expand::{pairs, ranges, texts};"],
        ranges("DIGIT", "`str.isdigit`", str.isdigit),
        ranges("NUMERIC", "`str.isnumeric`", str.isnumeric),
        runs("LOWER", "Characters and the one that is their lower case", lower),
        runs("UPPER", "Characters beyond ASCII and the one that is their upper case", upper),
        mapping("LOWER", "`str.lower` of characters", str.lower, simply_lower),
        mapping("UPPER", "`str.upper` of characters", str.upper, simply_upper),
        mapping("TITLE", "`str.title` of characters, where it is not their upper case", str.title, str.upper),
        mapping("FOLDED", "`str.casefold` of characters, where it is not their lower case", str.casefold, str.lower),
        constant(
            "SAME_IN_PATTERNS",
            "Lower-case characters that `re` also finds for each other when it ignores case",
            "&[(u32, u32)]",
            (f"({src:#x}, {dst:#x})," for src, found in sorted(_EXTRA_CASES.items()) for dst in found),
        ),
    ]
    text = "\n\n".join("\n".join(part) for part in parts)
    Path(__file__).with_name("tables.rs").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
