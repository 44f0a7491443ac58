r"""Syntax trees of patterns of the `re2` dialect, for the lints.

    parse(r"(?i)^ls( -\w+)*$")    the tree; `PatternSyntaxError` for an invalid pattern
    is_anchored(tree)             every match spans the whole text

The pattern has already been validated (`frontend.strict.patterns`), so this parser supports only valid constructs.
Evaluation does not use it: the core has its own parser.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias, assert_never

Range: TypeAlias = tuple[int, int]
Assertion = Literal["text_start", "text_end", "line_start", "line_end", "word", "not_word"]


class PatternSyntaxError(ValueError):
    """The text is not a valid pattern of the dialect, or needs tables that Python does not have."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set: ranges of code points, or categories, or their complements; the complement if `negated`.

    A category is a Unicode general category, or the name of a class: `w`, `:alpha`.

    `fold`: case-insensitive. `text` is the spelling in the pattern, `at` its position.
    """

    ranges: tuple[Range, ...]
    categories: tuple[tuple[str, bool], ...] = ()
    negated: bool = False
    fold: bool = False
    text: str = field(default="", compare=False)
    at: int = field(default=-1, compare=False)

    def holds(self, char: str) -> bool:
        """Return true if a character is in the set."""
        same = {char, *_cases(char)} if self.fold else {char}
        inside = any(low <= ord(item) <= high for low, high in self.ranges for item in same) or any(
            any(_in_category(item, name) for item in same) is not without for name, without in self.categories
        )
        return inside is not self.negated


@dataclass(frozen=True, slots=True)
class Assert:
    """An assertion about a position between characters."""

    kind: Assertion


@dataclass(frozen=True, slots=True)
class Cat:
    """A concatenation; empty: the empty text."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """An alternation."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition of `low` to `high` times; `high` is None without an upper bound."""

    item: Tree
    low: int
    high: int | None


Tree: TypeAlias = Chars | Assert | Cat | Alt | Repeat

