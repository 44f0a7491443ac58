"""Compressors: shorten what the model sees of a tool's result. The journal keeps the whole."""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
