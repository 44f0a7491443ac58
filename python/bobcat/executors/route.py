"""Executor selection by isolation. A tool with an isolation that no executor provides does not run."""

from __future__ import annotations

from collections.abc import Mapping

from bobcat.executors.base import Executor
from bobcat.model.decision import ActionRequest
from bobcat.model.run import ActionResult, ToolDef


def route_executor(routes: Mapping[str | None, Executor]) -> Executor:
    """Select the executor by `tool.metadata.isolation`; the key None serves tools without one. The mapping is copied.

    A tool whose isolation is missing from the keys does not run: its action fails, and the error lists the keys.
    """
    given: object = routes
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise TypeError(f"routes must be a mapping of isolations to executors, got {kind}; write {{None: ...}}")
    known = dict(routes)

    async def execute(request: ActionRequest, tool: ToolDef) -> ActionResult:
        isolation = tool.metadata.isolation
        chosen = known.get(isolation)
        if chosen is not None:
            return await chosen(request, tool)
        if isolation is None:
            return ActionResult(False, error=f"route_executor has no default (None) route for tool {tool.name!r}")
        names = sorted("(default)" if key is None else key for key in known)
        return ActionResult(
            False, error=f"no executor routed for isolation {isolation!r} (tool {tool.name!r}); routes: {names}"
        )

    return execute
