"""Front end of the strict profile: lowers a policy's text or mapping to IR and a source map, and reports all errors at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bobcat._core import Node
from bobcat.bundle.source_map import SourceMap
from bobcat.diagnostics.model import Span
from bobcat.frontend.files import NO_INPUTS, Inputs
from bobcat.frontend.guard_rules import MAX_DEFINITIONS
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.result import LoweringResult
from bobcat.frontend.strict.document import Document
from bobcat.frontend.strict.includes import Includes
from bobcat.frontend.strict.marks import qualified
from bobcat.frontend.strict.variables import Variables
from bobcat.frontend.yaml.nodes import plain_data
from bobcat.frontend.yaml.source import collector_paused, compose, from_mapping, may_have_anchors
from bobcat.ir import construct
from bobcat.ir.memory import used


def compile_strict(
    source: str | Mapping[Any, Any],  # Any: a caller's mapping is inspected, not trusted
    source_path: str,
    inputs: Inputs = NO_INPUTS,
) -> LoweringResult:
    """Lower a policy of the strict profile. Never raises because of the policy's content."""
    # PERF: short-lived objects are freed before the collector runs: 10,000 rules take 0.9 s, not 2.5 s.
    with collector_paused():
        return _compiled(source, DiagnosticCollector(source_path), inputs)


def _compiled(source: str | Mapping[Any, Any], report: DiagnosticCollector, inputs: Inputs) -> LoweringResult:
    text = source if isinstance(source, str) else None
    root = compose(source, report) if isinstance(source, str) else from_mapping(source, report)
    if root is None and not report.has_errors():
        report.add("E0201", Span(report.file, 1, 1, 1, 2), kind="an empty document")
    parts = [] if root is None else Includes(report, inputs.files).parts(root, text)
    if root is None or report.has_errors():
        return _failed(report, text)
    variables = Variables(report)
    replaced = variables.define(parts, inputs.variables)
    roots = [variables.apply(part.root) for part in parts] if replaced else [part.root for part in parts]
    if report.has_errors():  # lowering would report the texts of references as values of a wrong type
        return _failed(report, text)
    alone = root is parts[0].root and not replaced
    document = Document(report)
    # PERF: the nodes of 100,000 rules take 200 MB; lowered rules take their place. Nodes with an anchor may be shared.
    release = alone and text is not None and not may_have_anchors(text)
    defaults, lowered = document.lower(roots, release=release)
    if report.has_errors():
        return _failed(report, text)
    variables.report_unused()
    lowered.sort(key=lambda pair: construct.evaluation_key(pair[0]))
    rules = [rule for rule, _ in lowered]
    memory = used(rules, document.definitions)
    if len(memory) > MAX_DEFINITIONS:
        report.add("E1010", root, count=len(memory), limit=MAX_DEFINITIONS)
        return _failed(report, text)
    policy = construct.policy(rules, defaults=defaults, memory=memory)
    files = dict.fromkeys((*report.files, *(part.file for part in parts)))
    source_map = SourceMap(tuple(files), tuple(place for _, place in lowered), tuple(document.defaults_places))
    data = _data_of(root, text, report.file) if alone else _joined_data(roots)
    return LoweringResult(policy, source_map, report.sorted(), data, text, document.sources, report.texts)


def _failed(report: DiagnosticCollector, text: str | None) -> LoweringResult:
    return LoweringResult(None, None, report.sorted(), None, text, texts=report.texts)


# Any: plain data. A text is read again when its data are wanted: nodes would be a hundred times as large to keep.
def _data_of(root: Node, text: str | None, source_path: str) -> Callable[[], Any]:
    if text is None:
        data = plain_data(root)
        return lambda: data

    def read_again() -> Any:
        with collector_paused():  # PERF: `bobcat compile` of 10,000 rules takes 2.3 s, not 3.0
            again = compose(text, DiagnosticCollector(source_path))
            return None if again is None else plain_data(again)

    return read_again


def _joined_data(roots: list[Node]) -> Callable[[], Any] | None:
    """Return the data of the documents as those of one; None with prefixes, which lynx-agent's names do not have."""
    if any(qualified("", root) for root in roots):
        return None
    joined: dict[str, Any] = {}
    for root in roots:
        data = plain_data(root)
        for key, item in data.items() if isinstance(data, dict) else ():
            known = joined.get(key)
            if isinstance(known, list) and isinstance(item, list):
                joined[key] = [*known, *item]
            else:
                joined[key] = {**known, **item} if isinstance(known, dict) and isinstance(item, dict) else item
    joined.pop("include", None)
    return lambda: joined
