"""A LangGraph graph behind a policy: its nodes propose calls, the policy decides, results are messages."""

from __future__ import annotations

import asyncio

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from bobcat import Policy, ToolSet, run_agent, tool
from bobcat.adapters import LangGraphAgent

POLICY = Policy.compile("""
rules:
  - {id: notes, match: {tool: read_note, args.name.in: [todo, done]}, decision: allow}
""")
NOTES = {"todo": "feed the cat", "secret": "the cat is a bobcat"}


@tool(scope=("notes:read",))
async def read_note(name: str) -> str:
    """Read a note."""
    return NOTES[name]


def model(state: MessagesState) -> dict[str, AIMessage]:
    """Plays a chat model with bound tools: it asks for two notes in one reply, then repeats the results."""
    results = [message.text for message in state["messages"] if message.type == "tool"]
    if results:
        return {"messages": AIMessage(" / ".join(results))}
    calls = [{"name": "read_note", "args": {"name": name}, "id": f"call_{name}"} for name in ("todo", "secret")]
    return {"messages": AIMessage("let me see", tool_calls=calls)}


async def main() -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    agent = LangGraphAgent(builder.compile())
    result = await run_agent(agent, "read my notes", tools=ToolSet.from_functions(read_note), policy=POLICY)
    print(result.final_answer)
    print(f"{result.steps_taken} calls, error: {result.error}")


if __name__ == "__main__":
    asyncio.run(main())
