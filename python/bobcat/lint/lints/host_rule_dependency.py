"""A callable that depends on a value which its digest covers by type only.

What it does: finds a Python rule that stays a callable and reads a value other than code, constants and plain data.
Why: a change of the value changes decisions, but not the digest of the policy.
Example: a rule that calls `CLIENT.lookup(...)` on a client of its module.
Use instead: a rule that depends on code, constants and plain data only.
Fix: by hand.
"""

from __future__ import annotations

CODES = ("W0114",)
