"""Shadows, under lynx-agent's path."""

from bobcat.shadows.filesystem import delete_file_shadow, write_file_shadow

__all__ = ["delete_file_shadow", "write_file_shadow"]
