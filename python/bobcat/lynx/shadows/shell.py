"""Shadows, under lynx-agent's path."""

from bobcat.shadows.shell import shell_shadow

__all__ = ["shell_shadow"]
