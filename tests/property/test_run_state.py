"""The state of a run equals a slow evaluator that recomputes every value from all events, and survives its snapshot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bobcat import Request
from bobcat._core import Program, RunState, evaluate
from bobcat.ir import canonical, construct
from bobcat.ir.schema import (
    AllFormula,
    AnyFormula,
    CallEvent,
    Definition,
    Expr,
    Formerly,
    FormulaDefinition,
    Leaf,
    Measure,
    NotFormula,
    Previous,
    ResultEvent,
    Since,
    Source,
)
from bobcat.model.decision import ActionRequest
from oracle.run_memory import Broken, Event, Oracle

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TOOLS = ("pay", "read", "find")
TEXTS = ("a", "b", "c", "")


def leaf(head: str, path: tuple[str, ...], op: str, operand: Any) -> Leaf:
    return construct.leaf(head, path, op, operand)  # type: ignore[arg-type]  # generated


def exprs(*leaves: st.SearchStrategy[Leaf]) -> st.SearchStrategy[Expr]:
    return st.recursive(
        st.one_of(leaves),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(construct.all_),
            st.lists(inner, min_size=2, max_size=3).map(construct.any_),
            inner.map(construct.not_),
        ),
        max_leaves=3,
    )


tools = st.sampled_from(TOOLS).map(lambda tool: leaf("tool", (), "eq", tool))
names = st.sampled_from([("n",), ("s",), ("m", "n")])
of_args = st.one_of(
    st.tuples(names, st.sampled_from([0, 1, "a", "b"])).map(lambda pair: leaf("args", pair[0], "eq", pair[1])),
    st.tuples(names, st.integers(0, 2)).map(lambda pair: leaf("args", pair[0], "gt", pair[1])),
)
calls = exprs(tools, tools, of_args)
results = exprs(
    tools,
    of_args,
    st.sampled_from([0, 1, "a"]).map(lambda value: leaf("result", ("code",), "eq", value)),
    st.integers(0, 1).map(lambda value: leaf("result", ("code",), "gt", value)),
)
wheres = exprs(
    of_args,
    st.sampled_from(["a", "b"]).map(lambda value: leaf("record", ("s",), "eq", value)),
    st.sampled_from(["a", 1]).map(lambda value: leaf("record", ("list", "s"), "eq", value)),
)
windows = st.one_of(st.just(None), st.integers(1, 40).map(lambda seconds: seconds * 1_000_000))


def optional(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


measures = st.builds(
    lambda of, field, within, this: Measure(of, **optional(field=field, within=within), this=this),
    calls,
    st.sampled_from([None, ("n",), ("m", "n")]),
    windows,
    st.booleans(),
)
formulas = st.recursive(
    st.one_of(calls.map(CallEvent), results.map(ResultEvent)),
    lambda inner: st.one_of(
        inner.map(NotFormula),
        st.lists(inner, max_size=2).map(lambda items: AllFormula(tuple(items))),
        st.lists(inner, max_size=2).map(lambda items: AnyFormula(tuple(items))),
        st.builds(lambda item, within: Previous(item, **optional(within=within)), inner, windows),
        st.builds(lambda item, within: Formerly(item, **optional(within=within)), inner, windows),
        st.builds(lambda *parts: Since(parts[0], parts[1], **optional(within=parts[2])), inner, inner, windows),
    ),
    max_leaves=4,
)
FIELDS = [("s",), ("list", "s"), ("list", "list", "s"), ("n",), ()]
sources = st.builds(
    lambda of, fields, where, asked: Source(of, tuple(fields), **optional(where=where, asked_with=asked)),
    exprs(tools),
    st.lists(st.sampled_from(FIELDS), min_size=1, max_size=2, unique=True),
    st.one_of(st.just(None), wheres),
    st.sampled_from([None, ("first",), ("first", "second"), ("second", "task")]),
)

numbers = st.one_of(st.integers(-2, 3), st.sampled_from([0.1, 0.25, 1.5, 2**70, 1e20]))
odd = st.sampled_from([None, True, float("nan"), float("inf"), 1e300, "x", [1]])
arguments = st.fixed_dictionaries(
    {},
    optional={
        "n": st.one_of(numbers, numbers, numbers, odd),
        "s": st.sampled_from(TEXTS),
        "m": st.one_of(st.fixed_dictionaries({"n": numbers}), st.none()),
    },
)
values = st.recursive(
    st.one_of(st.sampled_from(TEXTS), st.integers(0, 2), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.fixed_dictionaries({}, optional={"s": inner, "list": inner, "n": inner, "code": inner}),
    ),
    max_leaves=6,
)
keys = st.sampled_from([f"call-{number}" for number in range(6)])
seconds = st.integers(-3, 20)
actions = st.one_of(
    st.tuples(st.just("call"), keys, st.sampled_from(TOOLS), arguments, seconds),
    st.tuples(st.just("call"), keys, st.sampled_from(TOOLS), arguments, seconds),
    st.tuples(st.just("result"), keys, values, seconds),
    st.tuples(st.just("result"), keys, values, seconds),
    st.tuples(st.sampled_from(["failed", "release", "next_reply"]), keys),
)
proposals = st.tuples(st.sampled_from(TOOLS), arguments, seconds)


def compiled(definitions: dict[str, Definition], drawn: list[list[str]] = []) -> Program:  # noqa: B006 - not changed
    rules = [
        construct.rule(f"from-{at}", leaf("args", ("value",), "from", construct.sources(group)), "allow")
        for at, group in enumerate(drawn)
    ]
    return Program(canonical.encode(construct.policy(rules, memory=definitions)))


def request(tool: str, args: dict[str, Any], at: int) -> ActionRequest:
    return Request(tool, args, timestamp=EPOCH + timedelta(microseconds=at))


class Run:
    """A state and its oracle, given the same events. Each action may take the state through its snapshot."""

    def __init__(self, program: Program, task: str | None = None, task_values: tuple[Any, ...] = ()) -> None:
        self.program, self.oracle, self.now = program, Oracle(task_values=frozenset(task_values)), 1_000_000_000
        self.state = RunState(program, task=task)

    def take(self, action: tuple[Any, ...]) -> None:
        match action:
            case ("call", key, tool, args, step):
                self.now += step * 1_000_000
                self.state.call(request(tool, args, self.now), key)
                self.oracle.call(key, tool, args, self.now)
            case ("result", key, value, step):
                self.now += step * 1_000_000
                at = EPOCH + timedelta(microseconds=self.now)
                self.both(lambda: self.state.result(key, value, at), lambda: self.oracle.result(key, value, self.now))
            case ("failed", key):
                self.both(lambda: self.state.failed(key, EPOCH), lambda: self.oracle.failed(key))
            case ("release", key):
                self.both(lambda: self.state.release(key), lambda: self.oracle.release(key))
            case _:
                self.state.next_reply()
                self.oracle.next_reply()

    def both(self, state: Any, oracle: Any) -> None:
        try:
            oracle()
        except KeyError:
            with pytest.raises(ValueError, match="no open call"):
                state()
        else:
            state()

    def reload(self) -> None:
        data = self.state.dump()
        self.state = RunState.load(self.program, data)
        assert self.state.dump() == data


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(measures, formulas.map(FormulaDefinition)), min_size=1, max_size=4),
    st.lists(st.tuples(actions, st.booleans()), max_size=12),
    proposals,
)
def test_values_are_those_of_the_slow_evaluator(
    items: list[Measure | FormulaDefinition],
    steps: list[tuple[tuple[Any, ...], bool]],
    proposal: tuple[str, dict[str, Any], int],
) -> None:
    definitions: dict[str, Definition] = {canonical.definition_name(item): item for item in items}
    run = Run(compiled(definitions))
    tool, args, later = proposal
    for action, reload in [*steps, (("next_reply", ""), False)]:
        at = run.now + later * 1_000_000
        expected = {
            name: run.oracle.value(item, Event("call", at, "", tool, args)) for name, item in definitions.items()
        }
        found = run.state.values(request(tool, args, at))
        assert found == expected
        assert {name: type(value) for name, value in found.items()} == {n: type(v) for n, v in expected.items()}
        run.take(action)
        if reload:
            run.reload()


SOUGHT = ["a", "b", "c", "", 0, 1, 2, "zz"]


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(sources, sources),
    st.lists(st.tuples(actions, st.booleans()), max_size=12),
)
@example(
    (Source(leaf("tool", (), "eq", "find"), (("list", "s"),), where=leaf("record", ("list", "s"), "eq", "a")),) * 2,
    [
        (("call", "call-0", "find", {}, 1), True),
        (("result", "call-0", {"list": [{"s": "a"}, {"s": "b"}]}, 1), True),
        (("next_reply", ""), True),
    ],
)
def test_values_come_from_the_sources_of_the_slow_evaluator(
    items: tuple[Source, Source], steps: list[tuple[tuple[Any, ...], bool]]
) -> None:
    named = dict(zip(("first", "second"), items, strict=True))
    groups = [["first"], ["second"], ["first", "second"], ["task", "second"]]
    run = Run(compiled(dict(named), groups), task="pay c", task_values=("c",))
    programs = [compiled(dict(named), [group]) for group in groups]
    for action, reload in [(("next_reply", ""), False), *steps]:
        run.take(action)
        if reload:
            run.reload()
        for group, program in zip(groups, programs, strict=True):
            for value in SOUGHT:
                try:
                    came = run.oracle.came_from(named, group, value) if value != "" else False
                    expected = "<rule>" if came else "<default:on_missing_shadow>"
                except Broken as error:
                    expected = f"<rule_error:from-0:{error.args[0]}>"
                decision = evaluate(program, request("x", {"value": value}, run.now), state=run.state)
                marker = next((rule for rule in decision.matched_rules if rule.startswith("<")), "<rule>")
                assert marker == expected, (group, value)
