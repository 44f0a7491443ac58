"""Front end selection by profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, assert_never

from bobcat.frontend.builder.rules import BuiltRule, with_built
from bobcat.frontend.files import NO_INPUTS, Inputs
from bobcat.frontend.guard_rules import with_guard_rules
from bobcat.frontend.observation import Finding, Observation
from bobcat.frontend.python.rules import PythonRules
from bobcat.frontend.result import LoweringResult
from bobcat.ir.schema import Profile, Source
from bobcat.ir.spelling import source_name


def lower(
    source: str | Mapping[str, Any],  # Any: the policy as plain data
    source_path: str,
    profile: Profile,
    built: tuple[BuiltRule, ...],
    inputs: Inputs = NO_INPUTS,
) -> LoweringResult:
    """Compile a source with the front end of its profile, with built rules beside it.

    `inputs` are those of the strict profile; the `lynx` profile has neither included files nor variables.
    The findings are those of the source and of the built rules, in this order. `with_python` adds Python rules.
    """
    match profile:  # each front end is imported on first use: a strict compilation does not load the `lynx` one
        case "strict":
            from bobcat.frontend.strict.policy import compile_strict

            lowered = compile_strict(source, source_path, inputs)
        case "lynx":
            from bobcat.frontend.lynx.policy import compile_lynx

            lowered = compile_lynx(source, source_path)
        case _:
            assert_never(profile)
    return with_built(lowered, built, profile)


def with_python(lowered: LoweringResult, python: PythonRules) -> LoweringResult:
    """Add Python rules to the result of `lower`, whose sources they were compiled with, and the guards of rules."""
    read = {source_name(name) for name, item in python.memory.items() if isinstance(item, Source)}
    own = [item for item in lowered.findings if not _is_unused(item, read)]
    added = list(zip(python.rules, python.places, python.files, strict=True))
    return with_guard_rules(replace(lowered, findings=(*own, *python.findings)).with_rules(added, python.memory))


def _is_unused(item: Finding, read: set[str]) -> bool:
    """Return true for the observation that no rule of a file uses a source which Python rules read."""
    return isinstance(item, Observation) and item.lint == "unused-source" and dict(item.facts)["name"] in read
