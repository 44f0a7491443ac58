"""Validation of patterns: the reasons that a dialect rejects a pattern, and the suggested replacement.

The front end calls it once per pattern of a source; evaluation never does. The `re2` dialect accepts a pattern when
both the Rust core and google-re2 accept it: the two parsers must agree before a policy is compiled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from bobcat import _core
from bobcat._core import ScalarNode
from bobcat.diagnostics.model import Span
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.strict.marks import is_substituted


@dataclass(frozen=True, slots=True)
class PatternFinding:
    """The reason that a pattern is rejected. `start` and `end` are code points of the pattern; `help` suggests a
    replacement.
    """

    code: str
    start: int
    end: int
    message: str
    help: str | None = None


def check_pattern(pattern: str, dialect: Literal["re2", "python"]) -> list[PatternFinding]:
    """Return the reasons that `dialect` rejects `pattern`; empty if it is accepted. The codes are in
    `docs/reference/patterns.md`.
    """
    return list(_check(pattern, dialect))


def check_pattern_operand(node: ScalarNode, pattern: str, report: DiagnosticCollector) -> bool:
    """Return true if the strict dialect accepts `pattern`; otherwise `report` has every reason."""
    findings = check_pattern(pattern, "re2")
    for finding in findings:
        at = (finding.start, finding.end)
        place = node if is_substituted(node) else _within(node, pattern, at, report)
        report.add("E0701", place, problem=f"{finding.message} ({finding.code})", help=finding.help)
    return not findings


def _within(node: ScalarNode, pattern: str, part: tuple[int, int], report: DiagnosticCollector) -> Span:
    """Return the span of a part of a scalar; the whole scalar if its text differs from its value."""
    whole = report.span(node)
    start, end = part
    if whole.line == 0 or whole.line != whole.end_line or not 0 <= start <= end <= len(pattern):
        return whole
    match node.style:
        case "" | None:
            offset, lengths = whole.column, [1] * len(pattern)
        case "'":
            offset, lengths = whole.column + 1, [2 if char == "'" else 1 for char in pattern]
        case '"' if whole.end_column - whole.column == len(pattern) + 2:  # no escape in the scalar
            offset, lengths = whole.column + 1, [1] * len(pattern)
        case _:
            return whole
    first = offset + sum(lengths[:start])
    last = offset + sum(lengths[:end])
    return Span(whole.file, whole.line, first, whole.line, max(last, first + 1))


@lru_cache(maxsize=16_384)
def pattern_cost(pattern: str) -> int:
    """Return the size of a pattern of the strict dialect with its repetitions expanded."""
    return _core.pattern_cost(pattern, "re2")


# PERF: policies repeat their patterns; a hit costs 0.2 us, a miss some 15 us.
@lru_cache(maxsize=16_384)
def _check(pattern: str, dialect: Literal["re2", "python"]) -> tuple[PatternFinding, ...]:
    refused = _core.check_pattern(pattern, dialect)
    if refused:
        return tuple(PatternFinding(*finding, _help(pattern, dialect, finding)) for finding in refused)
    message = _google_re2_refuses(pattern) if dialect == "re2" else None
    if message is not None:
        return (PatternFinding("google_re2", 0, len(pattern), f"google-re2 rejects it: {message}"),)
    return ()


def _google_re2_refuses(pattern: str) -> str | None:
    """Return google-re2's error for a pattern of valid Unicode; None if it is accepted."""
    import re2  # PERF: the import takes 10 ms; only a compilation with patterns pays it

    options = re2.Options()
    options.log_errors = False
    try:
        # PERF: a set only parses a pattern (8 us); `re2.compile` would also build automata (54 us).
        re2.Set.SearchSet(options).Add(pattern)
    except re2.error:
        pass
    else:
        return None
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        text = error.args[0]
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return "the pattern cannot be parsed"


