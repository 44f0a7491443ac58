"""Hostile parts of runs of `bobcat.lynx` beside lynx-agent 2.5: loose values, approvers, executors, Python rules,
graphs, and journals of one package taken up by the other.
"""

from __future__ import annotations

import asyncio
import math
import warnings
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import lynx
import lynx.core.mediator
import lynx.durability
import lynx.policy
import pytest

from bobcat import lynx as ours
from bobcat.lynx.core import mediator
from lynx_runs import Death, Script, Store, comparable, play

APIS = (ours, lynx)
POLICY = """
rules:
  - {id: ask, match: {args.how: ask}, decision: approve_required, approvers: [alice], timeout_seconds: 0.05}
  - {id: never, match: {args.how: never}, decision: approve_required, timeout_seconds: 0}
  - {id: odd, match: {args.how: odd}, decision: approve_required, timeout_seconds: "30"}
  - {id: preview, match: {args.how: preview}, decision: dry_run}
  - {id: rest, match: {tool: act}, decision: allow}
"""


def run(api: ModuleType, replies: list[Any], *, rules: tuple[Any, ...] = (), **options: Any) -> dict[str, Any]:
    """A run of a tool that shows what it was given; `replies` are made by functions of the package."""
    events: list[Any] = []
    ran: list[Any] = []
    seen: list[Any] = []

    @api.tool(isolation=options.pop("isolation", None))
    async def act(how: str = "plain", **more: Any) -> Any:
        ran.append((how, repr(more)))
        if how == "late":
            raise TimeoutError
        if how == "slow":
            await asyncio.sleep(5)
        return more.get("value", how)

    @act.shadow
    async def twin(how: str) -> str:
        return how

    class Agent:
        async def step(self, conversation: Any) -> Any:
            assert isinstance(conversation, tuple)
            seen.append([(m.role, m.content, m.name, m.tool_call_id, repr(m.tool_call_args)) for m in conversation])
            return replies[len(seen) - 1](api) if len(seen) <= len(replies) else api.FinalAnswer("done")

    async def sink(event: Any) -> None:
        events.append((event.seq, event.kind, dict(event.body)))
        event.body.pop("seq", None)  # a sink may do what it likes with its event

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bundle = (ours if api is ours else lynx.policy).compile_policy(POLICY, python_rules=rules)
    for name, make in options.items():
        if callable(make):
            options[name] = make(api)
    result = asyncio.run(
        api.run_agent(Agent(), "t", tools=api.ToolSet.from_functions(act), policy=bundle, sinks=[sink], **options)
    )
    kept = options["store"].records if "store" in options else []
    records = [(r.seq, r.kind, r.idempotency_key, repr(sorted(_untimed(r.body), key=str))) for r in kept]
    outcome = (result.final_answer, result.error, result.steps_taken, str(result.usage))
    return comparable({"result": outcome, "events": events, "seen": seen, "ran": ran, "records": records})


def _untimed(body: Any) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in body.items() if name != "duration_ms"]


def call(*args: Any, **named: Any) -> Callable[[Any], Any]:
    return lambda api: api.ToolCall(*args, **named)


REPLIES = {
    "no call id": [call("act", {}, None)],
    "arguments as pairs": [call("act", [("how", "plain"), ["x", 1]])],
    "no arguments as pairs": [call("act", []), call("act", ())],
    "a call id that is a number": [call("act", {}, 7)],
    "a final answer without text": [lambda api: api.FinalAnswer(None)],
    "a final answer that is a number": [lambda api: api.FinalAnswer(5)],
    "a tool that is a number": [call(5, {})],
    "usage with holes": [lambda api: api.ToolCall("act", {}, usage=api.Usage(None, 3, None, 2.5))],
    "negative usage": [lambda api: api.ToolCall("act", {}, usage=api.Usage(-3))],
    "nan": [call("act", {"x": math.nan, "y": math.inf})],
    "values that are no JSON": [call("act", {"x": {1}, "y": b"b", "z": (1, 2), "w": 1 + 2j})],
    "nested values": [call("act", {"x": [{"a": [1, {"b": None}]}]})],
    "unknown arguments": [call("act", {"how": "plain", "unknown": 1})],
    "a tool that times out by itself": [call("act", {"how": "late"})],
    "values of every kind": [call("act", {"value": value}) for value in (None, 1.5, [1], {"a": (1,)}, b"x", True, "")],
    "a shadow that takes less": [call("act", {"how": "preview"}), call("act", {"how": "preview", "more": 1})],
    "an approval that takes no time": [call("act", {"how": "never"})],
    "an approval with an odd timeout": [call("act", {"how": "odd"})],
    "lone surrogates in a result": [call("act", {"value": "\ud800"})],
}


