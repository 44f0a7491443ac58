"""`check`: everything that is wrong or doubtful in one source, errors and lints together, in source order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from bobcat.analysis.argument_schema import Tools
from bobcat.analysis.ignores import apply_ignores
from bobcat.analysis.registry import run_lints
from bobcat.diagnostics import Diagnostic
from bobcat.frontend.lowered import Lowered
from bobcat.frontend.pyrules.built import BuiltPolicy, BuiltRule, take_built, with_built
from bobcat.frontend.pyrules.host import PythonRules
from bobcat.frontend.source import collector_paused
from bobcat.ir.schema import Profile

NO_PYTHON = PythonRules()


def check_source(
    source: str | Mapping[str, Any] | BuiltPolicy,  # Any: plain data, looked at by the front end
    source_path: str = "<inline>",
    *,
    profile: Profile = "strict",
    python: PythonRules = NO_PYTHON,
    built: tuple[BuiltRule, ...] = (),
    module: str | None = None,
    tools: Tools | None = None,
) -> tuple[Diagnostic, ...]:
    """Every finding about a policy, those that its comments ignore marked as such.

    The lints look at policies of the strict profile that compile. `module` is the text of the Python module that the
    rules come from; `tools` are those that the policy is for.
    """
    written, own, _ = take_built(source, ())
    lowered = with_built(_lowered(written, source_path, profile, python), (*own, *built), profile)
    found = (*lowered.diagnostics, *python.diagnostics)
    if profile == "strict" and lowered.policy is not None and lowered.source_map is not None:
        with collector_paused():  # PERF: the collector would walk through all of a large policy again and again
            found = (*found, *run_lints(lowered.policy, lowered.source_map, tools))
    text = module if module is not None else written if isinstance(written, str) else None
    if text is not None and lowered.source_map is not None:
        places = [lowered.source_map.rule_span(index) for index in range(len(lowered.source_map.rules))]
        rules = [place for place in places if place is not None]
        found = (*apply_ignores(found, text, source_path, rules, python=module is not None),)
    return tuple(sorted(found, key=_place))


def _lowered(source: str | Mapping[str, Any], source_path: str, profile: Profile, python: PythonRules) -> Lowered:
    match profile:
        case "strict":
            from bobcat.frontend.strict import compile_strict

            return compile_strict(source, source_path, python)
        case "lynx":
            from bobcat.frontend.lynx import compile_lynx

            return compile_lynx(source, source_path, python)
        case _:
            assert_never(profile)


def _place(item: Diagnostic) -> tuple[str, int, int]:
    return (item.span.file, item.span.line, item.span.column) if item.span is not None else ("", 0, 0)
