"""A Python rule whose code cannot do what its author meant.

What it does: finds a returned value that is not a decision, a decision that is not returned, and unknown fields.
Why: the rule is in error when it reaches the mistake, which denies the call.
Example: `return "rm" in request.args["cmd"] and deny("no")`.
Use instead: an `if` statement with `return deny("no")`.
Fix: by hand.
"""

from __future__ import annotations

CODES = ("W0118",)
