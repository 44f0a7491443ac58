"""Compilation of a graph's YAML to a `GraphSpec`: checked key by key, every finding with its location.

Loads PyYAML, and google-re2 for a graph with patterns; only `compile_graph` imports it.
"""

from __future__ import annotations

from dataclasses import replace

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.diagnostics.model import Diagnostic
from bobcat.diagnostics.render import render_text
from bobcat.errors import GraphCompileError, PolicyWarning, warn_caller
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.suggest import closest
from bobcat.frontend.yaml.nodes import Entries, entries, string_of, value
from bobcat.frontend.yaml.source import compose
from bobcat.graph.findings import finding
from bobcat.graph.model import DEFAULT_MAX_TRANSITIONS, DONE, EDGE_KEYS, PREDICATES, STATUSES, Edge, GraphSpec, Status
from bobcat.graph.pattern import TextPattern

_KEYS = ("version", "start", "max_transitions", "edges")
_SYNONYMS = {"ok": "succeeded", "success": "succeeded", "done": "succeeded", "error": "failed", "failure": "failed"}


def read_graph(text: str, file: str) -> GraphSpec:
    """The graph in `text`. Raises `GraphCompileError` with every finding."""
    report = DiagnosticCollector(file)
    root = compose(text, report)
    spec = None if report.has_errors() else _GraphReader(report).graph(root)
    if spec is not None and not report.has_errors():
        return _with_warnings(spec, report.diagnostics(), text, file)
    found = report.diagnostics()
    yaml_itself = any(item.code.startswith("E") for item in found)
    readable = render_text(found, {file: text})
    raise GraphCompileError(f"invalid YAML:\n\n{readable}" if yaml_itself else readable, found)


def _with_warnings(spec: GraphSpec, found: tuple[Diagnostic, ...], text: str, file: str) -> GraphSpec:
    """Return the graph, with a `PolicyWarning` for each construct that is laxer than it looks."""
    if not found:
        return spec
    warn_caller(render_text(found, {file: text}), PolicyWarning)
    return replace(spec, diagnostics=found)


