"""A candidate policy has no effect on submissions and runs, and its divergences are on record."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from bobcat import (
    ActionRequest,
    AuditEvent,
    Decision,
    ExecutionContext,
    FinalAnswer,
    Guard,
    Message,
    Policy,
    ToolCall,
    ToolSet,
    rule,
    run_agent,
    tool,
)
from bobcat.decision_log import open_log
from bobcat.distribution import ReloadingPolicy
from bobcat.server import create_app


@tool
async def write(path: str) -> str:
    """Write a file."""
    return f"wrote {path}"


def policy(*rules: str) -> Policy:
    rest = "  - {id: rest, match: {tool: write}, decision: allow, priority: -1}\n"
    return Policy.compile("rules:\n" + rest + "".join(f"  - {each}\n" for each in rules))


CHOICES = (
    "{id: no_etc, match: {tool: write, args.path.starts_with: '/etc'}, decision: deny}",
    "{id: no_tmp, match: {tool: write, args.path.starts_with: '/tmp'}, decision: deny}",
    "{id: show, priority: 9, match: {tool: write, args.path.ends_with: '.sh'}, decision: dry_run}",
)
policies = st.lists(st.sampled_from(CHOICES), unique=True, min_size=1).map(lambda rules: policy(*rules))


@given(policies, policies, st.sampled_from(["/etc/a", "/tmp/a", "/tmp/a.sh", "/b"]))
def test_a_candidate_changes_no_outcome(enforced: Policy, candidate: Policy, path: str) -> None:
    with Guard(enforced, [write]) as alone, Guard(enforced, [write], candidate=candidate) as beside:
        one, two = (each.submit_sync("write", {"path": path}).to_json() for each in (alone, beside))
    for each in (one, two):
        del each["record_id"], each["duration_ms"]
    assert one == two


def test_the_log_has_the_divergence(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with Guard(policy(CHOICES[0]), [write], candidate=policy(*CHOICES[:2]), log=path) as guard:
        assert guard.submit_sync("write", {"path": "/tmp/a"}).ok
        assert guard.submit_sync("write", {"path": "/b"}).ok
        assert guard.submit_sync("write", {"path": "/etc/a"}).status == "denied"
    with open_log(path) as log:
        (record,) = log.records(diverged=True)
    (found,) = record.body["diverged"]
    assert record.body["verdict"] == "allow"
    assert (found["kind"], found["verdict"], found["matched_rules"]) == ("tightened", "deny", ["no_tmp"])
    screen = subprocess.run(
        [sys.executable, "-m", "bobcat", "log", str(path), "--diverged"], capture_output=True, text=True, check=True
    ).stdout
    assert "tightened  allow -> deny  write(path): 1 decision" in screen
    assert "rest -> no_tmp" in screen


def test_a_run_sends_the_divergence_to_its_sinks_and_takes_no_notice() -> None:
    events: list[AuditEvent] = []

    async def sink(event: AuditEvent) -> None:
        events.append(event)

    class Writes:
        async def step(self, conversation: Sequence[Message], /) -> ToolCall | FinalAnswer:
            return FinalAnswer("done") if len(conversation) > 2 else ToolCall("write", {"path": "/tmp/a"})

    candidate = policy(CHOICES[1])
    tools = ToolSet.from_functions(write)
    for sinks in ((), (sink,)):
        result = asyncio.run(run_agent(Writes(), "t", tools=tools, policy=policy(), sinks=sinks, candidate=candidate))
        assert (result.final_answer, result.audit_gaps) == ("done", ())
    (event,) = [each for each in events if each.kind == "policy.diverged"]
    assert (event.body["verdict"], event.body["candidate"]["verdict"]) == ("allow", "deny")
    assert event.body["candidate"]["bundle_id"] == candidate.id


def test_a_candidate_that_fails_or_sleeps_is_an_error_and_holds_up_nothing(tmp_path: Path) -> None:
    def fails(request: ActionRequest, context: ExecutionContext) -> Decision | None:
        raise SystemExit(3)

    def sleeps(request: ActionRequest, context: ExecutionContext) -> Decision | None:
        time.sleep(60)
        return None

    for number, function in enumerate((fails, sleeps)):
        candidate = Policy.compile("rules: []", python_rules=[rule(function)], uncompiled="callable")
        path = tmp_path / f"{number}.db"
        began = time.monotonic()
        with Guard(policy(), [write], candidate=candidate, log=path) as guard:
            assert guard.submit_sync("write", {"path": "/b"}).ok
            assert guard.submit_sync("write", {"path": "/b"}).ok
        assert time.monotonic() - began < 30
        with open_log(path) as log:
            assert [each["kind"] for record in log.records() for each in record.body["diverged"]] == ["error"] * 2


def counting(most: int, rest: str = "") -> Policy:
    return Policy.compile(
        f"rules:\n  - {{id: few, match: {{tool: write, run.count.write.lt: {most}}}, decision: allow}}\n{rest}"
    )


def test_a_candidate_counts_what_the_policy_counts(tmp_path: Path) -> None:
    more = "  - {id: sent, match: {tool: send, run.count.send.lt: 3}, decision: allow}\n"
    for number, enforced in enumerate((counting(9), counting(9, more))):
        path = tmp_path / f"{number}.db"
        with Guard(enforced, [write], candidate=counting(2), log=path) as guard:
            for _ in range(4):
                assert guard.submit_sync("write", {"path": "/b"}).ok
        with open_log(path) as log:
            found = [[each["kind"] for each in record.body.get("diverged", ())] for record in log.records()]
            assert found == [[], [], ["tightened"], ["tightened"]]
            ids = {each["bundle_id"] for record in log.records() for each in record.body.get("diverged", ())}
        assert ids == {counting(2).id}


def test_a_candidate_that_remembers_otherwise_is_refused(tmp_path: Path) -> None:
    remembers = counting(2)
    with pytest.raises(ValueError, match="what the policy does not"):
        Guard(policy(), [write], candidate=remembers)
    within = Policy.compile("rules: [{match: {run.count: {of: {tool: write}, within: 1h, lt: 2}}, decision: allow}]")
    with pytest.raises(ValueError, match="what the policy does not"):
        Guard(counting(9), [write], candidate=within)
    policy().save(tmp_path / "a")
    with pytest.raises(ValueError, match="no state is kept here"):
        create_app(ReloadingPolicy(tmp_path / "a", trust=None, every=0), candidate=remembers)


def test_a_release_that_a_candidate_cannot_follow_decides_all_the_same(tmp_path: Path) -> None:
    counting(9).save(tmp_path / "a")
    followed = ReloadingPolicy(tmp_path / "a", trust=None, every=0)
    log = tmp_path / "log.db"
    with Guard(followed, [write], candidate=counting(1), log=log) as guard:
        assert guard.submit_sync("write", {"path": "/b"}).ok
        policy().save(tmp_path / "a")
        assert followed.refresh()
        assert guard.submit_sync("write", {"path": "/b"}).ok
        monitoring = (
            "rules:\n  - {match: {}, decision: allow}\n  - {match: {}, decision: deny, priority: 1, mode: monitor}"
        )
        Policy.compile(monitoring).save(tmp_path / "a")
        assert followed.refresh()
        assert guard.submit_sync("write", {"path": "/b"}).ok
    with open_log(log) as opened:
        kinds = [[each["kind"] for each in record.body.get("diverged", ())] for record in opened.records()]
    assert kinds == [[], ["error"], ["error"]]


def test_a_server_compares_a_candidate_and_the_monitored_rules_of_a_later_release(tmp_path: Path) -> None:
    policy().save(tmp_path / "a")
    source = ReloadingPolicy(tmp_path / "a", trust=None, every=0)
    client = TestClient(create_app(source, candidate=policy(*CHOICES)))
    call = json.dumps({"tool": "write", "args": {"path": "/etc/a"}})
    client.post("/v1/decide", content=call)
    policy("{id: watch, match: {args.path.starts_with: /etc}, decision: deny, mode: monitor}").save(tmp_path / "a")
    assert source.refresh()
    assert client.post("/v1/decide", content=call).json()["verdict"] == "allow"
    client.post("/v1/decide-many", content=f"{call}\n")
    shown = client.get("/v1/policy").json()
    assert (shown["candidate"]["decided"], shown["candidate"]["diverged"]) == (3, {"tightened": 3})
    assert (shown["monitored"]["decided"], shown["monitored"]["diverged"]) == (2, {"tightened": 2})


@pytest.mark.parametrize(
    ("enforced", "candidate", "kind"),
    [
        ("[{notify: boss}]", "[{notify: chief}]", "unclear"),
        ("[{notify: boss}]", "[{notify: boss, phase: before}]", "unclear"),
        ("[{tag: {a: x}}]", "[{tag: {a: x}}]", None),
        ("[{tag: {a: x}}]", "[{tag: {a: 'y'}}]", "unclear"),
    ],
)
@pytest.mark.parametrize("decision", ["allow", "approve_required"])
def test_other_obligations_are_a_divergence(
    tmp_path: Path, enforced: str, candidate: str, kind: str | None, decision: str
) -> None:
    def rule_of(duties: str) -> Policy:
        return Policy.compile(
            f"rules: [{{id: w, match: {{tool: write}}, decision: {decision}, obligations: {duties}}}]"
        )

    handlers = {"notify": lambda *_: None}
    options = {"log": tmp_path / "log.db", "obligations": handlers}
    with Guard(rule_of(enforced), [write], candidate=rule_of(candidate), **options) as guard:
        guard.submit_sync("write", {"path": "/b"})
    with open_log(tmp_path / "log.db") as log:
        (record,) = log.records()
    assert [each["kind"] for each in record.body.get("diverged", ())] == ([] if kind is None else [kind])


def test_other_objects_than_policies_are_refused() -> None:
    with pytest.raises(TypeError, match="candidate must be a Policy"):
        Guard(policy(), [write], candidate="x")  # type: ignore[arg-type]


def test_a_server_counts_divergences_and_answers_as_before(tmp_path: Path) -> None:
    policy().save(tmp_path / "a")
    policy(*CHOICES).save(tmp_path / "b")
    client = TestClient(
        create_app(ReloadingPolicy(tmp_path / "a", trust=None, every=0), candidate=Policy.load(tmp_path / "b"))
    )
    call = json.dumps({"tool": "write", "args": {"path": "/etc/a"}})
    assert client.post("/v1/decide", content=call).json()["verdict"] == "allow"
    assert client.post("/v1/decide-many", content=f"{call}\n{call}\n").status_code == 200
    shown = client.get("/v1/policy").json()["candidate"]
    assert (shown["decided"], shown["diverged"]) == (3, {"tightened": 3})
    assert shown["groups"][0]["count"] == 3
