"""Contained tools: what a decision permits is what the tool opens, starts or connects to, and nothing else.

Each provider is a function that returns a `ToolSet`. Its tools parse an argument once, as the facets of the policy do,
use the parsed value, and record what they really opened. A refusal is a `ToolError`.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