class _GraphReader:
    """Reads one graph. Errors go into the report."""

    def __init__(self, report: DiagnosticCollector) -> None:
        self._report = report

    def graph(self, root: Node | None) -> GraphSpec | None:
        if not isinstance(root, MappingNode):
            self._add("G01", root)
            return None
        found = entries(root, self._report)
        self._unknown(found, _KEYS, "G02")
        nodes = {key: node for key, (_, node) in found.items()}
        if "version" in nodes and self._integer(nodes["version"]) != 1:
            self._add("G03", nodes["version"])
        start = self._start(nodes.get("start"), root)
        bound = self._bound(nodes.get("max_transitions"))
        edges = self._edges(nodes.get("edges"), root)
        if self._report.has_errors() or start is None or bound is None:
            return None
        spec = GraphSpec(start, bound, tuple(edges))
        if start not in spec.node_names():
            near = closest(start, sorted(spec.node_names()))
            self._add("G06", nodes["start"], help=_suggestion(near), name=shown(start))
        return spec

    def _start(self, node: Node | None, root: Node) -> str | None:
        start = string_of(node, self._report) if node is not None else None
        if not start:
            self._add("G04", node or root)
        elif start == DONE:
            self._add("G05", node)
        return start

    def _bound(self, node: Node | None) -> int | None:
        bound = DEFAULT_MAX_TRANSITIONS if node is None else self._integer(node)
        if bound is None or bound < 1:
            self._add("G07", node)
        return bound

    def _edges(self, node: Node | None, root: Node) -> list[Edge]:
        if not isinstance(node, SequenceNode) or not node.value:
            self._add("G08", node or root)
            return []
        edges: list[Edge] = []
        always: dict[str, str] = {}
        for index, item in enumerate(node.value):
            edge = self._edge(item, f"edges[{index}]")
            if edge is None:
                continue
            if edge.src in always:
                self._add("G18", item, edge=f"edges[{index}]", other=always[edge.src], name=shown(edge.src))
            if edge.is_unconditional() and not self._report.has_errors():
                always.setdefault(edge.src, f"edges[{index}]")
            edges.append(edge)
        return edges

    def _edge(self, node: Node, where: str) -> Edge | None:
        if not isinstance(node, MappingNode):
            self._add("G09", node, edge=where)
            return None
        found = entries(node, self._report)
        self._unknown(found, EDGE_KEYS, "G10", edge=where)
        nodes = {key: item for key, (_, item) in found.items()}
        ends: dict[str, str] = {}
        for key in ("from", "to"):
            name = string_of(nodes[key], self._report) if key in nodes else None
            if name:
                ends[key] = name
            else:
                self._add("G11", nodes.get(key, node), edge=where, key=key)
        if len(ends) != 2:
            return None
        if ends["from"] == DONE:
            self._add("G12", nodes["from"], edge=where)
        return self._when(nodes.get("when"), Edge(ends["from"], ends["to"]), where)

    def _when(self, node: Node | None, edge: Edge, where: str) -> Edge:
        if node is None:
            return edge
        if not isinstance(node, MappingNode):
            self._add("G13", node, edge=where)
            return edge
        found = entries(node, self._report)
        self._unknown(found, PREDICATES, "G14", edge=where, allowed=list(PREDICATES))
        nodes = {key: item for key, (_, item) in found.items()}
        return Edge(
            edge.src,
            edge.dst,
            status=self._status(nodes.get("status"), where),
            answer_is=self._answers(nodes.get("answer_is"), where),
            answer_matches=self._pattern(nodes.get("answer_matches"), where, whole=True),
            error_matches=self._pattern(nodes.get("error_matches"), where),
            denials_gt=self._count(nodes.get("denials_gt"), "denials_gt", where),
            steps_gt=self._count(nodes.get("steps_gt"), "steps_gt", where),
        )

    def _status(self, node: Node | None, where: str) -> Status | None:
        if node is None:
            return None
        text = string_of(node, self._report) or ""
        status = STATUSES.get(text)
        if status is None:
            near = _SYNONYMS.get(text.lower()) or closest(text, STATUSES)
            self._add("G15", node, help=_suggestion(near), edge=where)
        return status

    def _count(self, node: Node | None, key: str, where: str) -> int | None:
        if node is None:
            return None
        count = self._integer(node)
        if count is None or count < 0:
            self._add("G17", node, edge=where, key=key)
        return count

    def _answers(self, node: Node | None, where: str) -> tuple[str, ...] | None:
        if node is None:
            return None
        items = node.value if isinstance(node, SequenceNode) else [node]
        texts: list[str] = []
        for item in items:
            text = string_of(item, self._report)
            if not text or text != text.strip():
                self._add("G19", item, edge=where)
            else:
                texts.append(text)
        if not items:
            self._add("G19", node, edge=where)
        return tuple(texts)

    def _pattern(self, node: Node | None, where: str, *, whole: bool = False) -> TextPattern | None:
        if node is None:
            return None
        text = string_of(node, self._report)
        if text is None:
            self._add("G16", node, help="quote it", edge=where, problem="a pattern must be a string")
            return None
        # PERF: google-re2 is loaded by graphs with patterns only
        from bobcat.frontend.strict.patterns import check_pattern
        from bobcat.lint.pattern_syntax import is_anchored

        refused = check_pattern(text, "re2")
        for item in refused:
            problem = f"Invalid regex `{shown(text)}`: {item.message} ({item.code})"
            self._add("G16", node, help=item.help, edge=where, problem=problem)
        if refused:
            return None
        if whole and not is_anchored(text):
            self._add("G20", node, edge=where, pattern=shown(text))
        return TextPattern(text, "re2")

    def _integer(self, node: Node) -> int | None:
        found = value(node, self._report) if isinstance(node, ScalarNode) else None
        return found if type(found) is int else None

    def _unknown(self, found: Entries, known: tuple[str, ...], code: str, **params: object) -> None:
        others = [(key, node) for key, (node, _) in found.items() if key not in known]
        if others:
            key, node = others[0]
            names = sorted(key for key, _ in others)
            self._add(code, node, help=_suggestion(closest(key, known)), names=names, **params)

    def _add(self, code: str, node: Node | None, help: str | None = None, **params: object) -> None:
        span = self._report.span(node) if node is not None else None
        self._report.append(finding(code, span, help, **params))


def _suggestion(name: str | None) -> str | None:
    return f"did you mean `{name}`?" if name else None
