"""The five verdicts, from the proposal to the model's message."""

from __future__ import annotations

from datetime import UTC

from bobcat import FinalAnswer, auto_approve
from kernel.scripted import call, seen

LIFE = ["run.started"]
END = ["run.succeeded"]


def test_an_allowed_call_runs_and_its_result_reaches_the_model() -> None:
    run = seen(call("echo", text="hi", times=2))
    assert run.ran == [("echo", {"text": "hi", "times": 2})]
    assert run.tool_messages == ["[ok] hihi"]
    assert run.kinds == [
        *LIFE, "step.proposed", "policy.evaluated", "action.started", "action.completed", *END,
    ]  # fmt: skip
    (decided,) = run.bodies("policy.evaluated")
    assert (decided["verdict"], decided["reason"], decided["matched_rules"]) == ("allow", "harmless", ["echo"])
    assert (decided["seq"], decided["tool"], decided["args"]) == (0, "echo", {"text": "hi", "times": 2})
    assert run.result.final_answer == "done"
    assert run.result.steps_taken == 1


def test_a_denied_call_does_not_run_and_the_model_sees_the_reason() -> None:
    run = seen(call("echo", text="force"))
    assert run.ran == []
    assert run.tool_messages == ["[denied] not like this"]
    assert run.kinds == [*LIFE, "step.proposed", "policy.evaluated", "action.started", "action.denied", *END]
    assert run.bodies("action.denied") == [{"seq": 0, "reason": "denied: not like this"}]


def test_a_dry_run_calls_the_shadow_and_not_the_tool() -> None:
    run = seen(call("delete", path="notes/x"))
    assert run.ran == []
    assert run.tool_messages == ["[dry_run] {'dry_run': True, 'preview': 'would delete notes/x'}"]
    assert run.kinds == [
        *LIFE, "step.proposed", "policy.evaluated", "action.dry_run", "action.dry_run_completed", *END,
    ]  # fmt: skip


def test_a_granted_approval_is_announced_before_the_action_runs() -> None:
    run = seen(call("deploy", version="1"), on_approval=auto_approve("alice"))
    assert run.ran == [("deploy", {"version": "1"})]
    assert run.tool_messages == ["[ok] deployed 1"]
    assert run.kinds == [
        *LIFE, "step.proposed", "policy.evaluated", "action.started", "approval.requested", "approval.granted",
        "action.completed", *END,
    ]  # fmt: skip
    assert run.bodies("approval.requested") == [{"seq": 0, "approvers": ["alice", "oncall"]}]


def test_a_refused_approval_does_not_run_the_action() -> None:
    run = seen(call("deploy", version="1"))
    assert run.ran == []
    assert run.tool_messages == ["[denied] approval refused by system — no on_approval handler configured"]
    assert run.kinds[-4:-1] == ["approval.requested", "approval.denied", "action.denied"]


def test_a_transform_runs_with_the_new_arguments_and_the_audit_shows_them() -> None:
    run = seen(call("query", text="SELECT 1"))
    assert run.ran == [("query", {"text": "SELECT 1 LIMIT 1"})]
    assert run.bodies("step.proposed")[0]["args"] == {"text": "SELECT 1"}
    assert run.bodies("policy.evaluated")[0]["args"] == {"text": "SELECT 1 LIMIT 1"}
    assert run.bodies("action.started")[0]["args"] == {"text": "SELECT 1 LIMIT 1"}


def test_defaults_of_the_signature_are_part_of_what_is_evaluated_and_audited() -> None:
    policy = "rules: [{id: once, match: {tool: echo, args.times: 1}, decision: allow}]"
    run = seen(call("echo", text="a"), policy=policy)
    assert run.tool_messages == ["[ok] a"]
    assert run.bodies("policy.evaluated")[0]["args"] == {"text": "a", "times": 1}


def test_an_unknown_tool_and_unknown_or_missing_arguments_are_refused_before_the_policy() -> None:
    run = seen(call("nope", a=1), call("echo", txt="a"), call("echo"))
    assert run.tool_messages == [
        "[error] unknown tool: 'nope'",
        "[error] unknown argument `txt` for tool 'echo'; it takes `text`, `times`",
        "[error] missing argument `text` for tool 'echo'",
    ]
    decided = [(body["verdict"], body["tool"], body["code"]) for body in run.bodies("policy.evaluated")]
    assert [(verdict, name) for verdict, name, _ in decided] == [("deny", "nope"), ("deny", "echo"), ("deny", "echo")]
    assert decided[0][2] == "unknown_tool"
    assert run.ran == []


def test_several_calls_of_one_reply_run_in_order_as_steps_of_their_own() -> None:
    run = seen([call("echo", text="a"), call("echo", text="force"), call("query", text="b")])
    assert [name for name, _ in run.ran] == ["echo", "query"]
    assert run.tool_messages == ["[ok] a", "[denied] not like this", "[ok] b LIMIT 1"]
    assert [body["seq"] for body in run.bodies("step.proposed")] == [0, 1, 2]
    assert run.result.steps_taken == 3
    roles = [message.role for message in run.agent.seen[-1]]
    assert roles == ["user", "assistant", "assistant", "assistant", "tool", "tool", "tool"]
    ids = [message.tool_call_id for message in run.agent.seen[-1]][1:]
    assert ids == ["step_0", "step_1", "step_2"] * 2


def test_the_conversation_pairs_each_call_with_its_answer() -> None:
    run = seen(call("echo", text="a"))
    question, answer = run.agent.seen[-1][1:]
    assert (question.role, question.content, question.name, question.tool_call_id) == (
        "assistant",
        "",
        "echo",
        "step_0",
    )
    assert question.tool_call_args == {"text": "a"}
    assert (answer.role, answer.name, answer.tool_call_id) == ("tool", "echo", "step_0")


def test_events_are_numbered_and_stamped_with_aware_times() -> None:
    run = seen(call("echo", text="a"), FinalAnswer("bye"), correlation_id="c-1")
    assert [event.seq for event in run.events] == list(range(len(run.events)))
    assert {event.correlation_id for event in run.events} == {"c-1"}
    assert all(event.timestamp.tzinfo is UTC for event in run.events)
    assert run.result.final_answer == "bye"
    assert len({event.bundle_id for event in run.events} | {run.result.bundle_id}) == 1
