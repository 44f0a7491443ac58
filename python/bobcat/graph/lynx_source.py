"""The `lynx` profile of graphs: YAML with the checks, their order and the messages of lynx-agent.

It stops at the first error. Input for which lynx-agent raises another exception is a `GraphCompileError` too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaml.nodes import MappingNode

from bobcat.errors import GraphCompileError, PolicyWarning, warn_caller
from bobcat.frontend.lynx.match import MatchRefused, check_python_pattern
from bobcat.frontend.lynx.source import UnreadableSource, read_text
from bobcat.graph.findings import finding
from bobcat.graph.model import DEFAULT_MAX_TRANSITIONS, DONE, EDGE_KEYS, LYNX_PREDICATES, STATUSES, Edge, GraphSpec
from bobcat.graph.pattern import TextPattern

# Any below: YAML data of any kind.


def read_lynx_graph(text: str) -> GraphSpec:
    """The graph in `text`. Raises `GraphCompileError`."""
    try:
        data, node = read_text(text)
    except UnreadableSource as error:
        raise GraphCompileError(f"invalid YAML: {str(error).removeprefix('YAML parse error: ')}") from error
    if not isinstance(node, MappingNode):
        raise _refused("G01")
    start = data.get("start")
    if not _is_name(start):
        raise _refused("G04")
    if start == DONE:
        raise _refused("G05")
    bound = data.get("max_transitions", DEFAULT_MAX_TRANSITIONS)
    if not isinstance(bound, int) or bound < 1:
        raise _refused("G07")
    edges = data.get("edges")
    if not isinstance(edges, list) or not edges:
        raise _refused("G08")
    return GraphSpec(start, bound, tuple(_edge(item, f"edges[{index}]") for index, item in enumerate(edges)))


def _edge(item: Any, where: str) -> Edge:
    if not isinstance(item, dict):
        raise _refused("G09", edge=where)
    _known(item, EDGE_KEYS, "G10", edge=where)
    for key in ("from", "to"):
        if not _is_name(item.get(key)):
            raise _refused("G11", edge=where, key=key)
    if item["from"] == DONE:
        raise _refused("G12", edge=where)
    when = item.get("when") or {}
    if not isinstance(when, dict):
        raise _refused("G13", edge=where)
    _known(when, LYNX_PREDICATES, "G14", edge=where, allowed=list(LYNX_PREDICATES))
    status = when.get("status")
    if status is not None and (not isinstance(status, str) or status not in STATUSES):
        raise _refused("G15", edge=where)
    patterns = {key: _pattern(when[key], where) for key in ("answer_matches", "error_matches") if key in when}
    for key in ("denials_gt", "steps_gt"):
        if key in when and type(when[key]) is not int:
            raise _refused("G17", edge=where, key=key)
    return Edge(
        item["from"],
        item["to"],
        status=STATUSES[status] if status is not None else None,
        answer_matches=patterns.get("answer_matches"),
        error_matches=patterns.get("error_matches"),
        denials_gt=when.get("denials_gt"),
        steps_gt=when.get("steps_gt"),
    )


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _known(mapping: Mapping[Any, Any], known: tuple[str, ...], code: str, **params: object) -> None:
    names = sorted((key for key in mapping if key not in known), key=lambda key: (isinstance(key, str), str(key)))
    if names:
        raise _refused(code, names=names, **params)


def _pattern(text: Any, where: str) -> TextPattern:
    """A pattern in the syntax of Python's `re`: on the linear engine, where it has a linear form."""
    if not isinstance(text, str):
        raise _refused("G16", edge=where, problem="a pattern must be a string")
    try:
        check_python_pattern(text, None)
    except MatchRefused as refused:
        raise _refused("G16", edge=where, problem=str(refused)) from refused
    try:
        return TextPattern(text, "python")
    except ValueError:
        warn_caller(
            f"{where}: the pattern {text!r} has no linear form; it runs on Python's `re`, in time that an answer "
            "can blow up",
            PolicyWarning,
        )
        return TextPattern(text, "stdlib")


def _refused(code: str, **params: object) -> GraphCompileError:
    found = finding(code, None, None, **params)
    return GraphCompileError(found.message, (found,))
