"""Text as a model, a tool, a server or a policy may write it to deceive the reader of a screen."""

from __future__ import annotations

from hypothesis import strategies as st

DECEPTIVE = [
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b[1A\x1b[2K",
    "\x9b2J",
    "\r  tool:   ls",
    "\nallow: harmless",
    "\n  step 0: pay()  allow  ok",
    "\r\n",
    "\x08\x08\x08",
    "\x00",
    "\x7f",
    "\x85",
    "\u2028next",
    "\u2029",
    "\u202egnp.exe\u202c",
    "\u2066x\u2069",
    "\u200b\u200d\ufeff",
    "\u3164",
    "\U000e0041\U000e0042",
    "pay\u0440al",
    "\u05d0\u05d1\u05d2",
    "Z" + "\u0301" * 40,
    "[bold red]x[/]",
    "\t",
    " " * 60,
    "... [0 more characters]",
    "`",
    "{x}%s",
    "x" * 300,
]
"""Parts of a deceptive text."""


def untrusted_text(*, surrogates: bool = True, min_size: int = 0) -> st.SearchStrategy[str]:
    """Random text with parts that act on a screen. Without `surrogates` every text can be encoded."""
    plain = st.text(st.characters(exclude_categories=[] if surrogates else ["Cs"]), max_size=12)
    return st.lists(st.one_of(st.sampled_from(DECEPTIVE), plain), min_size=min_size, max_size=5).map("".join)
