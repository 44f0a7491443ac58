"""Tools: functions with declarations, in sets."""

from __future__ import annotations

from bobcat.tools.decorator import Cost, ToolFunction, declare, definition_of, reconcile, shadow, tool
from bobcat.tools.toolset import ToolSet

__all__ = ["Cost", "ToolFunction", "ToolSet", "declare", "definition_of", "reconcile", "shadow", "tool"]
