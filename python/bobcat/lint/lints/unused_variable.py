"""A variable that nothing refers to.

What it does: finds a name under `vars` that no `${name}` of the policy uses.
Why: it has no effect; perhaps a rule was meant to use it, and holds a value of its own.
Example: `vars: {max_payment: 500}` with a rule that has `args.amount.le: 500`.
Use instead: `args.amount.le: ${max_payment}`.
Fix: use it or remove it.
"""

from __future__ import annotations

CODES = ("W0155",)
