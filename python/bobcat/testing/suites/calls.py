"""Requests and expectations of a suite: from nodes to values, with an error at its place for everything else."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.errors import RequestError
from bobcat.frontend.report import DiagnosticCollector
from bobcat.frontend.strict.fields import check_keys, mapping, string, wrong_type
from bobcat.frontend.strict.patterns import check_pattern_operand
from bobcat.frontend.strict.rules import VERDICTS, verdict_of
from bobcat.frontend.yaml.nodes import checked_data, entries
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.model.decision import ActionRequest, ToolMetadata
from bobcat.model.request_json import (
    CONTEXT_KEYS,
    DECLARED_KEYS,
    PRINCIPAL_KEYS,
    declared_from_json,
    request_from_data,
)
from bobcat.testing.suites import keys
from bobcat.testing.suites.model import Expectation, Json

_PLACE = re.compile(r"`((?:tool|args|declared|context)(?:\.[a-z_]+)*)`")
"""The place in the message of a `RequestError`."""

Context = Mapping[str, Json]


def read_context(node: Node, report: DiagnosticCollector) -> Context:
    """Return the context that requests share, as data; empty after an error."""
    before = report.count
    if _has_known_keys(node, "context", CONTEXT_KEYS, report):
        data = checked_data(node, report)
        _request({"tool": "-", "context": data}, {"context": node}, node, report)
        return data if report.count == before else {}
    return {}


def read_declarations(node: MappingNode, report: DiagnosticCollector) -> dict[str, ToolMetadata]:
    """Return the declared metadata of tools, by name."""
    found: dict[str, ToolMetadata] = {}
    for name, (_, item) in entries(node, report).items():
        if not _has_known_keys(item, "declared", DECLARED_KEYS, report):
            continue
        try:
            found[name] = declared_from_json(checked_data(item, report))
        except RequestError as error:
            report.add("E1103", _at(str(error), {"declared": item}, item), problem=str(error))
    return found


def read_request(node: Node, key: str, context: Context, report: DiagnosticCollector) -> ActionRequest | None:
    """Return the request at `key`, with the shared context below its own; None after an error."""
    fields = mapping(node, key, report, help="write `{tool: NAME, args: {...}}`")
    if fields is None:
        return None
    before = report.count
    found = entries(fields, report)
    check_keys(found, keys.REQUEST, f"`{key}`", report, keys.synonyms_for(keys.REQUEST))
    if "tool" not in found:
        report.add("E0203", node, where=f"`{key}`", key="tool", help="name the tool that is called")
    parts = {name: item for name, (_, item) in found.items()}
    if "context" in parts and _has_known_keys(parts["context"], "context", CONTEXT_KEYS, report):
        principal = dict(_pairs(parts["context"], report)).get("principal")
        if principal is not None:
            _has_known_keys(principal, "principal", PRINCIPAL_KEYS, report)
    if "declared" in parts:
        _has_known_keys(parts["declared"], "declared", DECLARED_KEYS, report)
    data = {name: checked_data(item, report) for name, item in parts.items()}
    if report.count != before:
        return None
    if context:
        data["context"] = {**context, **data.get("context", {})}
    return _request(data, parts, node, report)


def _request(
    data: Mapping[str, Json], parts: Mapping[str, Node], node: Node, report: DiagnosticCollector
) -> ActionRequest | None:
    try:
        return request_from_data(data)
    except RequestError as error:
        report.add("E1103", _at(str(error), parts, node), problem=str(error))
        return None


def _at(message: str, parts: Mapping[str, Node], whole: Node) -> Node:
    """Return the node that the message of an error is about."""
    place = _PLACE.search(message)
    if place is None:
        return whole
    first, *steps = place[1].split(".")
    node = parts.get(first, whole)
    for step in steps:
        below = [item for name, item in node.value if name.value == step] if isinstance(node, MappingNode) else []
        if not below:
            break
        node = below[0]
    return node


def _pairs(node: Node, report: DiagnosticCollector) -> list[tuple[str, Node]]:
    return [(name, item) for name, (_, item) in entries(node, report).items()] if isinstance(node, MappingNode) else []


def _has_known_keys(node: Node, key: str, known: Collection[str], report: DiagnosticCollector) -> bool:
    fields = mapping(node, key, report)
    return fields is not None and not check_keys(entries(fields, report), known, f"`{key}`", report)


def read_expectation(node: Node, report: DiagnosticCollector) -> Expectation | None:
    """Return an expectation; None after an error."""
    fields = mapping(node, "expect", report, help=_expectation_help(node))
    if fields is None:
        return None
    before = report.count
    found = entries(fields, report)
    if not found:
        report.add("E1105", node, key="expect", help="write `expect: {verdict: allow, rule: ID}`")
        return None
    check_keys(found, keys.EXPECT, "`expect`", report, keys.synonyms_for(keys.EXPECT))
    given = {name: item for name, (_, item) in found.items() if name in keys.EXPECT}
    verdict = verdict_of(given["verdict"], "verdict", VERDICTS, report) if "verdict" in given else None
    rule = string(given["rule"], "rule", report) if "rule" in given else None
    reason = _pattern(given["reason_matches"], report) if "reason_matches" in given else None
    args = given.get("args")
    args_data = checked_data(args, report) if args is not None and mapping(args, "args", report) is not None else None
    none = "error" in given and kind_of_node(given["error"]) == "null"
    error = string(given["error"], "error", report) if "error" in given and not none else None
    approvers = _texts(given["approvers"], "approvers", report) if "approvers" in given else None
    if report.count != before:
        return None
    return Expectation(verdict, rule, reason, args_data, error, none, approvers)


def _texts(node: Node, key: str, report: DiagnosticCollector) -> tuple[str, ...]:
    if not isinstance(node, SequenceNode):
        wrong_type(node, key, "a list of texts", report)
        return ()
    return tuple(text for item in node.value if (text := string(item, key, report)) is not None)


def _expectation_help(node: Node) -> str | None:
    word = node.value if isinstance(node, ScalarNode) and node.value in VERDICTS else None
    return f"write `expect: {{verdict: {word}}}`" if word else None


def _pattern(node: Node, report: DiagnosticCollector) -> str | None:
    text = string(node, "reason_matches", report)
    if text is None or not isinstance(node, ScalarNode) or not check_pattern_operand(node, text, report):
        return None
    return text
