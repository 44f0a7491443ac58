"""`narrow_with`: one run, or one guard, under a policy that can only be stricter, and the options of the commands."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat import FinalAnswer, Guard, Policy, ToolCall, ToolSet, run_agent, tool
from bobcat.bundle.sign import public_key
from bobcat.decision_log import open_log
from bobcat.distribution import ReloadingPolicy
from bobcat.errors import BundleError
from unit.cli_runner import Run, runner

OPEN = "defaults: {on_no_match: allow, on_missing_shadow: allow}\n"
POLICY = (
    "rules:\n- {id: read, match: {tool: read}, decision: allow}\n- {id: pay, match: {tool: pay}, decision: allow}\n"
)
TASK = "rules: [{id: only-read, match: {tool: read}, decision: allow}]\n"
OTHER = "rules: [{id: pay, match: {tool: pay}, decision: allow}]\n"
KEY, OTHER_KEY = "11" * 32, "22" * 32


@tool
async def read(path: str) -> str:
    """Read a file."""
    return path


@tool
async def pay(path: str) -> str:
    """Pay a bill."""
    return path


class Caller:
    """An agent that calls each tool once."""

    def __init__(self) -> None:
        self.replies: list[Any] = [ToolCall("read", {"path": "a"}), ToolCall("pay", {"path": "a"}), FinalAnswer("done")]

    async def step(self, conversation: Any) -> Any:
        return self.replies.pop(0)


class Seen:
    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    async def __call__(self, event: Any) -> None:
        self.events.append((event.kind, event.body))

    def bodies(self, kind: str) -> list[Any]:
        return [body for name, body in self.events if name == kind]


def run_narrowed(policy: Any, task: Any, **options: Any) -> Seen:
    seen = Seen()
    tools = ToolSet.from_functions(read, pay)
    result = asyncio.run(
        run_agent(Caller(), "work", tools=tools, policy=policy, narrow_with=task, sinks=[seen], **options)
    )
    assert result.final_answer == "done", result.error
    return seen


def test_a_run_is_narrowed() -> None:
    seen = run_narrowed(Policy.compile(POLICY), Policy.compile(TASK))
    decided = [(body["verdict"], tuple(body["matched_rules"])) for body in seen.bodies("policy.evaluated")]
    assert decided == [
        ("allow", ("policy:read",)),
        ("deny", ("run:<default:on_no_match>",)),
    ]


def test_a_narrowing_policy_permits_nothing_that_the_policy_does_not() -> None:
    seen = run_narrowed(Policy.compile(TASK), Policy.compile(f"{OPEN}rules: []"))
    assert [body["verdict"] for body in seen.bodies("policy.evaluated")] == ["allow", "deny"]


def test_a_candidate_is_narrowed_too() -> None:
    policy = Policy.compile(POLICY)
    assert run_narrowed(policy, Policy.compile(TASK), candidate=policy).bodies("policy.diverged") == []
    (found,) = run_narrowed(policy, Policy.compile(TASK), candidate=Policy.compile(OTHER)).bodies("policy.diverged")
    assert (found["kind"], found["candidate"]["verdict"]) == ("tightened", "deny")


def test_a_guard_narrows_each_release_of_a_policy_that_it_follows(tmp_path: Path) -> None:
    Policy.compile(POLICY).save(tmp_path / "policy.bundle")
    followed = ReloadingPolicy(tmp_path / "policy.bundle", trust=None, every=0)
    with Guard(followed, [read, pay], narrow_with=Policy.compile(TASK), log=tmp_path / "log.db") as guard:
        assert guard.submit_sync("read", {"path": "a"}).ok
        assert guard.submit_sync("pay", {"path": "a"}).status == "denied"
        Policy.compile(OTHER).save(tmp_path / "policy.bundle")
        assert followed.refresh()
        assert guard.submit_sync("read", {"path": "a"}).status == "denied"
        assert guard.submit_sync("pay", {"path": "a"}).status == "denied"
    with open_log(tmp_path / "log.db") as log:
        records = list(log.records())
    assert [tuple(each.body["matched_rules"])[-1] for each in records] == [
        "policy:read",
        "run:<default:on_no_match>",
        "policy:<default:on_no_match>",
        "run:<default:on_no_match>",
    ]
    assert len({each.body["bundle_id"] for each in records}) == 2


def test_what_cannot_be_a_layer_is_refused_at_once() -> None:
    policy = Policy.compile(POLICY)
    with pytest.raises(TypeError, match="narrow_with must be a Policy, got str"):
        Guard(policy, narrow_with="task.yaml")  # type: ignore[arg-type]
    with pytest.raises(BundleError) as caught:
        Guard(policy, narrow_with=Policy.compile({"rules": []}, profile="lynx"))
    assert caught.value.code == "bad_layers"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    Path("policy.yaml").write_text(POLICY)
    Path("task.yaml").write_text(TASK)
    Path("bad.yaml").write_text("rules: [{id: x}]")
    Path("narrowed_tools.py").write_text(
        "from bobcat import tool\n\n"
        "@tool\nasync def pay(path: str) -> str:\n    '''Pay.'''\n    return path\n\nTOOLS = [pay]\n"
    )
    return runner(capsys, monkeypatch)


def test_commands_narrow_their_policy(run: Run) -> None:
    call = ("policy.yaml", "--tool", "pay", "--format", "json")
    assert run("eval", *call).json()["verdict"] == "allow"
    assert run("eval", *call, "--narrow-with", "task.yaml").json()["verdict"] == "approve_required"
    shown = run("explain", *call, "--narrow-with", "task.yaml").json()
    assert [rule["id"] for rule in shown["rules"]] == ["policy:read", "policy:pay", "run:only-read"]
    submitted = ("submit", "policy.yaml", "--tools", "narrowed_tools:TOOLS", "--tool", "pay", "--args", '{"path": "a"}')
    assert run(*submitted).code == 0
    assert run(*submitted, "--narrow-with", "task.yaml").code == 4
    done = run("compile", "policy.yaml", "--narrow-with", "task.yaml", "-o", "narrow.bobcat", "--format", "json")
    assert [layer["name"] for layer in done.json()["layers"]] == ["policy", "run"]
    assert run("eval", "narrow.bobcat", "--tool", "pay", "--format", "json").json()["verdict"] == "approve_required"


def test_run_gives_a_script_the_policy_that_narrows(run: Run) -> None:
    Path("agent.py").write_text(
        "from pathlib import Path\nfrom bobcat import Policy, Request\n\nasync def main(narrow_with=None):\n"
        "    policy = Policy.compile(Path('policy.yaml')).narrow_with(narrow_with)\n"
        "    print(policy.evaluate(Request('pay', {})).matched_rules)\n"
    )
    done = run("run", "--narrow-with", "task.yaml", "agent.py")
    assert (done.code, done.out) == (0, "('run:<default:on_missing_shadow>',)\n")
    Path("agent.py").write_text("async def main():\n    print('ran')\n")
    done = run("run", "--narrow-with", "task.yaml", "agent.py")
    assert (done.code, done.out) == (1, "")
    assert "`--narrow-with` needs a parameter: `async def main(narrow_with)`" in done.err


@pytest.mark.parametrize(
    ("file", "code", "message"),
    [
        ("missing.yaml", 3, "cannot read `missing.yaml`"),
        ("bad.yaml", 1, "`decision`"),
        ("narrow.bobcat", 3, "`--narrow-with`: the layer `run` has layers itself"),
    ],
)
def test_a_bad_narrowing_policy_ends_the_command(run: Run, file: str, code: int, message: str) -> None:
    run("compile", "policy.yaml", "--narrow-with", "task.yaml", "-o", "narrow.bobcat")
    done = run("eval", "policy.yaml", "--tool", "read", "--narrow-with", file)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_two_policies_cannot_both_be_standard_input(run: Run) -> None:
    done = run("eval", "-", "--tool", "read", "--narrow-with", "-", stdin=POLICY)
    assert (done.code, "cannot both be `-`" in done.err) == (2, True)


def test_keys_of_layers_are_conditions_of_every_command_that_loads_a_bundle(run: Run, tmp_path: Path) -> None:
    Path("key").write_text(KEY)
    assert run("compile", "policy.yaml", "-o", "org.bobcat", "--sign-key", "key").code == 0
    layers = ("--layer", "org=org.bobcat", "--layer", "team=task.yaml")
    assert run("compile", *layers, "-o", "all.bobcat").code == 0
    good, other = f"org={public_key(KEY)}", f"org={public_key(OTHER_KEY)}"
    for words in (
        ("eval", "all.bobcat", "--tool", "read"),
        ("explain", "all.bobcat", "--tool", "read"),
        ("inspect", "all.bobcat"),
        ("bundle-id", "all.bobcat"),
    ):
        assert run(*words, "--layer-key", good).code == 0
        assert run(*words, "--layer-key", other, "--layer-key", good).code == 0
        for key, message in (
            (other, "unsigned"),
            (f"team={public_key(KEY)}", "unsigned"),
            (f"run={public_key(KEY)}", "bad_layers"),
            ("org=12", "bad_key"),
        ):
            done = run(*words, "--layer-key", key)
            assert (done.code, done.out, message in done.err) == (3, "", True), done.err
        assert run(*words, "--layer-key", "org").code == 2
    done = run("eval", "policy.yaml", "--tool", "read", "--layer-key", good)
    assert (done.code, "`--layer-key` needs a bundle" in done.err) == (3, True)


def test_a_policy_that_follows_a_source_checks_the_keys_of_its_layers(tmp_path: Path) -> None:
    signed = Policy.load(Policy.compile(POLICY).to_bytes(private_key=KEY))
    place = tmp_path / "policy.bundle"
    Policy.layered({"org": signed}).save(place)
    keys = {"org": [public_key(KEY)]}
    followed = ReloadingPolicy(place, trust=None, every=0, layer_keys=keys)
    before = followed.current
    Policy.layered({"org": Policy.compile(TASK)}).save(place)
    assert not followed.refresh()
    problem = followed.status().problem
    assert (followed.current, problem is not None and problem.code) == (before, "unsigned")
    with pytest.raises(BundleError) as caught:
        ReloadingPolicy(place, trust=None, every=0, layer_keys=keys)
    assert caught.value.code == "unsigned"
