"""A string that YAML 1.1 reads as another type.

What it does: finds strings without quotes that other readers take for a bool, a number or a date.
Why: `no` is a string here, and false for many programs and people.
Example: `args.country: no`.
Use instead: `args.country: "no"`.
Fix: quote the string, or write the value in the spelling of YAML 1.2.
"""

from __future__ import annotations

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Findings, Span
from bobcat.frontend.report import shown

CODES = ("W0110",)


def report(span: Span | None, *, text: str, other: str) -> Findings:
    """Report the scalar; `other` describes the reading of YAML 1.1."""
    plain = _plain_spelling(text, other)
    help = f'quote it: `"{text}"`' + (f"; or write `{plain}`" if plain else "")
    yield diagnose("W0110", span, value=shown(text), other=other, plain=plain, help=help)


def _plain_spelling(text: str, reading: str) -> str:
    """Return the YAML 1.2 spelling of the YAML 1.1 reading of `text`; empty without one."""
    if reading in ("true", "false"):
        return reading
    digits = text.replace("_", "").lstrip("+")
    try:
        base = {"an octal number": 8, "a binary number": 2, "a hexadecimal number": 16}.get(reading)
        if base is not None:
            return str(int(digits, base))
        return str(float(digits) if "." in digits else int(digits)) if reading == "a number" else ""
    except ValueError:
        return ""
