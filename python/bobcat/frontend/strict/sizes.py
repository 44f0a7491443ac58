"""Limits of matches, and the size of a lowered one."""

from __future__ import annotations

from typing import TypeAlias

from bobcat.ir.schema import Expr

MAX_EXPR_DEPTH = 40
"""Nesting of a match or a formula: connectives, leaves and uses of predicates."""
MAX_EXPR_NODES = 250_000
"""Connectives, leaves and values of one match, predicates expanded; long strings count more (`node_cost`)."""
MAX_POLICY_NODES = 2_000_000
"""The same for all rules together, including reasons, approvers and transforms."""

# PERF: a plain tuple is created in a tenth of the time of a named one; every leaf and match creates one.
Sized: TypeAlias = tuple[Expr, int, int]
"""An expression with its nesting and its number of nodes as written, predicates expanded."""
