"""A predicate that no rule uses.

What it does: finds a predicate that no match reaches, directly or through another predicate.
Why: it has no effect; perhaps a rule was meant to use it.
Example: `predicates: {in_prod: {context.environment: prod}}` with rules that do not name `in_prod`.
Use instead: `match: {tool: shell, all_of: [in_prod]}`.
Fix: use it or remove it.
"""

from __future__ import annotations

CODES = ("W0107",)
