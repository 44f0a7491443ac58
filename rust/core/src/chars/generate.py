"""Writes `tables.rs` beside this file: the characters of Unicode 14.0 as CPython 3.11 has them.

Run with CPython 3.11: `python3.11 rust/core/src/chars/generate.py`. The tables are committed; a build never runs this. Another
version of Unicode changes decisions: `docs/reference/semantics.md` names this one, and a test compares all characters.
"""

from __future__ import annotations

import _sre
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

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


def constant(name: str, doc: str, kind: str, rows: Iterable[str]) -> Iterator[str]:
    """One Rust constant."""
    yield f"/// {doc}."
    yield "#[rustfmt::skip]"
    yield f"pub(crate) const {name}: &[{kind}] = &["
    yield from packed(rows)
    yield "];"


def ranges(name: str, doc: str, test: Callable[[str], bool]) -> Iterator[str]:
    """A table of the characters that pass a test."""
    found: list[list[int]] = []
    for point in POINTS:
        if test(chr(point)):
            if found and found[-1][1] == point - 1:
                found[-1][1] = point
            else:
                found.append([point, point])
    yield from constant(
        name, f"{doc}, beyond ASCII", "(u32, u32)", (f"(0x{low:X}, 0x{high:X})," for low, high in found)
    )


def mapping(name: str, doc: str, of: Callable[[str], str], otherwise: Callable[[str], str]) -> Iterator[str]:
    """A table of the characters that `of` maps in another way than `otherwise`."""
    rows = []
    for char in map(chr, POINTS):
        if of(char) != otherwise(char):
            text = "".join(f"\\u{{{ord(c):X}}}" for c in of(char))
            rows.append(f"('\\u{{{ord(char):X}}}', \"{text}\"),")
    yield from constant(name, doc, "(char, &str)", rows)


def pairs(name: str, doc: str, simple: dict[int, int]) -> Iterator[str]:
    """A table of characters and the one character that each is mapped to."""
    yield from constant(
        name, doc, "(u32, u32)", (f"(0x{source:X}, 0x{target:X})," for source, target in sorted(simple.items()))
    )


def is_ignorable(char: str) -> bool:
    """Whether a final sigma looks past the character: nothing else in Python asks for this property."""
    return f"A{char}Σ".lower().endswith("ς") and not f"1{char}Σ".lower().endswith("ς")


def main() -> None:
    """Writes the file."""
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"the tables are those of Unicode {VERSION}: run this with python3.11")
    lower = {point: _sre.unicode_tolower(point) for point in range(sys.maxunicode + 1)}
    lower = {point: to for point, to in lower.items() if to != point}
    upper = {point: ord(chr(point).upper()) for point in POINTS if len(chr(point).upper()) == 1}
    upper = {point: to for point, to in upper.items() if to != point}

    def simply_lower(char: str) -> str:
        return chr(lower.get(ord(char), ord(char)))

    def simply_upper(char: str) -> str:
        return chr(upper.get(ord(char), ord(char)))

    lines = [f"//! The characters of Unicode {VERSION}, as CPython 3.11 has them. Written by `generate.py`.", ""]
    lines += ranges("ALPHA", "`str.isalpha`", str.isalpha)
    lines += ranges("DIGIT", "`str.isdigit`", str.isdigit)
    lines += ranges("DECIMAL", "`str.isdecimal`", str.isdecimal)
    lines += ranges("NUMERIC", "`str.isnumeric`", str.isnumeric)
    lines += ranges("UNPRINTABLE", "Not `str.isprintable`", lambda char: not char.isprintable())
    lines += ranges("LOWERCASE", "`str.islower`", str.islower)
    lines += ranges("UPPERCASE", "`str.isupper`", str.isupper)
    lines += ranges("IGNORABLE", "What a final sigma looks past", is_ignorable)
    lines += pairs("LOWER", "Characters and the one that is their lower case", lower)
    lines += pairs("UPPER", "Characters beyond ASCII and the one that is their upper case", upper)
    lines += mapping("LOWER_MORE", "`str.lower` of characters, where it is more", str.lower, simply_lower)
    lines += mapping("UPPER_MORE", "`str.upper` of characters, where it is more", str.upper, simply_upper)
    lines += mapping("TITLE", "`str.title` of characters, where it is not their upper case", str.title, str.upper)
    lines += mapping(
        "FOLDED", "`str.casefold` of characters, where it is not their lower case", str.casefold, str.lower
    )
    Path(__file__).with_name("tables.rs").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
