"""Distribution of policies: signed releases of bundles, from a directory or a web server to the workers.

`docs/how-to/distribute-bundles.md` describes it.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
