"""Marks for the prompt cache of Anthropic's Messages API.

The cache holds the beginning of a request up to a mark. The mark on the last message moves on with every step, and the
request of the next step finds what the one before it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARK = {"type": "ephemeral"}

_MARKABLE = frozenset(("text", "image", "document", "tool_result", "tool_use"))
"""Kinds of content blocks that take a mark: thinking does not."""


def cached(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with marks on its system prompt, its last tool and its last message."""
    marked = dict(request)
    system = marked.get("system")
    if isinstance(system, str) and system:
        marked["system"] = [_marked({"type": "text", "text": system})]
    if marked.get("tools"):
        marked["tools"] = [*marked["tools"][:-1], _marked(marked["tools"][-1])]
    if marked.get("messages"):
        marked["messages"] = [*marked["messages"][:-1], _with_mark(marked["messages"][-1])]
    return marked


def _with_mark(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content.strip() else content
    if isinstance(content, str) or not content or content[-1].get("type") not in _MARKABLE:
        return dict(message)
    return {**message, "content": [*content[:-1], _marked(content[-1])]}


def _marked(block: Mapping[str, Any]) -> dict[str, Any]:
    return {**block, "cache_control": MARK}
