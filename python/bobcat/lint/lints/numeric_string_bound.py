"""A number in quotes as a bound.

What it does: finds an order comparison with a string that looks like a number.
Why: strings are ordered character by character: `"9"` is above `"10"`.
Example: `args.amount.gt: "10"`.
Use instead: `args.amount.gt: 10`.
Fix: remove the quotes.
"""

from __future__ import annotations

CODES = ("W0111",)
