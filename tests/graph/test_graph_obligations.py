"""The obligations of every node have handlers, and one policy narrows every node."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bobcat import FinalAnswer, GraphNode, GraphResult, Policy, ToolCall, ToolSet, run_graph, tool
from bobcat.errors import BundleError

POLICY = Policy.compile("""
rules:
  - {id: pay, match: {tool: pay}, decision: allow, obligations: [{reserve: {fund: main}}, {notify: boss}]}
""")


class Payer:
    def __init__(self) -> None:
        self.replies: list[Any] = [ToolCall("pay", {"amount": 5}), FinalAnswer("over")]

    async def step(self, conversation: Any) -> Any:
        return self.replies.pop(0)


class Office:
    def __init__(self) -> None:
        self.done: list[str] = []

        @tool
        async def pay(amount: int) -> int:
            """Pay."""
            self.done.append("pay")
            return amount

        self.tools = ToolSet.from_functions(pay)

    def run(self, **options: Any) -> GraphResult:
        nodes = {name: GraphNode(Payer(), self.tools, POLICY) for name in ("first", "second")}
        route = {"first": "second", "second": None}
        return asyncio.run(
            run_graph(nodes, "pay", router=lambda outcome: route[outcome.node], start="first", **options)
        )

    def note(self, obligation: Any, call: Any) -> None:
        self.done.append(obligation.name)


def test_handlers_perform_the_obligations_of_every_node() -> None:
    office = Office()
    result = office.run(obligations={"reserve": office.note, "notify": office.note})
    assert (result.outcome, [each.denials for each in result.path]) == ("succeeded", [0, 0])
    assert office.done == ["reserve", "pay", "notify"] * 2


def test_a_graph_without_handlers_refuses_the_calls() -> None:
    office = Office()
    result = office.run()
    assert [each.denials for each in result.path] == [1, 1]
    assert "pay" not in office.done


def test_a_policy_narrows_every_node() -> None:
    office = Office()
    result = office.run(
        obligations={"reserve": office.note, "notify": office.note},
        narrow_with=Policy.compile("rules: [{id: small, match: {args.amount.lt: 3}, decision: allow}]"),
    )
    assert [each.denials for each in result.path] == [1, 1]
    assert office.done == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"obligations": {"redact": print}}, ValueError),
        ({"obligations": [print]}, TypeError),
        ({"narrow_with": "task.yaml"}, TypeError),
        ({"narrow_with": Policy.compile({"rules": []}, profile="lynx")}, BundleError),
    ],
)
def test_invalid_options_are_refused_before_anything_runs(options: Any, error: type[Exception]) -> None:
    office = Office()
    with pytest.raises(error):
        office.run(**options)
    assert office.done == []
