"""Random patterns and texts: what the differential tests of both dialects feed to two engines.

Everything takes a `random.Random` (hypothesis gives one that it can shrink), so a failure is one seed. Patterns are
valid in both dialects by and large; `soup` is not, on purpose: it throws the pieces together.
"""

from __future__ import annotations

from random import Random

ALPHABET = (
    "aabbkKsSiIzZ01_ -.,\n\r\t!é\u00dfſ\u212a\u0130\u0131\u0301\u0660\u00b2\u2028漢\U00010400\U00010428\U0001f600"
)

LITERALS = [
    "a",
    "b",
    "ab",
    "k",
    "S",
    "i",
    "_",
    "0",
    "-",
    ",",
    " ",
    "=",
    "!",
    "#",
    "/",
    "é",
    "ß",
    "ſ",
    "\u212a",
    "\u0130",
    "\u0131",
    "漢",
    "\U0001f600",
    "]",
    "}",
    "\n",
    "<",
    ">",
    ":",
    "&",
    "~",
]
ESCAPES = [
    r"\.",
    r"\*",
    r"\\",
    r"\n",
    r"\t",
    r"\r",
    r"\f",
    r"\v",
    r"\a",
    r"\x61",
    r"\x4b",
    r"\xe9",
    r"\0",
    r"\060",
    r"\141",
    r"\-",
    r"\[",
    r"\/",
    r"\ ",
    r"\#",
    r"\_",
    r"\@",
]
CLASSES = [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "."]
SETS = [
    "[ab]",
    "[^a]",
    "[a-k]",
    "[^a-k\\n]",
    "[]a]",
    "[^]a]",
    "[a-]",
    "[-a]",
    "[a\\-z]",
    "[\\d_]",
    "[^\\w]",
    "[\\s\\S]",
    "[k]",
    "[^s]",
    "[A-Z]",
    "[\\n-z]",
    "[é-ü]",
    "[\\x00-\\x7f]",
    "[a^]",
    "[.]",
    "[\\]]",
    "[$*+?{}|()]",
    "[\\W\\d]",
    "[^\\S ]",
    "[ß-ſ]",
    "[\u0100-\u2fff]",
    "[\\101-\\132]",
]
LOOKS = ["^", "$", r"\b", r"\B", r"\A"]
REPEATS = [
    "*",
    "+",
    "?",
    "*?",
    "+?",
    "??",
    "{2}",
    "{1,2}",
    "{0,1}",
    "{2,}",
    "{0}",
    "{1,3}?",
    "{",
    "{a}",
    "{1",
    "{01}",
]