# An invalid timeout leaves the handler's coroutine behind, in either package.
@pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning")
@pytest.mark.parametrize("journaled", [False, True])
@pytest.mark.parametrize("name", REPLIES)
def test_hostile_replies_lead_to_the_same_run(name: str, journaled: bool) -> None:
    outcomes = []
    for api in APIS:
        journal: dict[str, Any] = {"store": Store(ValueError), "run_id": "r"} if journaled else {}
        outcomes.append(run(api, REPLIES[name], on_approval=lambda api: api.auto_approve("anybody"), **journal))
    assert outcomes[0] == outcomes[1]


class Hangs:
    async def __call__(self, request: Any) -> Any:
        await asyncio.sleep(5)


def _sync(api: Any) -> Any:
    return lambda request: api.ApprovalDecision(True, "alice")


def _mutating(api: Any) -> Any:
    async def approve(request: Any) -> Any:
        shown = dict(request.request.args)
        return api.ApprovalDecision(bool(shown), "alice", "seen " + repr(shown))

    return approve


def _duck(api: Any) -> Any:
    async def approve(request: Any) -> Any:
        return SimpleNamespace(granted=0, approver=7, reason=None)

    return approve


def _stranger(api: Any) -> Any:
    return api.auto_approve("mallory")


def _curt(api: Any) -> Any:
    return api.auto_deny("")


@pytest.mark.parametrize("approver", [lambda api: Hangs(), _sync, _mutating, _duck, _stranger, _curt])
def test_hostile_approvers_lead_to_the_same_run(approver: Any) -> None:
    outcomes = [run(api, [call("act", {"how": "ask"})], on_approval=approver) for api in APIS]
    assert outcomes[0] == outcomes[1]


def _raising(api: Any) -> Any:
    async def execute(request: Any, tool: Any) -> Any:
        raise LookupError("no machine")

    return execute


def _loose(api: Any) -> Any:
    async def execute(request: Any, tool: Any) -> Any:
        return api.ActionResult(1, dict(request.args), None, 3)

    return execute


def _failing(api: Any) -> Any:
    async def execute(request: Any, tool: Any) -> Any:
        return api.ActionResult(False)

    return execute


def _wrong(api: Any) -> Any:
    async def execute(request: Any, tool: Any) -> Any:
        return "done"

    return execute


@pytest.mark.parametrize("isolation", [None, "container"])
@pytest.mark.parametrize(
    "executor",
    [_raising, _loose, _failing, _wrong, lambda api: api.inline_executor(timeout_seconds=0.02),
     lambda api: api.route_executor({None: api.inline_executor()}), lambda api: api.route_executor({"x": _loose(api)})],
)  # fmt: skip
def test_executors_lead_to_the_same_run(executor: Any, isolation: str | None) -> None:
    replies = [call("act", {"how": how}) for how in ("plain", "slow", "late")][: 3 if "inline" in str(executor) else 1]
    outcomes = [run(api, replies, executor=executor, isolation=isolation) for api in APIS]
    assert outcomes[0] == outcomes[1]


def _rules(api: Any) -> list[Any]:
    decide = ours if api is ours else lynx.policy

    def raises(request: Any, context: Any) -> Any:
        raise KeyError("x")

    def asks_with_args(request: Any, context: Any) -> Any:
        return api.Decision(api.Verdict.APPROVE_REQUIRED, "r", (), ("a",), {"how": "other"}, 5)

    def transforms(request: Any, context: Any) -> Any:
        return decide.transform({**request.args, "value": "changed"})

    def transforms_nothing(request: Any, context: Any) -> Any:
        return api.Decision(api.Verdict.TRANSFORM)

    def denies_nested(request: Any, context: Any) -> Any:
        return decide.deny("deep") if request.args.get("x", [{}])[0].get("a") else None

    return [raises, asks_with_args, transforms, transforms_nothing, denies_nested]


