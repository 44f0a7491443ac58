"""Layered policies of `bobcat.lynx` as lynx-agent 2.11: combiners, abstention, identity, and closed evaluators.

`test_lynx_2_11_itself.py` compares generated ones with lynx-agent.
"""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bobcat
from bobcat.errors import PolicyCompileError
from bobcat.lynx.core.policy import PolicyDefaults
from bobcat.lynx.core.policy import compile_policy as compile_of_2_5
from bobcat.lynx.v2_11 import (
    Decision,
    GraphNode,
    LayeredPolicyBundle,
    Obligation,
    PolicyLayer,
    ToolGuard,
    compile_policy,
    first_layer_wins,
    last_layer_wins,
    run_agent,
    run_graph,
    strict_overrides_loose,
    tool,
)
from bobcat.lynx.v2_11.combiners import STRICTNESS
from bobcat.lynx.v2_11.core.policy import evaluate
from bobcat.model.decision import ActionRequest, Verdict
from bobcat.model.run import FinalAnswer, Message, ToolCall
from bobcat.tools.toolset import ToolSet
from lynx_defects import call, context

ran: list[int] = []


@tool(scope=("a",))
async def act(n: int = 0) -> str:
    ran.append(n)
    return "acted"


TOOLS = ToolSet.from_functions(act)


def rules(verdict: str | None, name: str = "r", default: str = "deny") -> dict[str, Any]:
    """A policy that decides each call, or abstains."""
    written = [] if verdict is None else [{"id": name, "match": {}, "decision": verdict}]
    if verdict == "transform":
        written[0]["transform"] = {"set": 1, "jsonpath": "$.args.n"}
    return {"defaults": {"on_no_match": default, "on_missing_shadow": default}, "rules": written}


@cache
def layered(*verdicts: str | None, merge: Any = None) -> LayeredPolicyBundle:
    layers = [PolicyLayer(f"l{index}", rules(verdict)) for index, verdict in enumerate(verdicts)]
    bundle = compile_policy(layers, merge=merge)
    assert isinstance(bundle, LayeredPolicyBundle)
    return bundle


def decided(bundle: Any, request: ActionRequest | None = None) -> Decision:
    request = request or call()
    return evaluate(bundle, request, request.context)


VERDICTS = st.sampled_from([None, *(str(verdict) for verdict in STRICTNESS)])


@given(st.lists(VERDICTS, min_size=1, max_size=5))
def test_combiners_choose_among_the_layers_that_decide(verdicts: list[str | None]) -> None:
    present = [(index, verdict) for index, verdict in enumerate(verdicts) if verdict is not None]
    strict, first, last = (
        decided(layered(*verdicts, merge=merge)) for merge in (None, first_layer_wins, last_layer_wins)
    )
    if not present:
        assert {strict.matched_rules, first.matched_rules, last.matched_rules} == {("<default:on_no_match>",)}
        assert strict.verdict is Verdict.DENY
        return
    worst = max(present, key=lambda each: STRICTNESS.index(Verdict(each[1])))[1]
    assert strict.verdict == worst
    assert strict.matched_rules == tuple(f"l{index}:r" for index, verdict in present if verdict == worst)
    assert (first.verdict, first.matched_rules) == (present[0][1], (f"l{present[0][0]}:r",))
    assert (last.verdict, last.matched_rules) == (present[-1][1], (f"l{present[-1][0]}:r",))


@given(st.lists(VERDICTS, min_size=1, max_size=4), VERDICTS)
def test_another_layer_never_loosens_the_default_combiner(verdicts: list[str | None], more: str | None) -> None:
    before, after = decided(layered(*verdicts)), decided(layered(*verdicts, more))
    if before.matched_rules[0].startswith("<default"):
        return  # a layer that abstains has the same default here
    assert STRICTNESS.index(after.verdict) >= STRICTNESS.index(before.verdict)


