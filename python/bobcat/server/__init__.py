"""A decision server over HTTP: OpenID AuthZEN 1.0 and Bobcat's own JSON. It decides; its clients enforce.

`docs/how-to/serve-decisions.md` describes the endpoints.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
