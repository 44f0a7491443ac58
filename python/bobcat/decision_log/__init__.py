"""The tamper-evident log of decisions: chained entries in SQLite, JSONL or PostgreSQL.

A guard appends the decision before an effect and the outcome after it; `bobcat log` reads them.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
