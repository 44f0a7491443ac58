"""Safe display of untrusted text in terminals, pages, logs and prompts.

Every text from a model, a tool, a server, a store or a policy passes through here before a person reads it, so that it
cannot move the cursor, forge a line, reorder the visible text or hide a part of it. Structured output (JSON) escapes by
itself and does not need this module. Nothing here enters a digest, a journal or a decision.

Escaped characters: control, format, bidi, private, unassigned and surrogate ones, separators other than the space,
blanks, variation selectors, overlays, and combining marks without a letter or in long runs. Words that look like other
words are marked, not changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from bobcat.text.shortening import left_out

MAX_MARKS = 3
"""Combining marks shown on one letter; further ones are escaped."""
MAX_NAMED = 3
"""Number of words that a mark behind JSON lists."""

_UNSAFE_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Me"))
_BLANKS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\U00013441\U00013442\U00016fe4\U0001d159"
).union(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
"""Fillers, blanks and variation selectors: assigned characters of harmless categories without a visible shape."""
_SYNTAX = frozenset("\u02d0\u037e\u2010\u2011\u2012\u2024\u2044\u2212\u2215\u2236\u29f5\u29f8\ua789")
"""Punctuation that looks like the `:;-./\\` of paths, options and addresses; beside ASCII it is escaped."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_OVERLAY = 1
"""The combining class of marks that strike a letter through."""
_RIGHT_TO_LEFT = frozenset(("R", "AL", "AN"))

_ALPHABETS = frozenset(
    ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET", "OSAGE", "GLAGOLITIC")
)
"""Alphabets with letters that look like those of another one. Japanese or Korean beside Latin is ordinary text."""
_FORMS = "FORMS"
"""Pseudo-alphabet: characters that are another form of an ASCII one, such as full width or bold."""
_LOOKALIKES: Mapping[str, frozenset[str]] = {
    "CYRILLIC": frozenset("авгезікмнопрстухьѕіїјһԁԛԝӏүґєёѐѓќйўАВЕЅІЇЈКМНОРСТУХҮԚԜЁЀҐЗЬӀ"),
    "GREEK": frozenset("αβγεηικνοόρστυύχωϲϳάίΐϊΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ"),
    "ARMENIAN": frozenset("ագզհյոսցքօֆՈՍՏԼՕՀ"),
    "COPTIC": frozenset("ⲁⲃⲉⲏⲓⲕⲙⲛⲟⲣⲥⲧⲩⲭⲀⲂⲈⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬ"),
}
"""Letters of an alphabet that look like Latin ones. In alphabets not listed here, every letter counts as one."""
_WORD = re.compile(r"\w+")
_MIXED = "mixed scripts"
_RTL = "right-to-left"


def safe_text(value: object, *, multiline: bool = False, limit: int | None = None) -> str:
    """`value` as text that is safe to show: invisible and control characters are escaped.

    Newlines are escaped too unless `multiline`. A word that mixes lookalike alphabets is followed by `[mixed scripts]`;
    a word of another alphabet that can be read as a Latin one, in a text with Latin words, by the alphabet. With a
    `limit` in characters, a longer text is cut, followed by the number of omitted characters.
    """
    text, cut = _cut(value if type(value) is str else _text_of(value), limit)
    if text.isascii() and text.isprintable():
        return text + cut
    if multiline:
        return "\n".join(map(_safe_line, text.split("\n"))) + cut
    return _safe_line(text) + cut


def safe_name(value: object, *, limit: int | None = None) -> str:
    """An identifier (of a tool, an argument, a rule, a person) as `safe_text`, with every lookalike word marked.

    The mark appears even without Latin text beside the word.
    """
    text, cut = _cut(value if type(value) is str else _text_of(value), limit)
    if text.isascii() and text.isprintable():
        return text + cut
    return _marked(_escaped(text, _text_escape), names=True) + cut


def safe_json(value: Any, *, limit: int | None = None) -> str:  # Any: every value has a text
    """`value` as one line of JSON that is safe to show; letters of all alphabets stay readable.

    The escapes are those of JSON, so the line parses to the same value; marks follow it.
    """
    return safe_json_line(readable_json(value), limit=limit)


def safe_json_line(text: str, *, limit: int | None = None) -> str:
    """JSON text without line breaks, as `safe_json` shows the value.

    For text with more detail than `safe_json` writes.
    """
    text, cut = _cut(text, limit)
    if text.isascii() and text.isprintable():
        return text + cut
    text = _escaped(text, _json_escape)
    return text + suspicions(text) + cut


def readable_json(value: Any) -> str:  # Any: as above
    """The unescaped JSON behind `safe_json`: for its length, not for display."""
    import json

    from bobcat.text.json_text import any_json_text

    text = any_json_text(value)
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def safe_args(args: Mapping[str, Any], *, indent: str = "  ", limit: int | None = None) -> list[str]:
    """The arguments of a call, one safe line each: `name: JSON`. `limit` is per name and per value, in characters."""
    return [f"{indent}{safe_name(name, limit=limit)}: {safe_json(value, limit=limit)}" for name, value in args.items()]


