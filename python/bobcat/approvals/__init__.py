"""Approvals: the handlers that a run asks, grants given ahead of time, and the validation of answers.

The run loop calls `ask`; the rest is for programs.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
