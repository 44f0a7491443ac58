"""Handoff graphs as lynx-agent 2.11 has them: a node has caps by default, and its policy may have layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bobcat import graph
from bobcat.aio.cancel import Cancelled
from bobcat.executors import Executor
from bobcat.graph import GraphNode, GraphResult, GraphSpec, NodeOutcome, Router
from bobcat.graph.run import GraphCompat, GraphRun
from bobcat.journal.records import RunStore
from bobcat.lynx.v2_11.core.scheduler import run_agent
from bobcat.model.decision import Principal
from bobcat.sinks import Sink

__all__ = ["GraphNode", "run_graph"]

_LYNX_2_11 = GraphCompat(run_node=run_agent, plain=True)


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
        _LYNX_2_11,
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
