"""The markers of decisions by default among the names of matched rules.

In a policy of layers a marker begins with its layer: `team:<default:on_no_match>`.
"""

from __future__ import annotations

NO_MATCH, NO_SHADOW = "<default:on_no_match>", "<default:on_missing_shadow>"
_START = "<default:"


def default_of(name: str) -> str:
    """Return the marker of a default without its layer; an empty text for the name of a rule and other markers."""
    layer, start, rest = name.rpartition(_START)
    return start + rest if start and (not layer or layer.endswith(":")) else ""
