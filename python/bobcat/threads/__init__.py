"""Conversations of many turns: each message is a turn, each turn is a journaled run, and one store has all of it."""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
