"""Front end selection by profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from bobcat.frontend.builder.rules import BuiltRule, with_built
from bobcat.frontend.python.host import PythonRules
from bobcat.frontend.result import LoweringResult
from bobcat.ir.schema import Profile


def lower(
    source: str | Mapping[str, Any],  # Any: the policy as plain data
    source_path: str,
    profile: Profile,
    python: PythonRules,
    built: tuple[BuiltRule, ...],
) -> LoweringResult:
    """Compile a source with the front end of its profile, with Python rules and built rules beside it.

    The findings are those of the source, of the built rules and of the Python rules, in this order.
    """
    lowered = with_built(_lower(source, source_path, profile, python), built, profile)
    return replace(lowered, findings=(*lowered.findings, *python.findings))


# Any: the policy as plain data.
def _lower(source: str | Mapping[str, Any], source_path: str, profile: Profile, python: PythonRules) -> LoweringResult:
    """Each front end is imported on first use: a strict compilation does not load the `lynx` one."""
    match profile:
        case "strict":
            from bobcat.frontend.strict.policy import compile_strict

            return compile_strict(source, source_path, python)
        case "lynx":
            from bobcat.frontend.lynx.policy import compile_lynx

            return compile_lynx(source, source_path, python)
        case _:
            assert_never(profile)
