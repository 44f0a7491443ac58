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
    match profile:  # each front end is imported on first use: a strict compilation does not load the `lynx` one
        case "strict":
            from bobcat.frontend.strict.policy import compile_strict

            lowered = compile_strict(source, source_path)
        case "lynx":
            from bobcat.frontend.lynx.policy import compile_lynx

            lowered = compile_lynx(source, source_path)
        case _:
            assert_never(profile)
    lowered = with_built(lowered, built, profile)
    findings = (*lowered.findings, *python.findings)
    added = list(zip(python.rules, python.places, python.files, strict=True))
    return replace(lowered, findings=findings).with_rules(added)
