"""Values that lynx-agent 2.11 changed: `Budget()` has caps."""

from bobcat.model.run import Budget

__all__ = ["Budget"]
