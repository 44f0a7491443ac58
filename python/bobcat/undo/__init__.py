"""The reversible layer: snapshots before effects, and undo as an action that policy decides."""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