_DIGIT: tuple[Range, ...] = ((48, 57),)
_SPACE: tuple[Range, ...] = ((9, 10), (12, 13), (32, 32))
_WORD: tuple[Range, ...] = ((48, 57), (65, 90), (95, 95), (97, 122))
_PERL = {"d": _DIGIT, "s": _SPACE, "w": _WORD}
_POSIX: dict[str, tuple[Range, ...]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": _DIGIT,
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": _WORD,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
_ESCAPES = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_GROUP = re.compile(r"\(\?(?:P?<[^>]*>|(?P<on>[imsU]*)(?:-(?P<off>[imsU]+))?(?P<end>[:)]))")
# `{01}` is literal text; a lazy repetition accepts the same texts.
_COUNT = re.compile(r"(?:(?P<sign>[*+?])|\{(?P<low>0|[1-9][0-9]*)(?:(?P<comma>,)(?P<high>0|[1-9][0-9]*)?)?\})\??")
_CODE = re.compile(r"\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|([0-7]{1,3}))")
_CATEGORY = re.compile(r"\\([pP])(?:\{(\^?)([^}]+)\}|(.))")
_NAMED = re.compile(r"\[:(\^?)(\w+):\]")


@lru_cache(maxsize=4_096)
def parse(pattern: str) -> Tree:
    """Parse a pattern. Raises `PatternSyntaxError`."""
    return _Parser(pattern).whole()


@lru_cache(maxsize=4_096)
def is_anchored(pattern: str) -> bool:
    """Return true if every match of a pattern spans the whole text."""
    try:
        tree = parse(pattern)
        return is_fixed(tree, "text_start") and is_fixed(tree, "text_end")
    except (PatternSyntaxError, RecursionError):
        return False


def walk(tree: Tree) -> Iterator[Tree]:
    """Yield every part of a tree, each before those in it, from left to right."""
    yield tree
    match tree:
        case Cat(items) | Alt(items):
            for item in items:
                yield from walk(item)
        case Repeat(item):
            yield from walk(item)
        case Chars() | Assert():
            pass


def is_nullable(tree: Tree) -> bool:
    """Return true if a tree accepts the empty text, ignoring assertions."""
    match tree:
        case Chars():
            return False
        case Assert():
            return True
        case Cat(items):
            return all(map(is_nullable, items))
        case Alt(items):
            return any(map(is_nullable, items))
        case Repeat(item, low):
            return low == 0 or is_nullable(item)
        case _:
            assert_never(tree)


def is_fixed(tree: Tree, edge: Literal["text_start", "text_end"]) -> bool:
    """Return true if every match of a tree is anchored at this edge of the text."""
    match tree:
        case Chars():
            return False
        case Assert(kind):
            return kind == edge
        case Alt(items):
            return bool(items) and all(is_fixed(item, edge) for item in items)
        case Repeat(item, low):
            return low > 0 and is_fixed(item, edge)
        case Cat(items):
            for item in items if edge == "text_start" else reversed(items):
                if is_fixed(item, edge):
                    return True
                if not is_nullable(item):
                    return False
            return False
        case _:
            assert_never(tree)


@dataclass(frozen=True, slots=True)
class _Flags:
    fold: bool = False
    lines: bool = False
    dot_all: bool = False


class _Parser:
    """Recursive-descent parser of a pattern; flags hold until the end of their group."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Tree:
        tree, _ = self._alternatives(_Flags())
        if self._at != len(self._text):
            raise PatternSyntaxError(f"unexpected `{self._text[self._at]}`")
        return tree

    def _alternatives(self, flags: _Flags) -> tuple[Tree, _Flags]:
        found: list[Tree] = []
        while True:
            items, flags = self._sequence(flags)
            found.append(items[0] if len(items) == 1 else Cat(tuple(items)))
            if not self._text.startswith("|", self._at):
                return (found[0] if len(found) == 1 else Alt(tuple(found))), flags
            self._at += 1

    def _sequence(self, flags: _Flags) -> tuple[list[Tree], _Flags]:
        items: list[Tree] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            group = _GROUP.match(self._text, self._at)
            if group is not None and group["end"] == ")":
                flags = _flags(flags, group)
                self._at = group.end()
            elif self._text.startswith("\\Q", self._at):
                items.extend(self._quoted(flags))
                items[-1:] = [self._repeated(items[-1])] if items else []
            else:
                items.append(self._repeated(self._one(flags, group)))
        return items, flags

    def _quoted(self, flags: _Flags) -> list[Tree]:
        end = self._text.find("\\E", self._at)
        quoted = self._text[self._at + 2 :] if end < 0 else self._text[self._at + 2 : end]
        self._at = len(self._text) if end < 0 else end + 2
        return [_literal(ord(char), flags) for char in quoted]

    def _one(self, flags: _Flags, group: re.Match[str] | None) -> Tree:
        char = self._text[self._at]
        match char:
            case "(":
                self._at = group.end() if group is not None else self._at + 1
                if group is not None and group["end"]:
                    flags = _flags(flags, group)
                tree, _ = self._alternatives(flags)
                if not self._text.startswith(")", self._at):
                    raise PatternSyntaxError("a group is not closed")
                self._at += 1
                return tree
            case "[":
                return self._class(flags)
            case ".":
                self._at += 1
                return Chars(() if flags.dot_all else ((10, 10),), negated=True, text=".", at=self._at - 1)
            case "^":
                self._at += 1
                return Assert("line_start" if flags.lines else "text_start")
            case "$":
                self._at += 1
                return Assert("line_end" if flags.lines else "text_end")
            case "\\":
                return self._escape(flags)
            case _:
                self._at += 1
                return _literal(ord(char), flags)

    def _repeated(self, item: Tree) -> Tree:
        while self._at < len(self._text):
            count = _COUNT.match(self._text, self._at)
            if count is None:
                return item
            self._at = count.end()
            if count["sign"]:
                item = Repeat(item, int(count["sign"] == "+"), 1 if count["sign"] == "?" else None)
            else:
                low = int(count["low"])
                item = Repeat(item, low, int(count["high"]) if count["high"] else None if count["comma"] else low)
        return item

    def _escape(self, flags: _Flags) -> Tree:
        assertion: dict[str, Assertion] = {"A": "text_start", "z": "text_end", "b": "word", "B": "not_word"}
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in assertion:
            self._at += 2
            return Assert(assertion[letter])
        start = self._at
        ranges, categories = self._escaped()
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return _literal(ranges[0][0], flags)
        return Chars(ranges, categories, fold=flags.fold, text=self._text[start : self._at])

    def _escaped(self) -> tuple[tuple[Range, ...], tuple[tuple[str, bool], ...]]:
        """Return the characters of an escape, inside or outside a class."""
        category = _CATEGORY.match(self._text, self._at)
        if category is not None:
            self._at = category.end()
            return (), ((category[3] or category[4], (category[1] == "P") is not bool(category[2])),)
        code = _CODE.match(self._text, self._at)
        if code is not None:
            self._at = code.end()
            number = int(code[1] or code[2], 16) if code[1] or code[2] else int(code[3], 8)
            return ((number, number),), ()
        letter = self._text[self._at + 1 : self._at + 2]
        if not letter:
            raise PatternSyntaxError("a backslash at the end")
        self._at += 2
        if letter.lower() in _PERL:
            return (_PERL[letter], ()) if letter.islower() else ((), ((letter.lower(), True),))
        number = _ESCAPES.get(letter, ord(letter))
        return ((number, number),), ()

    def _class(self, flags: _Flags) -> Tree:
        start = self._at
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        ranges: list[Range] = []
        categories: list[tuple[str, bool]] = []
        first = True
        while first or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise PatternSyntaxError("a class is not closed")
            first = False
            named = _NAMED.match(self._text, self._at)
            if named is not None:
                self._at = named.end()
                found = _POSIX.get(named[2])
                if found is None:
                    raise PatternSyntaxError(f"there is no class `{named[2]}`")
                ranges.extend(() if named[1] else found)
                categories.extend([(f":{named[2]}", True)] if named[1] else [])
                continue
            low, more = self._member()
            categories.extend(more)
            single = len(low) == 1 and low[0][0] == low[0][1]
            if single and self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                high, _ = self._member()
                low = ((low[0][0], high[0][1]),) if high else low
            ranges.extend(low)
        self._at += 1
        text = self._text[start : self._at]
        return Chars(tuple(ranges), tuple(categories), negated, flags.fold, text)

    def _member(self) -> tuple[tuple[Range, ...], tuple[tuple[str, bool], ...]]:
        if self._text.startswith("\\", self._at):
            return self._escaped()
        code = ord(self._text[self._at])
        self._at += 1
        return ((code, code),), ()


def _flags(flags: _Flags, group: re.Match[str]) -> _Flags:
    on, off = group["on"] or "", group["off"] or ""

    def flag(letter: str, now: bool) -> bool:
        return (now or letter in on) and letter not in off

    return _Flags(flag("i", flags.fold), flag("m", flags.lines), flag("s", flags.dot_all))


def _literal(code: int, flags: _Flags) -> Chars:
    return Chars(((code, code),), fold=flags.fold and bool(_cases(chr(code))), text=chr(code))


@lru_cache(maxsize=1_024)
def _cases(char: str) -> frozenset[str]:
    """Return the other cases of a letter, as single characters."""
    found = {char.lower(), char.upper(), char.title()}
    found = {item for item in found if len(item) == 1 and item.casefold() == char.casefold()}
    for letters in ("kK\u212a", "sS\u017f", "\xdf\u1e9e", "\xe5\xc5\u212b", "\u03c9\u03a9\u2126", "\xb5\u03bc\u039c"):
        if char in letters:
            found |= set(letters)
    return frozenset(found - {char})


def _class_ranges(name: str) -> tuple[Range, ...]:
    """Return the ranges of a class name; empty for a Unicode category."""
    return _PERL.get(name, ()) or _POSIX.get(name.removeprefix(":"), ())


def _in_category(char: str, name: str) -> bool:
    ranges = _class_ranges(name)
    if ranges:
        return any(low <= ord(char) <= high for low, high in ranges)
    if name == "Any":
        return True
    if len(name) > 2:
        raise PatternSyntaxError(f"the script `{name}`")
    return unicodedata.category(char).startswith(name)
