"""Front end selection by profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from bobcat.frontend.python.host import PythonRules
from bobcat.frontend.result import LoweringResult
from bobcat.ir.schema import Profile


# Any: the policy as plain data.
def lower(source: str | Mapping[str, Any], source_path: str, profile: Profile, python: PythonRules) -> LoweringResult:
    """Compile a source with the front end of its profile.

    Each front end is imported on first use: a strict compilation does not load the `lynx` one.
    """
    match profile:
        case "strict":
            from bobcat.frontend.strict.policy import compile_strict

            return compile_strict(source, source_path, python)
        case "lynx":
            from bobcat.frontend.lynx.policy import compile_lynx

            return compile_lynx(source, source_path, python)
        case _:
            assert_never(profile)
