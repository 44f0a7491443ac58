"""Files beneath given directories: `files` makes the tools."""

from __future__ import annotations

from bobcat.providers.filesystem.tools import files

__all__ = ["files"]
