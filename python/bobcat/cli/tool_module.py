"""The tools that a command judges calls with: `tools.py`, `tools.py:NAME` or `package.module:NAME`, a `ToolSet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bobcat.cli.app_module import names_of
from bobcat.cli.failures import InputError

if TYPE_CHECKING:
    from bobcat.tools import ToolSet

DEFAULT_NAME = "tools"


def load_tools(text: str) -> ToolSet:
    """The `ToolSet` that `text` names; importing its module runs its code. Raises `InputError`."""
    from bobcat.tools import ToolSet

    place, _, name = text.partition(":")
    found = names_of(place, f"the tools `{text}`").get(name or DEFAULT_NAME)
    if not isinstance(found, ToolSet):
        problem = "is missing" if found is None else f"is a {type(found).__name__}"
        raise InputError(
            f"`{name or DEFAULT_NAME}` {problem} in `{place}`; write `tools = ToolSet.from_functions(...)` there"
        )
    return found
