"""Formatting of policies and suites: one layout for the same content, with every comment kept.

    tree ──► comments ──► layout ──► verify

`formatted` is the entry; a text whose result does not mean the same is never returned. A formatter of its own, and not
a library: the reader is a subset of YAML in which no construct moves a comment, and rules have an order of keys.
"""

from __future__ import annotations

from bobcat.formatting.formatter import FormatError, Formatted, formatted
from bobcat.formatting.orders import POLICY, KeyOrders

__all__ = ["POLICY", "FormatError", "Formatted", "KeyOrders", "formatted"]