ONLY: dict[str, list[str]] = {
    "re2": [
        r"\z",
        r"\pN",
        r"\p{Lu}",
        r"\P{Greek}",
        r"[\pL\d]",
        "[[:alpha:]]",
        "[[:^space:]_]",
        r"\Qa.b\E",
        r"\x{2028}",
        r"\x{1F600}",
        r"\12",
        "[[:word:]-]",
        r"\PN",
        r"\p{^Lu}",
        "[^[:digit:]]",
        r"[\x{400}-\x{4ff}]",
    ],
    "python": [
        r"\Z",
        r"\u00e9",
        r"\U0001f600",
        r"\u2028",
        "[\\b]",
        r"\'",
        r"\é",
        "(?#note)",
        r"[\u0100-\u017f]",
        "[[a]",
        "[a&&b]",
        r"\<",
        "[\\u212a]",
        r"\123",
        "[^\\b]",
    ],
}
HEADS: dict[str, list[str]] = {
    "re2": ["", "", "", "(?i)", "(?m)", "(?s)", "(?im)", "(?U)", "(?-s)", "(?)"],
    "python": ["", "", "", "(?i)", "(?m)", "(?s)", "(?im)", "(?a)", "(?ai)", "(?x)", "(?u)", "(?i)(?s)"],
}
GROUPS: dict[str, list[str]] = {
    "re2": ["(", "(?:", "(?P<n>", "(?<m>", "(?i:", "(?s:", "(?-i:", "(?i-s:", "(?m:", "(?i)("],
    "python": [
        "(",
        "(?:",
        "(?P<n>",
        "(?i:",
        "(?s:",
        "(?-i:",
        "(?i-s:",
        "(?m:",
        "(?x:",
    ],
}
JUNK = [
    "(",
    ")",
    "|",
    "[",
    "]",
    "{",
    "}",
    "*",
    "+",
    "?",
    "\\",
    "^",
    "$",
    "(?",
    "(?=",
    "(?!a)",
    "(?<=a)",
    "(?<!",
    "(?P=n)",
    "(?P<",
    "(?(1)a|b)",
    "(?>a)",
    "a*+",
    "\\1",
    "\\8",
    "\\Z",
    "\\z",
    "\\C",
    "\\E",
    "\\Q",
    "\\p",
    "\\pé",
    "\\p{Foo}",
    "\\x",
    "\\x{",
    "\\x{}",
    "\\u12",
    "\\N{DASH}",
    "\\h",
    "\\R",
    "\\777",
    "[[:foo:]]",
    "[[:alpha:",
    "[z-a]",
    "[a-\\d]",
    "{1001}",
    "{,2}",
    "{3,2}",
    "(?x)",
    "(?a)",
    "(?L)",
    "(?i-)",
    "(?a:a)",
    "(?a:",
    "(?u:a)",
    "(?-)",
    "(?z)",
    "**",
    "a{2}{3}",
    "(?#",
    "#",
    "[",
    "[^",
    "-",
    "(?i)",
    "{99999999999}",
    "(?P<1>a)",
    "(?P<é>a)",
    "\\é",
    "(?<n>a)",
    "\\_",
    "\\<",
    "(?R)",
]


def pattern(rng: Random, dialect: str, depth: int = 3) -> str:
    """A pattern of the dialect, most likely valid."""
    return rng.choice(HEADS[dialect]) + alternation(rng, dialect, depth)


def alternation(rng: Random, dialect: str, depth: int) -> str:
    """Alternatives, some of them empty."""
    count = rng.choice([1, 1, 1, 2, 3])
    return "|".join(sequence(rng, dialect, depth) for _ in range(count))


def sequence(rng: Random, dialect: str, depth: int) -> str:
    """Items one after the other, repeated or not."""
    items = []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])):
        item = atom(rng, dialect, depth)
        if item not in LOOKS and rng.random() < 0.35:
            item += rng.choice(REPEATS if dialect == "re2" else [*REPEATS, "{,2}", "{,}"])
        items.append(item)
    return "".join(items)


def atom(rng: Random, dialect: str, depth: int) -> str:
    """One item; a group while there is depth left."""
    kind = rng.random()
    if depth > 0 and kind < 0.25:
        return rng.choice(GROUPS[dialect]) + alternation(rng, dialect, depth - 1) + ")"
    if kind < 0.45:
        return rng.choice(LITERALS)
    if kind < 0.55:
        return rng.choice(ESCAPES)
    if kind < 0.65:
        return rng.choice(CLASSES)
    if kind < 0.78:
        return rng.choice(SETS)
    if kind < 0.90:
        return rng.choice(LOOKS)
    return rng.choice(ONLY[dialect])


def soup(rng: Random, dialect: str) -> str:
    """Pieces without grammar: what a parser has to refuse, or read as text."""
    count = rng.randint(1, 6)
    return "".join(rng.choice(JUNK) if rng.random() < 0.5 else atom(rng, dialect, 1) for _ in range(count))


def texts(rng: Random, count: int) -> list[str]:
    """Short texts with the characters that patterns disagree about; the empty one among them."""
    return ["", "\n", *("".join(rng.choice(ALPHABET) for _ in range(rng.randint(1, 8))) for _ in range(count))]
