"""A key that ends with the name of a new operator.

What it does: finds keys such as `args.cart.empty`, for an operator that earlier versions did not have.
Why: earlier versions compared the argument of that name, so the meaning of an old policy changes.
Example: `args.cart.empty: true`, intended for the argument `empty` in `cart`.
Use instead: `args.cart["empty"]: true` for the argument.
Fix: quote the name of an argument; if the operator is intended, ignore the finding with a comment.
"""

from __future__ import annotations

CODES = ("W0142",)
