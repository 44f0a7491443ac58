"""Bundles: compiled policies in memory and as files.

Names are loaded on first use, so that the front ends can name a source map without loading the core.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