@pytest.mark.parametrize(
    ("given_layers", "words"),
    [
        ([], "requires at least one PolicyLayer"),
        (["rules: []"], "expects a list of PolicyLayer"),
        ([PolicyLayer("", "rules: []")], "must be a non-empty string"),
        ([PolicyLayer(5, "rules: []")], "must be a non-empty string"),  # type: ignore[arg-type]
        ([PolicyLayer("a", "rules: []"), PolicyLayer("a", "rules: []")], "duplicate layer name: 'a'"),
        ([PolicyLayer("a", [PolicyLayer("b", "rules: []")])], "layer 'a' has layers of its own"),  # type: ignore[arg-type]
        ([PolicyLayer("a", "rules: [5]")], r"rules\[0\] must be a mapping"),
        (
            [PolicyLayer("a", {"rules": [{"id": "<default:on_no_match>", "match": {}, "decision": "deny"}]})],
            "the name of a default",
        ),
        (
            [PolicyLayer("a", {"rules": [{"id": "r", "match": {}, "decision": "deny", "obligations": "x"}]})],
            "obligations must be a list",
        ),
    ],
)
def test_malformed_layers_are_refused(given_layers: Any, words: str) -> None:
    with pytest.raises(PolicyCompileError, match=words):
        compile_policy(given_layers)


def test_arguments_of_the_other_kind_are_refused() -> None:
    with pytest.raises(PolicyCompileError, match="merge= is only valid"):
        compile_policy("rules: []", merge=first_layer_wins)
    with pytest.raises(PolicyCompileError, match="merge must be a function, got str"):
        compile_policy([PolicyLayer("a", "rules: []")], merge="strictest")  # type: ignore[arg-type]
    for options in ({"python_rules": (lambda r, c: None,)}, {"python_rule_priorities": (("a", 1),)}):
        with pytest.raises(PolicyCompileError, match="python_rules per layer"):
            compile_policy([PolicyLayer("a", "rules: []")], **options)  # type: ignore[arg-type]
    plain = compile_policy("rules: []")
    with pytest.raises(TypeError, match="layer 'a' must be a PolicyBundle, got str"):
        LayeredPolicyBundle("i", (("a", "rules: []"),), PolicyDefaults(), first_layer_wins)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="merge must be a function"):
        LayeredPolicyBundle("i", (("a", plain),), PolicyDefaults(), None)  # type: ignore[arg-type]


def broken(layers: Any) -> Decision:
    raise LookupError("no merge")


def not_a_decision(layers: Any) -> Any:
    return "allow"