@pytest.mark.parametrize("index", range(5))
def test_python_rules_lead_to_the_same_run(index: int) -> None:
    replies = [call("act", {"x": [{"a": 1}]})]
    outcomes = [run(api, replies, rules=(_rules(api)[index],), on_approval=_stranger) for api in APIS]
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("first", APIS)
@pytest.mark.parametrize("cut", range(1, 15))
def test_a_journal_of_one_is_taken_up_by_the_other(first: ModuleType, cut: int) -> None:
    second = ours if first is lynx else lynx
    calls = (("echo", "a", 1), ("deploy", "b", 0), ("query", "c", 7), ("missing", "d", 0))
    outcomes = []
    for taker in (first, second):
        script = Script(calls, approver="alice", journaled=True, deaths=(Death(cut, True),))
        shared: list[Any] = []

        class Handover:
            """`first` until the process dies, then `taker`."""

            def __init__(self, taker: ModuleType) -> None:
                self.attempt = 0
                self.taker = taker

            def __getattr__(self, name: str) -> Any:
                return getattr(first if self.attempt == 0 else self.taker, name)

            async def run_agent(self, *args: Any, **options: Any) -> Any:
                api = first if self.attempt == 0 else self.taker
                try:
                    return await api.run_agent(*args, **options)
                finally:
                    self.attempt += 1

        api: Any = Handover(taker)
        compilers = iter([first, taker])

        def compile_policy(text: str, compilers: Any = compilers) -> Any:
            api = next(compilers)
            return (ours if api is ours else lynx.policy).compile_policy(text)

        shared = play(api, script, compile_policy, ValueError)
        outcomes.append(comparable(shared))
    assert outcomes[0][1]["journal"] == outcomes[1][1]["journal"]
    assert outcomes[0][1]["events"] == outcomes[1][1]["events"]
    assert not any(kind == "run.bundle_changed" for _, kind, *_ in outcomes[1][1]["events"])


@pytest.mark.parametrize("verdict", ["ALLOW", "DENY", "DRY_RUN", "APPROVE_REQUIRED", "TRANSFORM"])
def test_mediate_does_the_same(verdict: str) -> None:
    results = []
    for api, mediate in ((ours, mediator.mediate), (lynx, lynx.core.mediator.mediate)):

        @api.tool()
        async def act(x: int) -> int:
            return x + 1

        decision = api.Decision(api.Verdict[verdict], "why", transform_args={"x": 9})
        context = api.ExecutionContext(api.Principal("user", "u"), "dev", ".", "c", 0, None)
        request = api.ActionRequest("act", {"x": 1}, act.__lynx_meta__.metadata, context)
        tools = api.ToolSet.from_functions(act)
        for handler in (api.auto_approve(), api.auto_deny("no")):
            found = asyncio.run(mediate(request, decision, tools, handler))
            results.append((api is ours, found.ok, found.value, found.error))
    assert [rest for mine, *rest in results if mine] == [rest for mine, *rest in results if not mine]


@pytest.mark.parametrize("answers", [["one", "two"], [None, "two"], ["one", None], [None, None]])
@pytest.mark.parametrize("journaled", [False, True])
def test_a_graph_runs_the_same_way(answers: list[str | None], journaled: bool) -> None:
    edges = "{from: a, to: b, when: {status: succeeded}}, {from: b, to: a, when: {status: failed}}"
    text = f"start: a\nmax_transitions: 3\nedges: [{edges}]"
    outcomes = []
    for api in APIS:
        events: list[Any] = []

        class Agent:
            def __init__(self, answer: str | None, api: Any) -> None:
                self.answer, self.api = answer, api

            async def step(self, conversation: Any) -> Any:
                if self.answer is None:
                    raise ValueError("down")
                return self.api.FinalAnswer(self.answer + conversation[0].content)

        class Stores:
            """One journal per run."""

            def __init__(self, api: Any) -> None:
                self.by_run: dict[str, list[Any]] = {}
                self.api = api

            async def append(self, record: Any) -> None:
                kept = self.by_run.setdefault(record.run_id, [])
                if any(r.seq == record.seq for r in kept):
                    raise self.api.DuplicateRecord
                kept.append(record)

            async def load(self, run_id: str) -> list[Any]:
                return self.by_run.get(run_id, [])

        async def sink(event: Any, events: list[Any] = events) -> None:
            events.append((event.kind, event.bundle_id, dict(event.body)))

        store = Stores(api)
        policy = (ours if api is ours else lynx.policy).compile_policy("rules: []")
        nodes = {
            name: api.GraphNode(Agent(answer, api), api.ToolSet(), policy)
            for name, answer in zip("ab", answers, strict=True)
        }
        options: dict[str, Any] = {"store": store, "run_id": "g"} if journaled else {}
        # A node that has failed is not run again here; lynx-agent runs it again.
        for _ in range(1 if None in answers and journaled else 2):
            result = asyncio.run(api.run_graph(nodes, "t", router=api.compile_graph(text), sinks=[sink], **options))
            path = [(o.node, o.denials, o.transitions, o.result.final_answer, o.result.error) for o in result.path]
            outcomes.append((api is ours, path, result.transitions, result.error, list(events), {
                run_id: [(r.seq, r.kind, dict(r.body)) for r in records] for run_id, records in store.by_run.items()
            }))  # fmt: skip
    mine = [comparable(rest) for first, *rest in outcomes if first]
    assert mine == [comparable(rest) for first, *rest in outcomes if not first]
