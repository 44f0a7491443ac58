"""The `check` command: all errors and lints of one source, in source order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics.model import Diagnostic, Span
from bobcat.frontend.builder.rules import BuiltPolicy, BuiltRule, take_built
from bobcat.frontend.files import NO_INPUTS, Inputs
from bobcat.frontend.profiles import lower, with_python
from bobcat.frontend.python.rules import PythonRules
from bobcat.frontend.report import place
from bobcat.frontend.result import LoweringResult
from bobcat.frontend.yaml.source import collector_paused
from bobcat.ir.schema import IrPolicy, Profile
from bobcat.lint.argument_schema import Tools
from bobcat.lint.ignores import apply_ignores
from bobcat.lint.observed import reported
from bobcat.lint.registry import run_lints

Exact: TypeAlias = Callable[[IrPolicy, SourceMap, tuple[Diagnostic, ...]], tuple[Diagnostic, ...]]
"""Returns findings about a policy with those of a higher layer."""


@collector_paused()  # PERF: the collector would traverse all of a large policy again and again
def check_source(
    source: str | Mapping[str, Any] | BuiltPolicy,  # Any: plain data, inspected by the front end
    source_path: str = "<inline>",
    *,
    profile: Profile = "strict",
    python: Callable[[LoweringResult], PythonRules] = lambda _: PythonRules(),
    built: tuple[BuiltRule, ...] = (),
    module: str | None = None,
    tools: Tools | None = None,
    inputs: Inputs = NO_INPUTS,
    texts: dict[str, str] | None = None,
    exact: Exact | None = None,
) -> tuple[Diagnostic, ...]:
    """Return every finding about a policy; findings that comments ignore are marked as suppressed.

    The lints run on policies of the strict profile that compile. `module` is the text of the Python module that the
    rules come from, `python` compiles its functions beside the rest; `tools` are the tools that the policy is for.
    `inputs` are its included files and values of variables; the texts of the files are added to `texts`. `exact`
    completes the findings of the lints.
    """
    written, own, _ = take_built(source, ())
    lowered = lower(written, source_path, profile, (*own, *built), inputs)
    lowered = with_python(lowered, python(lowered))
    found = reported(lowered.findings)
    if profile == "strict" and lowered.policy is not None and lowered.source_map is not None:
        found = (*found, *run_lints(lowered.policy, lowered.source_map, tools))
        if exact is not None:
            found = exact(lowered.policy, lowered.source_map, found)
    text = module if module is not None else written if isinstance(written, str) else None
    read = {**lowered.texts, **({} if text is None else {source_path: text})}
    if texts is not None:
        texts.update(read)
    if lowered.source_map is not None:
        for file, own_text in read.items():
            rules = _rule_spans(lowered.source_map)
            found = (*apply_ignores(found, own_text, file, rules, python=module is not None),)
    return tuple(sorted(found, key=place))


def _rule_spans(places: SourceMap) -> Iterator[Span]:
    for index in range(len(places.rules)):
        span = places.rule_span(index)
        if span is not None:
            yield span
