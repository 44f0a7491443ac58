"""Handoff graphs, under lynx-agent's path: nodes run with its compatibility options, and journals have its format."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bobcat import graph
from bobcat.aio.cancel import Cancelled
from bobcat.errors import GraphCompileError
from bobcat.executors import Executor
from bobcat.graph import DONE as DONE  # importable from here, but not in `__all__`, as in lynx-agent
from bobcat.graph import GraphResult, GraphSpec, NodeOutcome, Router
from bobcat.graph.run import GraphCompat, GraphRun
from bobcat.journal.records import RunStore
from bobcat.lynx.core.scheduler import run_agent
from bobcat.lynx.core.types import Budget
from bobcat.model.decision import Principal
from bobcat.sinks import Sink

__all__ = [
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

_LYNX_2_5 = GraphCompat(run_node=run_agent, plain=True)


@dataclass(frozen=True, slots=True)
class GraphNode(graph.GraphNode):
    """One run of an agent. Without limits unless its budget has some."""

    budget: Budget = field(default_factory=Budget)


def compile_graph(text: str) -> GraphSpec:
    """Compile the edge table in a YAML text."""
    return graph.compile_graph(text, profile="lynx")


def load_graph_file(path: str | os.PathLike[str]) -> GraphSpec:
    """Compile the edge table in a YAML file. Raises OSError."""
    return graph.load_graph_file(path, profile="lynx")


async def run_graph(
    nodes: Mapping[str, graph.GraphNode],
    task: str,
    *,
    router: Router | GraphSpec,
    start: str | None = None,
    max_transitions: int | None = None,
    compose_task: Callable[[str, NodeOutcome], str] | None = None,
    sinks: Sequence[Sink] = (),
    principal: Principal = Principal("user", "anonymous"),  # noqa: B008 - a frozen value
    environment: str = "dev",
    workspace: str = ".",
    executor: Executor | None = None,
    store: RunStore | None = None,
    run_id: str | None = None,
    cancel: Cancelled | None = None,
) -> GraphResult:
    """Run `nodes` on `task`; after each node, `router` selects the next."""
    return await GraphRun(
        _LYNX_2_5,
        nodes,
        task,
        router=router,
        start=start,
        max_transitions=max_transitions,
        compose_task=compose_task,
        sinks=sinks,
        principal=principal,
        environment=environment,
        workspace=workspace,
        executor=executor,
        store=store,
        run_id=run_id,
        cancel=cancel,
    ).run()
