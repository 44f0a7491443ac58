"""A clause without alternatives, which is always false.

What it does: finds `in: []`, `contains_any: []` and `any_of: []`.
Why: the clause is always false, so its rule never fires.
Example: `match: {tool.in: []}`.
Use instead: `match: {tool.in: [shell]}`.
Fix: by hand.
"""

from __future__ import annotations

CODES = ("W0109",)
