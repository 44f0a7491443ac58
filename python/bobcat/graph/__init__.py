"""Handoff graphs: several agents on one task, each behind its own policy, with rules for the next node.

    spec = load_graph_file("flow.yaml")                     # or any function: outcome → next node
    result = await run_graph({"triage": GraphNode(...), "fixer": GraphNode(...)}, task, router=spec)

A node is one `run_agent` call with its own tools and policy; an edge is a decision about its finished result. Only
`compile_graph` and `load_graph_file` load YAML and google-re2, and only when they are called.
"""

from bobcat.errors import GraphCompileError
from bobcat.graph.compile import compile_graph, load_graph_file
from bobcat.graph.model import DONE, Edge, GraphNode, GraphResult, GraphSpec, NodeOutcome, Router
from bobcat.graph.run import run_graph

__all__ = [
    "DONE",
    "Edge",
    "GraphCompileError",
    "GraphNode",
    "GraphResult",
    "GraphSpec",
    "NodeOutcome",
    "Router",
    "compile_graph",
    "load_graph_file",
    "run_graph",
]
