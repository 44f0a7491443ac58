"""A mutable table that a compiled Python rule captures.

What it does: finds a list, a set or a dict of the module that a rule reads, unless its name is in upper case.
Why: the policy holds the value at compile time; later changes have no effect.
Example: `blocked = ["rm"]`, read by a rule.
Use instead: `BLOCKED = ("rm",)`.
Fix: make it a tuple or a frozenset, or give it an upper-case name.
"""

from __future__ import annotations

CODES = ("W0117",)
