"""The ledger: reservations of money and tokens under caps that all processes of a store share."""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