def safe_json_text(text: str) -> str:
    """A JSON document with JSON escapes for characters that are unsafe to show: the same document, line by line."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(
        character
        if character == "\n" or " " <= character <= "~" or not _is_unsafe(character)
        else _json_escape(character)
        for character in text
    )


def safe_cells(text: str, replacement: str) -> list[str]:
    """The characters of a line, with `replacement` for unsafe ones: for text under which a caret marks a column."""
    return list(_cells(text, lambda _: replacement))


def suspicions(text: str) -> str:
    """The marks for a line that `safe_cells` shows; usually empty."""
    return "" if text.isascii() else _listed(_suspects(text, names=False)) + _direction(text)


def safe_names(values: Iterable[object]) -> str:
    """Several names in one line, each safe."""
    return ", ".join(map(safe_name, values))


def hidden_characters(text: str) -> str:
    """The escapes of the characters of `text` that are not shown as they are, each once; usually empty."""
    if text.isascii() and text.isprintable():
        return ""
    cells = zip(text, _cells(text, _text_escape), strict=True)
    return "".join(dict.fromkeys(cell for character, cell in cells if cell != character))


def wrapped(line: str, width: int, *, indent: str = "    | ") -> Iterator[str]:
    """Split a safe line into pieces of at most `width` columns.

    All pieces but the first begin with `indent`, so that padding cannot forge the beginning of a line.
    """
    room = max(width, len(indent) + 8)
    piece, used = "", 0
    for character in line:
        taken = columns(character)
        if used + taken > room:
            yield piece
            piece, used = indent, len(indent)
        piece, used = piece + character, used + taken
    yield piece


def _text_of(value: object) -> str:
    from bobcat.text.json_text import safe_str  # PERF: texts need no JSON

    return safe_str(value)


def _cut(text: str, limit: int | None) -> tuple[str, str]:
    if limit is None or len(text) <= limit:
        return text, ""
    return text[:limit], left_out(len(text) - limit)


def _safe_line(text: str) -> str:
    return _marked(_escaped(text, _text_escape), names=False)


def _listed(suspects: Iterable[tuple[str, str]]) -> str:
    named = dict.fromkeys(f"{mark}: {word}" for word, mark in suspects)
    shown = list(named)[:MAX_NAMED] + [f"and {len(named) - MAX_NAMED} more"] * (len(named) > MAX_NAMED)
    return "".join(f" [{mark}]" for mark in shown)


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    return "".join(_cells(text, escape))


def _cells(text: str, escape: Callable[[str], str]) -> Iterator[str]:
    """The characters of `text`, with escapes for those that are unsafe, alone or at their position."""
    marks = MAX_MARKS  # a text cannot begin with a mark, which would combine with the preceding character
    for index, character in enumerate(text):
        if " " <= character <= "~":
            yield character
            marks = 0 if character.isalpha() else MAX_MARKS
        elif _is_unsafe(character):
            yield escape(character)
            marks = MAX_MARKS
        elif unicodedata.category(character) == "Mn":
            shown = marks < MAX_MARKS and unicodedata.combining(character) != _OVERLAY
            yield character if shown else escape(character)
            marks += 1
        else:
            beside = text[index - 1 : index] + text[index + 1 : index + 2]
            ascii_beside = any(" " < other <= "~" for other in beside)
            yield escape(character) if _is_syntax(character) and ascii_beside else character
            marks = 0


@lru_cache(4096)
def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE_CATEGORIES or character in _BLANKS


@lru_cache(4096)
def _is_syntax(character: str) -> bool:
    """Return true if a character, neither a letter nor a digit, looks like an ASCII one."""
    if character.isalnum():
        return character in _SYNTAX
    plain = unicodedata.normalize("NFKC", character)
    return character in _SYNTAX or (len(plain) == 1 and plain.isascii())


def _text_escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return _SHORT.get(character) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    if ord(character) <= 0x7F:
        return f"\\u{ord(character):04x}"
    import json

    return json.dumps(character)[1:-1]


def _marked(text: str, *, names: bool) -> str:
    if text.isascii():
        return text
    marks = dict(_suspects(text, names=names))
    return _WORD.sub(
        lambda match: match[0] + (f" [{marks[match[0]]}]" if match[0] in marks else ""), text
    ) + _direction(text)


def _direction(text: str) -> str:
    """The mark of a text with right-to-left letters: a terminal may show it in another order."""
    return f" [{_RTL}]" if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text) else ""


def _suspects(text: str, *, names: bool) -> Iterator[tuple[str, str]]:
    """The words that look like others, each with its mark."""
    words = [(word, {_script(character) for character in word if character.isalnum()}) for word in _WORD.findall(text)]
    latin = any("LATIN" in scripts for _, scripts in words)
    for word, scripts in words:
        if word.isascii() or not scripts & (_ALPHABETS | {_FORMS}):
            continue
        if len(scripts & _ALPHABETS) > 1 or _FORMS in scripts:
            yield word, _MIXED
        elif "LATIN" not in scripts and (names or (latin and len(word) > 1)):
            (script,) = scripts & _ALPHABETS
            like = _LOOKALIKES.get(script)
            if like is None or all(letter in like for letter in word if letter.isalpha()):
                yield word, script.capitalize()


@lru_cache(4096)
def _script(character: str) -> str:
    if character.isascii():
        return "LATIN" if character.isalpha() else ""
    plain = unicodedata.normalize("NFKC", character)
    if plain.isascii() and plain.isalnum() and not unicodedata.decomposition(character).startswith("<super>"):
        return _FORMS
    return unicodedata.name(character, "").partition(" ")[0]


def columns(character: str) -> int:
    """Return the columns of a terminal that a character takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
