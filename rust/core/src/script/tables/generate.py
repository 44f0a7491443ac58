"""Writes mod.rs beside this file: what CPython knows about the characters of strings. Run with CPython 3.11."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

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


def ranges(name: str, doc: str, test: Callable[[str], bool]) -> Iterator[str]:
    """A table of the characters that pass a test."""
    found: list[list[int]] = []
    for point in POINTS:
        if test(chr(point)):
            if found and found[-1][1] == point - 1:
                found[-1][1] = point
            else:
                found.append([point, point])
    yield f"/// {doc}, beyond ASCII."
    yield "#[rustfmt::skip]"
    yield f"pub(super) const {name}: &[(u32, u32)] = &["
    yield from packed(f"(0x{low:X}, 0x{high:X})," for low, high in found)
    yield "];"


def mapping(name: str, doc: str, of: Callable[[str], str], otherwise: Callable[[str], str]) -> Iterator[str]:
    """A table of the characters that `of` maps in another way than `otherwise`."""
    yield f"/// {doc}."
    yield "#[rustfmt::skip]"
    yield f"pub(super) const {name}: &[(char, &str)] = &["
    rows = []
    for char in map(chr, POINTS):
        if of(char) != otherwise(char):
            text = "".join(f"\\u{{{ord(c):X}}}" for c in of(char))
            rows.append(f"('\\u{{{ord(char):X}}}', \"{text}\"),")
    yield from packed(rows)
    yield "];"


def main() -> None:
    """Writes the file."""
    lines = ["//! What CPython 3.11 knows about characters. Written by `generate.py`.", ""]
    lines += ranges("ALPHA", "`str.isalpha`", str.isalpha)
    lines += ranges("DIGIT", "`str.isdigit`", str.isdigit)
    lines += ranges("DECIMAL", "`str.isdecimal`", str.isdecimal)
    lines += ranges("NUMERIC", "`str.isnumeric`", str.isnumeric)
    lines += ranges("UNPRINTABLE", "Not `str.isprintable`", lambda char: not char.isprintable())
    lines += mapping("TITLE", "`str.title` of characters, where it is not their upper case", str.title, str.upper)
    lines += mapping(
        "FOLDED", "`str.casefold` of characters, where it is not their lower case", str.casefold, str.lower
    )
    Path(__file__).with_name("mod.rs").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
