"""Stores: persistent journals of runs. A store is imported lazily, together with its driver."""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
