"""Shadows, under lynx-agent's path."""

from bobcat.shadows.http import http_shadow

__all__ = ["http_shadow"]
