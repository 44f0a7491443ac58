"""Three agents hand a task on. Each has its own tools and policy: the reader cannot write, the writer cannot read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bobcat import (
    AuditEvent,
    FinalAnswer,
    GraphNode,
    Message,
    Policy,
    ToolCall,
    ToolSet,
    callback_sink,
    compile_graph,
    run_graph,
    tool,
)

FLOW = """
start: reader
max_transitions: 5
edges:
  - {from: reader, when: {answer_is: sum.txt is wrong}, to: writer}
  - {from: reader, to: done}
  - {from: writer, when: {denials_gt: 0}, to: done}
  - {from: writer, to: reader}
"""
FILES = {"sum.txt": "2 + 2 = 5"}


@tool(scope=("files:read",))
async def read(path: str) -> str:
    """Read a file."""
    return FILES[path]


@tool(scope=("files:write",), reversible=False)
async def write(path: str, text: str) -> str:
    """Write a file."""
    FILES[path] = text
    return "written"


class Reader:
    """Reads, and says what it thinks."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        if conversation[-1].role != "tool":
            return ToolCall("read", {"path": "sum.txt"})
        return FinalAnswer("sum.txt is wrong" if "5" in conversation[-1].content else "sum.txt is right")


class Writer:
    """Tries to read first, which it cannot."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        answers = [message.content for message in conversation if message.role == "tool"]
        if not answers:
            return ToolCall("read", {"path": "sum.txt"})
        if len(answers) == 1:
            return ToolCall("write", {"path": "sum.txt", "text": "2 + 2 = 4"})
        return FinalAnswer(" / ".join(answers))


def show(event: AuditEvent) -> None:
    if event.kind == "graph.handoff":
        print(f"{event.body['node']} -> {event.body['next']}")


async def main() -> None:
    reading = Policy.compile("rules: [{id: read, match: {tool: read, args.path: sum.txt}, decision: allow}]")
    writing = Policy.compile("rules: [{id: write, match: {tool: write, args.path: sum.txt}, decision: allow}]")
    nodes = {
        "reader": GraphNode(
            Reader(), ToolSet.from_functions(read), reading, exceeds="the reader checks what the writer corrected"
        ),
        "writer": GraphNode(
            Writer(), ToolSet.from_functions(write), writing, exceeds="the writer corrects what the reader found"
        ),
    }
    result = await run_graph(nodes, "check sum.txt", router=compile_graph(FLOW), sinks=[callback_sink(show)])
    for outcome in result.path:
        print(f"{outcome.node}: {outcome.result.final_answer}")
    print(FILES)


if __name__ == "__main__":
    asyncio.run(main())
