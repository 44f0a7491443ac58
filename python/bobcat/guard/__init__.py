"""The gate for tool calls: `Guard` takes each proposed call through policy, approvals and journal to its outcome.

It drives the machine of `run_agent`, so that both decide and execute alike.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