_HELP = {
    "back_reference": "write the alternatives out, or decide this in a Python rule",
    "brace_text": r"write `{0,3}` for at most three, `\{,3}` for the text",
    "bad_unicode": "a pattern is text: leave the surrogate out",
    "any_byte": "write `(?s:.)` for any character",
    "bad_name": "a name is letters, digits and `_`: `(?P<name>...)`; or leave it out, nothing reads it",
    "too_long": "make several clauses of it under `any_of`, or use `in` with a list of words",
    "too_large": "make the repetition counts or the classes smaller, or make several clauses of it",
    "too_nested": "take groups apart: `(?:(?:a))` is `a`",
    "unbalanced": r"close the group or class; escape a literal bracket: `\(`, `\[`",
}
_ESCAPES = {
    "Z": r"write `\z` for the end of the text (Python's `\Z`), or `\n?\z` to allow a last line feed",
    "h": r"write `[ \t]` for horizontal space",
    "R": r"write `(?:\r\n|\n|\r)` for the end of a line",
    "X": r"write `.` for a character",
    "u": r"write `\x{00E9}` for the character U+00E9",
    "U": r"write `\x{1F600}` for the character U+1F600",
    "N": r"write the character itself, or `\x{2014}` for U+2014; `[^\n]` for anything but a line feed",
    "K": "remove it: only whether the pattern matches is significant",
    "G": "remove it: a text is searched once",
    "E": r"write `\\E` for these two characters; a `\Q` before it would quote text",
    "x": r"write two hexadecimal digits, `\x2F`, or braces: `\x{2014}`",
    "e": r"write `\x1B` for the escape character",
    "c": r"write a control character by its code: `\x03`",
}
_GROUPS = (
    ("(?#", "remove the comment: use the `description` of the rule"),
    ("(?>", "write `(?:...)`: nothing backtracks here, so an atomic group is not needed"),
    ("(?|", "write `(?:...)`: numbers of groups do not matter here"),
    ("(?P=", "write the alternatives out, or decide this in a Python rule"),
    ("(?(", "write both cases as alternatives: `a...b|...`"),
    ("(?'", "write `(?P<name>...)`"),
    ("(?R", "recursion is not regular: decide this in a Python rule"),
    ("(?&", "recursion is not regular: decide this in a Python rule"),
    ("(?P>", "recursion is not regular: decide this in a Python rule"),
)


def _help(pattern: str, dialect: str, finding: tuple[str, int, int, str]) -> str | None:
    code, start, _, _ = finding
    rest = pattern[start:]
    if dialect == "python" and code == "unsupported":
        return "it runs as a host rule on Python's `re`, and an argument can make it take exponential time"
    match code:
        case "look_around":
            return _look_around_help(rest)
        case "bad_escape":
            return _escape_help(rest)
        case "bad_group":
            return _group_help(rest)
        case "bad_repeat":
            return _repeat_help(rest, dialect)
        case "bad_class":
            return _class_help(rest)
        case _:
            return _HELP.get(code)


def _look_around_help(rest: str) -> str:
    if rest.startswith(("(?!", "(?<!")):
        return (
            "write the excluded pattern as a separate clause: "
            "`all_of: [{args.cmd.matches: ...}, {not: {args.cmd.matches: ...}}]`"
        )
    return "write both conditions as clauses: `all_of: [{args.cmd.matches: ...}, {args.cmd.matches: ...}]`"


def _escape_help(rest: str) -> str:
    letter = rest[1:2]
    if not letter:
        return r"write `\\` for a backslash"
    known = _ESCAPES.get(letter)
    if known is not None:
        return known
    if not letter.isascii():
        return f"write `{letter}` without the backslash"
    return rf"write `\\{letter}` for a backslash before it, or `{letter}` alone"


def _group_help(rest: str) -> str:
    for prefix, text in _GROUPS:
        if rest.startswith(prefix):
            return text
    flags = re.match(r"\(\?([a-zA-Z^-]*)", rest)
    letters = flags[1] if flags else ""
    if "x" in letters:
        return "write the pattern without white space and comments: `(?x)` does not exist here"
    if set(letters) & set("auL"):
        return (
            r"leave the flag out: `\d`, `\w`, `\s` and `\b` are ASCII here; `\pL` is a Unicode letter, `\pN` a number"
        )
    return "the flags are `i`, `m`, `s` and `U`; a parenthesis that is meant as text is `\\(`"


def _repeat_help(rest: str, dialect: str) -> str:
    if re.match(r"(?:[*+?]|\{\d+(?:,\d*)?\})\+", rest):
        return "leave the second `+` out: nothing backtracks here, so a possessive repetition is not needed"
    if rest.startswith("{"):
        return "a repetition is `{2}`, `{2,}` or `{2,5}`, counts at most 1000; a brace that is meant as text is `\\{`"
    if dialect == "python" or re.match(r"[*+?]{2}", rest) is None:
        return f"write `\\{rest[:1]}` for the character itself"
    return "write one repetition, `(?:a*)+` if both are meant"


def _class_help(rest: str) -> str:
    if rest.startswith((r"\p", r"\P")):
        return r"write a general category or a script as Unicode spells it: `\pL`, `\p{Lu}`, `\p{Greek}`"
    if rest.startswith("[:"):
        return "the classes are alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit"
    return "write the lower end of a range first; a `-` that is meant as text stands first or last"