def not_obligations(layers: Any) -> Any:
    return Decision(Verdict.ALLOW, obligations=("tell",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("merge", "error"), [(broken, LookupError), (not_a_decision, TypeError), (not_obligations, TypeError)]
)
def test_a_combiner_that_fails_raises_and_denies_in_runs_and_guards(
    merge: Callable[..., Any], error: type[Exception]
) -> None:
    bundle = layered("allow", merge=merge)
    with pytest.raises(error):
        decided(bundle)
    ran.clear()
    governed = asyncio.run(ToolGuard(tools=TOOLS, policy=bundle).check("act", {"n": 1}))
    assert (governed.decision.verdict, governed.allowed) == (Verdict.DENY, False)
    assert "could not be evaluated" in governed.decision.reason
    assert run(bundle).startswith("[denied]")
    assert not ran


class Agent:
    """Calls `act` once and answers with the last message."""

    def __init__(self) -> None:
        self.calls = [ToolCall("act", {"n": 7}, "c")]

    async def step(self, conversation: tuple[Message, ...]) -> Any:
        return self.calls.pop() if self.calls else FinalAnswer(conversation[-1].content)


def run(policy: Any, **options: Any) -> str:
    result = asyncio.run(run_agent(Agent(), "t", tools=TOOLS, policy=policy, **options))
    return result.final_answer or ""


def test_a_combiner_may_return_a_decision_of_2_5() -> None:
    bundle = layered("deny", merge=lambda layers: bobcat.allow("fine", ("mine",)))
    assert decided(bundle) == Decision(Verdict.ALLOW, "fine", ("mine",))


def test_runs_graphs_and_guards_decide_by_layers() -> None:
    ran.clear()
    assert run(layered("allow", None)) == "[ok] acted"
    assert run(layered("allow", "deny")).startswith("[denied]")
    assert run(layered("allow", "transform")) == "[ok] acted"
    assert ran == [7, 1]
    nodes = {"a": GraphNode(Agent(), TOOLS, layered("allow"))}
    result = asyncio.run(run_graph(nodes, "t", router=lambda outcome: None, start="a"))
    assert result.final is not None
    assert result.final.final_answer == "[ok] acted"
    call_of_guard = asyncio.run(ToolGuard(tools=TOOLS, policy=layered("allow", "deny")).check("act", {}))
    assert call_of_guard.decision.matched_rules == ("l1:r",)


def test_evaluators_that_know_no_layers_deny() -> None:
    bundle, request = layered("allow"), call("act")
    plain = bobcat.evaluate(bundle, request, request.context)
    assert plain.verdict is Verdict.DENY
    assert "with layers is evaluated by `bobcat.lynx`" in plain.reason
    assert bobcat.pdp.evaluate_many(bundle, [request])[0].verdict is Verdict.DENY
    assert bundle.explain(request).decision.verdict is Verdict.DENY
    ran.clear()
    result = asyncio.run(bobcat.run_agent(Agent(), "t", tools=TOOLS, policy=bundle))
    assert (result.final_answer or "").startswith("[denied]")
    old = asyncio.run(bobcat.lynx.core.scheduler.run_agent(Agent(), "t", tools=TOOLS, policy=bundle))
    assert (old.final_answer or "").startswith("[denied]")
    assert not ran
    with pytest.raises(ValueError, match="with layers cannot be saved as a bundle"):
        bundle.to_bytes()


def test_identity_is_that_of_the_layers_and_the_combiner() -> None:
    known = {
        bundle.id: bundle
        for bundle in (
            layered("allow"), layered("deny"), layered("allow", "deny"), layered("deny", "allow"),
            layered("allow", merge=last_layer_wins),
        )
    }  # fmt: skip
    assert len(known) == 5
    assert len({bundle.digest for bundle in known.values()}) == 5
    assert layered("allow") == layered("allow", merge=strict_overrides_loose)
    assert layered("allow") != layered("deny")
    assert len({*known.values(), layered("allow")}) == 5


def test_a_bundle_survives_pickling_and_copying() -> None:
    bundle = layered("approve_required", "allow", merge=first_layer_wins)
    for other in (pickle.loads(pickle.dumps(bundle)), copy.copy(bundle), copy.deepcopy(bundle)):
        assert (other.id, other.digest, other == bundle, type(other)) == (bundle.id, bundle.digest, True, type(bundle))
        assert decided(other) == decided(bundle)
        assert (other.merge, other.defaults, other.source_files) == (bundle.merge, bundle.defaults, bundle.source_files)


def test_layers_of_2_5_policies_can_be_combined() -> None:
    compiled = compile_of_2_5(rules("allow"))
    assert not isinstance(compiled, LayeredPolicyBundle)
    bundle = LayeredPolicyBundle("0" * 16, (("a", compiled), ("b", compiled)), PolicyDefaults(), first_layer_wins)
    assert bundle.id == "0" * 16
    assert decided(bundle).matched_rules == ("a:r",)


def test_equal_obligations_are_united_once() -> None:
    def layer(name: str, *items: Any) -> PolicyLayer:
        return PolicyLayer(name, {"rules": [{"id": "r", "match": {}, "decision": "deny", "obligations": list(items)}]})

    log = {"id": "log", "params": {"n": 1}}
    found = decided(compile_policy([layer("a", log, "tell"), layer("b", "tell", log, {"id": "log", "phase": "pre"})]))
    assert found.obligations == (Obligation("log", "post", {"n": 1}), Obligation("tell"), Obligation("log", "pre"))


def test_threads_share_a_bundle() -> None:
    def rule(request: Any, context: Any) -> Decision:
        return Decision(Verdict.ALLOW, str(context.step_seq), (), (), None, None, (Obligation(str(context.step_seq)),))

    bundle = compile_policy([PolicyLayer("a", "rules: []", (rule,)), PolicyLayer("b", rules("allow"))])

    def decide(number: int) -> bool:
        found = decided(bundle, call(at=context(step_seq=number)))
        return found.reason == str(number) == found.obligations[0].id and len(found.obligations) == 1

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(decide, range(400)))
