"""Effects of an argument list, from the packs of the shell facet: `read`, `write`, `network`, `run`, `unknown`.

The list is quoted word by word, so that the facet reads exactly the words that the program gets.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Sequence
from typing import Any

from bobcat._core import parse_facet
from bobcat.errors import ToolError

EFFECTS = ("read", "write", "network", "run", "unknown")


def check_names(effects: object) -> frozenset[str] | None:
    """Return the permitted effects, or None for all. Raises `TypeError` or `ValueError` for other names."""
    if effects is None:
        return None
    if isinstance(effects, str) or not isinstance(effects, Collection):
        raise TypeError(f"effects must be a list of names, got {effects!r}")
    unknown = [name for name in effects if name not in EFFECTS]
    if unknown:
        raise ValueError(f"effects must be some of {', '.join(EFFECTS)}, got {unknown[0]!r}")
    return frozenset(effects)


def check_effects(
    program: str, argv: Sequence[str], permitted: Collection[str], programs: Collection[str]
) -> list[str]:
    """Return the effects of a call.

    Raises `ToolError` if one is not permitted, if the program starts one that is not in `programs`, and if the packs do
    not know what the arguments do.
    """
    text, problem = parse_facet("shell", shlex.join([program, *argv]))
    if text is None:
        code, _, detail = problem or ("unknown", 0, "unknown")
        raise ToolError(f"the effects of these arguments are not known: {detail} ({code})", "effect")
    commands: list[dict[str, Any]] = json.loads(text)  # Any: JSON
    started = [command["program"] for command in commands if command["program"] not in programs]
    if started:
        raise ToolError(f"`{program}` would start `{started[0]}`, which is not a program of this tool", "effect")
    found = sorted({effect for command in commands for effect in command["effects"]})
    refused = [effect for effect in found if effect not in permitted]
    if refused:
        raise ToolError(
            f"the effects of these arguments are {', '.join(found)}; this tool permits {', '.join(sorted(permitted))}",
            "effect",
        )
    return found
