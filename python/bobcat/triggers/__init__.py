"""Triggers: runs that start at a time, on a schedule or at a change, after the consent of a user."""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
