"""Obligations of `bobcat.lynx` as lynx-agent 2.11: what they refuse, when handlers run, and closed evaluators.

`test_lynx_2_11_itself.py` compares generated ones with lynx-agent.
"""

from __future__ import annotations

import asyncio
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat.errors import PolicyCompileError, PolicyWarning
from bobcat.lynx import auto_approve, auto_deny, jsonl_sink, shadow
from bobcat.lynx.v2_11 import (
    ActionResult,
    Decision,
    Obligation,
    ObligationOutcome,
    ToolGuard,
    allow,
    approve_required,
    compile_policy,
    deny,
    dry_run,
    load_policy_file,
    run_agent,
    tool,
    transform,
)
from bobcat.lynx.v2_11.core.mediator import mediate
from bobcat.lynx.v2_11.core.policy import evaluate
from bobcat.model.decision import Verdict
from bobcat.model.run import FinalAnswer, Message, ToolCall
from bobcat.tools.toolset import ToolSet
from lynx_defects import call

done: list[Any] = []


@tool(scope=("a",))
async def act(n: int = 0) -> str:
    done.append(("act", n))
    return "acted"


@shadow(act)
async def preview(n: int = 0) -> str:
    done.append(("preview", n))
    return "would act"


TOOLS = ToolSet.from_functions(act)
GATED = """
rules:
  - {id: r, match: {tool: act}, decision: allow, obligations: [{id: issue, phase: pre}, tell]}
"""


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    done.clear()


async def handle(duty: Obligation, request: Any, context: Any) -> None:
    done.append((duty.id, dict(request.args)))
    request.args["n"] = 99  # a copy


async def fail(duty: Obligation, request: Any, context: Any) -> None:
    raise OSError("away")


BOTH = {"issue": handle, "tell": handle}


class Agent:
    """Calls `act` with each number and answers with the last message."""

    def __init__(self, *numbers: int) -> None:
        self.calls = [ToolCall("act", {"n": number}, f"c{number}") for number in numbers]

    async def step(self, conversation: tuple[Message, ...]) -> Any:
        return self.calls.pop(0) if self.calls else FinalAnswer(conversation[-1].content.partition("\n")[0])


def run(policy: Any, *numbers: int, **options: Any) -> str:
    result = asyncio.run(run_agent(Agent(*(numbers or (1,))), "t", tools=TOOLS, policy=policy, **options))
    return result.final_answer or result.error or ""


