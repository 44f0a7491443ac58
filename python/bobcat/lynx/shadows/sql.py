"""Shadows, under lynx-agent's path."""

from bobcat.shadows.sql import sql_shadow

__all__ = ["sql_shadow"]
