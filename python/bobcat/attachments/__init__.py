"""Files beside messages: their digests in the journal, and their bytes in the store, once for each digest."""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