def test_handlers_run_around_the_action_with_a_copy_of_the_arguments() -> None:
    assert run(compile_policy(GATED), 1, 2, obligations=BOTH) == "[ok] acted"
    assert done == [
        ("issue", {"n": 1}), ("act", 1), ("tell", {"n": 1}), ("issue", {"n": 2}), ("act", 2), ("tell", {"n": 2}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("registry", "why"),
    [
        (None, "no handler registered for obligation"),
        ({}, "no handler registered for obligation"),
        ({"tell": handle}, "no handler registered for obligation"),
        ({**BOTH, "issue": fail}, "OSError: away"),
        ({**BOTH, "issue": lambda *given: None}, "TypeError"),
    ],
)
def test_nothing_runs_without_its_pre_obligation(registry: Any, why: str) -> None:
    answer = run(compile_policy(GATED), obligations=registry)
    assert answer.startswith(f"[error] denied: pre-obligation 'issue' unfulfilled: {why}")
    assert not done


def test_a_registry_of_another_type_is_refused() -> None:
    for registry in ([handle], "tell", {"tell": "log"}, 5):
        with pytest.raises(TypeError, match="obligations must be a mapping of async functions by obligation"):
            run(compile_policy(GATED), obligations=registry)
        with pytest.raises(TypeError, match="obligations must be a mapping"):
            asyncio.run(mediate(call("act"), allow(), TOOLS, auto_deny("no"), obligations=registry))  # type: ignore[arg-type]


@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_a_denial_has_its_obligations_met_also_at_the_last_step(observed: bool, last: bool, tmp_path: Path) -> None:
    policy = compile_policy("rules: [{id: r, match: {}, decision: deny, reason: no, obligations: [tell]}]")
    budget = {"budget": bobcat.Budget(steps=1)} if last else {}
    with open(tmp_path / "log", "w", encoding="utf-8") as file:
        sinks = [jsonl_sink(file)] if observed else ()
        run(policy, obligations=BOTH, sinks=sinks, **budget)
    assert done == [("tell", {"n": 1})]


class Cancelled:
    """A kill switch that is thrown by the decision."""

    cancelled = False
    reason = "stop"


def test_a_cancelled_run_meets_no_obligation() -> None:
    switch = Cancelled()

    def rule(request: Any, context: Any) -> Decision:
        switch.cancelled = True
        return deny("no", obligations=(Obligation("tell"),))

    policy = compile_policy("rules: []", python_rules=(rule,))
    assert run(policy, obligations=BOTH, cancel=switch) == "cancelled: stop"
    assert not done


class Broken:
    """A required sink that fails at one kind of event."""

    required = True

    def __init__(self, kind: str) -> None:
        self.kind = kind

    async def __call__(self, event: Any) -> None:
        if event.kind == self.kind:
            raise OSError("disk full")


@pytest.mark.parametrize("phase", ["pre", "post"])
def test_cancelling_a_task_cancels_its_handler(phase: str) -> None:
    begun: list[asyncio.Event] = []

    async def endless(duty: Obligation, request: Any, context: Any) -> None:
        done.append(duty.id)
        begun[-1].set()
        await asyncio.sleep(60)

    async def call_off(action: Any) -> None:
        begun.append(asyncio.Event())
        task = asyncio.create_task(action)
        await begun[-1].wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    item = {"id": "tell", "phase": phase}
    policy = compile_policy({"rules": [{"id": "r", "match": {}, "decision": "allow", "obligations": [item]}]})
    for action in (
        run_agent(Agent(1), "t", tools=TOOLS, policy=policy, obligations={"tell": endless}),
        mediate(call("act"), policy.evaluate(call("act")), TOOLS, auto_deny("no"), obligations={"tell": endless}),
    ):
        done.clear()
        asyncio.run(call_off(action))
        assert done == (["tell"] if phase == "pre" else [done[0], "tell"])


def test_a_handler_that_is_cancelled_by_itself_has_failed() -> None:
    async def gives_up(duty: Obligation, request: Any, context: Any) -> None:
        raise asyncio.CancelledError

    for handler in (gives_up, exits):
        answer = run(compile_policy(GATED), obligations={**BOTH, "issue": handler})
        assert answer.startswith("[error] denied: pre-obligation 'issue' unfulfilled")
    assert not done


async def exits(duty: Obligation, request: Any, context: Any) -> None:
    raise SystemExit(3)


def test_arguments_of_the_wrong_type_are_named() -> None:
    for policy in (3, "rules: []", None, {"rules": []}):
        with pytest.raises(TypeError, match="policy must be a Policy"):
            run(policy)


@pytest.mark.parametrize("kind", ["policy.evaluated", "action.started", "obligation.required"])
def test_nothing_runs_once_a_required_sink_has_failed(kind: str) -> None:
    run(compile_policy(GATED), obligations=BOTH, sinks=[Broken(kind)])
    assert not [each for each in done if each[0] == "act"]
    assert kind == "policy.evaluated" or not done


def test_approvers_and_guards_see_obligations() -> None:
    seen: list[Any] = []

    async def approve(asked: Any) -> Any:
        seen.append(asked.decision.obligations)
        return bobcat.ApprovalDecision(True, "ops")

    text = "rules: [{id: r, match: {}, decision: approve_required%s}]"
    assert run(compile_policy(text % ""), on_approval=approve) == "[ok] acted"
    assert run(compile_policy(text % ", obligations: [tell]"), on_approval=approve, obligations=BOTH) == "[ok] acted"
    assert seen == [(), (Obligation("tell"),)]
    guarded = asyncio.run(ToolGuard(tools=TOOLS, policy=compile_policy(GATED)).check("act", {"n": 1}))
    assert not guarded.allowed
    assert [each.id for each in guarded.decision.obligations] == ["issue", "tell"]
    assert guarded.result.obligations == (
        ObligationOutcome("issue", "pre", False, "no handler registered for obligation"),
    )
    denied = asyncio.run(ToolGuard(tools=TOOLS, policy=compile_policy("rules: []")).check("nothing", {}))
    assert (denied.decision.obligations, denied.result.obligations) == ((), ())


def rule(request: Any, context: Any) -> Decision:
    return allow("of a rule", obligations=(Obligation("issue", "pre"),))


@pytest.mark.parametrize(
    "policy", [compile_policy(GATED), compile_policy("rules: []", python_rules=(rule,))], ids=["declared", "python"]
)
def test_evaluators_that_know_no_obligations_deny(policy: Any, tmp_path: Path) -> None:
    request = call("act")
    assert evaluate(policy, request, request.context).verdict is Verdict.ALLOW
    for found in (bobcat.evaluate(policy, request, request.context), policy.explain(request).decision):
        assert found.verdict is Verdict.DENY
        assert "only" in found.reason
    result = asyncio.run(bobcat.run_agent(Agent(1), "t", tools=TOOLS, policy=policy))
    assert (result.final_answer or "").startswith("[denied]")
    old = asyncio.run(bobcat.lynx.core.scheduler.run_agent(Agent(1), "t", tools=TOOLS, policy=policy))
    assert (old.final_answer or "").startswith("[denied]")
    assert asyncio.run(bobcat.Guard(policy, tools=TOOLS).submit("act", {"n": 1})).status == "denied"
    assert not done


def test_a_policy_with_obligations_is_pickled_and_not_saved(tmp_path: Path) -> None:
    policy = compile_policy(GATED, python_rules=(rule,))
    other = pickle.loads(pickle.dumps(policy))
    assert (other.id, other.digest, other) == (policy.id, policy.digest, policy)
    assert run(other).startswith("[error] denied: pre-obligation")
    assert [each.id for each in other.rules[0].decision_factory(call(), call().context).obligations] == [
        "issue",
        "tell",
    ]
    assert (other.python_rules, other.eval_order) == ((("rule", 0, rule),), (("r", 0), ("rule", 0)))
    assert (other.defaults, other.version, other.source_files) == (policy.defaults, 1, ("<inline>",))
    with pytest.raises(ValueError, match="with obligations cannot be saved"):
        policy.save(tmp_path / "p.bundle")
    assert not list(tmp_path.iterdir())
    again = pickle.loads(pickle.dumps(compile_policy("rules: []", python_rules=(rule,))))
    assert evaluate(again, call(), call().context).obligations == (Obligation("issue", "pre"),)


def test_digests_and_ids_depend_on_obligations() -> None:
    changes = [
        ("tell", "tell"), ("tell", "told"), ("phase: pre", "phase: post"), ("phase: pre", "phase: pre, params: {n: 1}"),
        (", obligations: [{id: issue, phase: pre}, tell]", ""),
    ]  # fmt: skip
    texts = [GATED.replace(old, new) for old, new in changes]
    policies = [compile_policy(text) for text in texts]
    assert len({policy.id for policy in policies}) == len({policy.digest for policy in policies}) == 5
    assert compile_policy(GATED) == policies[0]


@pytest.mark.parametrize(
    "key", ["obligations", '"obligations"', '"\\x6fbligations"', '"obl\\u0069gations"', '"obl\\\n    igations"']
)
def test_no_spelling_of_the_key_drops_obligations(key: str, tmp_path: Path) -> None:
    text = f"rules:\n  - id: r\n    match: {{}}\n    decision: allow\n    ? {key}\n    : [{{id: issue, phase: pre}}]\n"
    path = tmp_path / "p.yaml"
    path.write_text(text, encoding="utf-8")
    for policy in (compile_policy(text), load_policy_file(path)):
        assert run(policy).startswith("[error] denied: pre-obligation")
        assert policy.id == compile_policy({"rules": [{"id": "r", "match": {}, "decision": "allow",
            "obligations": [{"id": "issue", "phase": "pre"}]}]}).id  # fmt: skip


@pytest.mark.parametrize(
    ("obligations", "words"),
    [
        ("tell", "obligations must be a list, got str"),
        ({"id": "tell"}, "obligations must be a list, got dict"),
        ([""], r"obligations\[0\] needs a non-empty string 'id'"),
        (["a", 5], r"obligations\[1\] must be a string id or a mapping, got int"),
        ([{"id": 5}], "needs a non-empty string 'id'"),
        ([{"id": "a", "phase": "before"}], "phase must be 'pre' or 'post', got 'before'"),
        ([{"id": "a", "phase": ["pre"]}], "phase must be 'pre' or 'post'"),
        ([{"id": "a", "params": [1]}], "params must be a mapping, got list"),
    ],
)
def test_malformed_obligations_are_refused(obligations: Any, words: str) -> None:
    with pytest.raises(PolicyCompileError, match=f"Rule 'r': .*{words}|Rule 'r': {words}"):
        compile_policy({"rules": [{"id": "r", "match": {}, "decision": "deny", "obligations": obligations}]})


def test_rules_with_obligations_have_names_of_their_own() -> None:
    def policy(first: str, second: str, *, other: str = "tell") -> Any:
        return {"rules": [
            {"id": first, "match": {}, "decision": "allow", "obligations": ["tell"]},
            {"id": second, "match": {}, "decision": "allow", "obligations": [other]},
        ]}  # fmt: skip

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        assert evaluate(compile_policy(policy("r", "r")), call(), call().context).obligations == (Obligation("tell"),)
        with pytest.raises(PolicyCompileError, match="two rules have this id and different obligations"):
            compile_policy(policy("r", "r", other="log"))
        with pytest.raises(PolicyCompileError, match="this is the name of a default"):
            compile_policy(policy("r", "<default:on_missing_shadow>"))


def test_a_misspelled_key_of_an_obligation_warns() -> None:
    item = {"id": "tell", "pahse": "pre"}
    with pytest.warns(PolicyWarning, match=r"W0202: Rule 'r': obligations\[0\]: unused `pahse`"):
        compile_policy({"rules": [{"id": "r", "match": {}, "decision": "deny", "obligations": [item]}]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_policy(GATED)
    with pytest.raises(ValueError, match="must be 'pre' or 'post', got 'before'"):
        Obligation("tell", "before")  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["tell", ("tell",), 5, None, [{"id": "tell"}]])
def test_a_python_rule_with_malformed_obligations_denies(given: Any) -> None:
    def careless(request: Any, context: Any) -> Decision:
        return allow(obligations=given)

    policy = compile_policy("rules: [{id: r, match: {}, decision: allow, priority: -1}]", python_rules=(careless,))
    found = evaluate(policy, call(), call().context)
    assert (found.verdict, found.matched_rules) == (Verdict.DENY, ("careless",))
    assert run(policy).startswith("[denied]")
    with pytest.raises(TypeError, match="the obligations of a decision must be a tuple of Obligation"):
        asyncio.run(mediate(call("act"), allow(obligations=given), TOOLS, auto_deny("no")))


DUTIES = (Obligation("issue", "pre"), Obligation("tell"))


@pytest.mark.parametrize(
    ("decision", "names"),
    [
        (allow("r", (), DUTIES), ["issue", "act", "tell"]),
        (deny("r", (), DUTIES), ["issue", "tell"]),
        (dry_run("r", (), DUTIES), ["issue", "preview", "tell"]),
        (approve_required((), 30, "r", (), DUTIES), ["issue", "act", "tell"]),
        (transform({"n": 5}, "r", (), DUTIES), ["issue", "act", "tell"]),
        (replace(transform({"n": 5}, "r", (), DUTIES), transform_args=None), []),
    ],
)
def test_every_verdict_has_obligations(decision: Decision, names: Sequence[str]) -> None:
    result = asyncio.run(mediate(call("act"), decision, TOOLS, auto_approve("ops"), obligations=BOTH))
    assert [each[0] for each in done] == names
    assert isinstance(result, ActionResult)
    assert [each.id for each in result.obligations] == [each for each in names if each in BOTH]
    assert pickle.loads(pickle.dumps((decision, result))) == (decision, result)


def test_a_quorum_is_kept() -> None:
    """lynx-agent has single approvals: a rule that asks for more in Bobcat's words gets more."""
    asked = bobcat.approve_required(("a", "b"), approvals_needed=2)
    policy = compile_policy("rules: []", python_rules=(lambda request, context: asked,))
    found = evaluate(policy, call(), call().context)
    assert (found.approvals_needed, replace(found, reason="x").approvals_needed) == (2, 2)
