"""The door of the Claude Agent SDK: tools of Claude Code itself, its permissions, options that would open the gate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
)

from bobcat import Guard, Policy, auto_approve
from bobcat.decision_log import open_log
from bobcat.guards.claude_agent_sdk import guarded_options
from doors.adapter import Observed, Proposal
from doors.claude_agent_sdk.door import TIME, model, observe

POLICY = Policy.compile(r"""
rules:
  - {id: touch, match: {tool: Bash, args.command.matches: '^touch [a-z]+$'}, decision: allow}
  - {id: fail, match: {tool: Bash, args.command: "false"}, decision: allow}
  - id: rewrite
    match: {tool: Bash, args.command: touch old}
    decision: transform
    transform: {jsonpath: $.args.command, set: touch new}
    priority: 5
  - id: remove
    match: {tool: Bash, args.command.matches: '^rm [a-z]+$'}
    decision: approve_required
    approvers: [alice]
  - {id: write, match: {tool: Write, args.file_path.ends_with: .txt}, decision: allow}
  - {id: agent, match: {tool.in: [Task, Agent]}, decision: allow}
""")

ANY = Policy.compile("rules: [{id: any, match: {tool: Bash}, decision: allow}]")


def bash(command: str, name: str = "c1") -> Proposal:
    return Proposal(name, "Bash", {"command": command, "description": "x"})


class Session:
    """A session of Claude Code in a scratch directory."""

    def __init__(self, place: Path) -> None:
        self.place = place / "project"
        self.place.mkdir()
        self.log = place / "log.db"

    def run(
        self,
        *turns: list[Proposal],
        guard: dict[str, Any] | None = None,
        door: dict[str, Any] | None = None,
        change: Callable[[ClaudeAgentOptions], None] | None = None,
        **options: Any,
    ) -> Observed:
        """Run it; `change` is applied to the options after the guard."""

        async def main() -> Observed:
            observed = Observed()
            with model(turns) as environment:
                async with Guard(POLICY, log=self.log, **(guard or {})) as made:
                    env = {**environment, "HOME": str(self.place.parent)}
                    given = ClaudeAgentOptions(**{"cwd": str(self.place), "env": env, **options})
                    guarded = guarded_options(given, made, **(door or {}))
                    if change is not None:
                        change(guarded)
                    async with asyncio.timeout(TIME):
                        await observe(guarded, observed)
            return observed

        return asyncio.run(main())

    def files(self) -> list[str]:
        return sorted(path.name for path in self.place.iterdir() if not path.name.startswith("."))

    def statuses(self) -> list[str]:
        with open_log(self.log) as log:
            return sorted(each.status for each in log.records())


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_tools_of_claude_code_are_guarded(session: Session) -> None:
    write = Proposal("c4", "Write", {"file_path": str(session.place / "b.txt"), "content": "x"})
    stopped = Proposal("c5", "Write", {"file_path": str(session.place / "b.py"), "content": "x"})
    observed = session.run([bash("touch a"), bash("touch b; id", "c2"), bash("touch old", "c3")], [write, stopped])
    assert session.files() == ["a", "b.txt", "new"]
    assert observed.final == "done"
    assert "[denied]" in dict(observed.replies)["c2"]
    assert session.statuses() == ["denied", "denied", "ok", "ok", "ok"]


def test_a_command_that_fails_is_recorded_as_failed(session: Session) -> None:
    session.run([bash("false")])
    assert session.statuses() == ["failed"]


@pytest.mark.parametrize("granted", [True, False])
def test_can_use_tool_answers_approvals_in_the_name_of_the_approver(session: Session, granted: bool) -> None:
    (session.place / "a").touch()
    asked: list[Any] = []

    async def can_use_tool(tool: str, args: dict[str, Any], context: Any) -> Any:
        asked.append((tool, args["command"]))
        return PermissionResultAllow() if granted else PermissionResultDeny(message="keep it")

    observed = session.run([bash("rm a")], door={"approver": "alice"}, can_use_tool=can_use_tool)
    assert asked == [("Bash", "rm a")]
    assert session.files() == ([] if granted else ["a"])
    assert session.statuses() == (["ok"] if granted else ["denied"])
    assert granted or "keep it" in observed.replies[0][1]


def test_the_guards_handler_answers_without_an_approver(session: Session) -> None:
    (session.place / "a").touch()
    session.run([bash("rm a")], guard={"on_approval": auto_approve("alice")})
    assert session.files() == []


def test_a_permission_after_the_decision_cannot_change_the_call(session: Session) -> None:
    async def can_use_tool(tool: str, args: dict[str, Any], context: Any) -> Any:
        return PermissionResultAllow(updated_input={"command": "touch other", "description": "x"})

    def ask(options: ClaudeAgentOptions) -> None:
        """Let another hook have the question asked, in spite of the guard."""

        async def hook(*_: Any) -> Any:
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}

        assert options.hooks is not None
        options.hooks["PreToolUse"].append(HookMatcher(hooks=[hook]))

    session.run([bash("touch a")], can_use_tool=can_use_tool, change=ask)
    assert session.files() == []


def test_a_call_that_another_hook_changes_is_recorded_as_failed(session: Session) -> None:
    def rewrite(options: ClaudeAgentOptions) -> None:
        async def hook(*_: Any) -> Any:
            changed = {"command": "touch other", "description": "x"}
            return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": changed}}

        assert options.hooks is not None
        options.hooks["PreToolUse"].append(HookMatcher(hooks=[hook]))

    session.run([bash("touch a")], change=rewrite)
    assert (session.files(), session.statuses()) == (["other"], ["failed"])


@pytest.mark.parametrize("off", ["bare", "environment"])
def test_without_hooks_claude_code_refuses_the_tools(session: Session, off: str) -> None:
    def turn_off(options: ClaudeAgentOptions) -> None:
        if off == "bare":
            options.extra_args["bare"] = None
        else:
            options.env["CLAUDE_CODE_SIMPLE"] = "1"

    async def can_use_tool(*_: Any) -> Any:
        return PermissionResultAllow()

    write = Proposal("c2", "Write", {"file_path": str(session.place / "b.txt"), "content": "x"})
    session.run([bash("touch a"), write], can_use_tool=can_use_tool, change=turn_off)
    assert session.files() == []


def test_an_inherited_setting_does_not_turn_the_hooks_off(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SIMPLE", "1")
    session.run([bash("touch a"), bash("touch b; id", "c2")])
    assert session.files() == ["a"]
    assert session.statuses() == ["denied", "ok"]


def test_settings_of_the_project_do_not_permit_a_call(session: Session) -> None:
    settings = session.place / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(
        '{"permissions": {"allow": ["Bash"]}, "env": {"CLAUDE_CODE_SIMPLE": "1"}, "disableAllHooks": true}'
    )
    session.run([bash("touch b; id"), bash("touch a", "c2")])
    assert session.files() == ["a"]


def test_an_approval_that_takes_too_long_runs_nothing(session: Session) -> None:
    (session.place / "a").touch()

    async def slow(_: Any) -> Any:
        await asyncio.sleep(4)
        return await auto_approve("alice")(_)

    session.run([bash("rm a")], guard={"on_approval": slow}, door={"timeout_seconds": 1})
    assert session.files() == ["a"]
    assert "ok" not in session.statuses()


def test_a_call_that_claude_code_refuses_itself_is_uncertain(session: Session) -> None:
    session.run([bash("touch a")], settings='{"permissions": {"deny": ["Bash(touch:*)"]}}')
    assert session.files() == []
    assert session.statuses() == ["uncertain"]


def test_a_call_that_is_interrupted_is_uncertain(session: Session) -> None:
    async def main() -> None:
        with model([[bash("touch a && sleep 30")], [], []]) as environment:
            async with Guard(ANY, log=session.log) as guard:
                env = {**environment, "HOME": str(session.place.parent)}
                options = guarded_options(ClaudeAgentOptions(cwd=str(session.place), env=env), guard)
                async with asyncio.timeout(TIME), ClaudeSDKClient(options) as client:
                    await client.query("go")
                    for _ in range(400):
                        await asyncio.sleep(0.05 if session.files() != ["a"] else 0)
                    await client.interrupt()
                    async for _ in client.receive_response():
                        pass
                    await client.query("go on")
                    async for _ in client.receive_response():
                        pass

    asyncio.run(main())
    assert session.statuses() == ["uncertain"]


def test_tools_of_a_subagent_are_guarded(session: Session) -> None:
    agent = AgentDefinition(description="x", prompt="x", tools=["Bash"])
    task = {"description": "x", "prompt": "go", "subagent_type": "helper", "run_in_background": False}
    session.run([Proposal("t1", "Agent", task)], [bash("touch a")], [bash("touch b; id")], agents={"helper": agent})
    assert session.files() == ["a"]
    assert {"denied", "ok"} == set(session.statuses())


OPENINGS: list[tuple[dict[str, Any], str]] = [
    ({"allowed_tools": ["Bash"]}, "allowed_tools"),
    ({"permission_mode": "bypassPermissions"}, "bypassPermissions"),
    ({"permission_mode": "acceptEdits"}, "acceptEdits"),
    ({"agents": {"a": AgentDefinition("x", "x", permissionMode="bypassPermissions")}}, "bypassPermissions"),
    ({"permission_prompt_tool_name": "mcp__x__ask"}, "permission_prompt_tool_name"),
    ({"hooks": {"PreToolUse": [HookMatcher()]}}, "another PreToolUse hook"),
    ({"extra_args": {"bare": None}}, "--bare"),
    ({"extra_args": {"dangerously-skip-permissions": None}}, "--dangerously-skip-permissions"),
    ({"env": {"CLAUDE_CODE_SIMPLE": "1"}}, "CLAUDE_CODE_SIMPLE"),
    ({"setting_sources": ["user", "project"]}, "settings of a project"),
]


@pytest.mark.parametrize(("options", "text"), OPENINGS, ids=[text for _, text in OPENINGS])
def test_options_that_would_open_the_gate_are_refused(options: dict[str, Any], text: str) -> None:
    with Guard(POLICY) as guard, pytest.raises(ValueError, match=text):
        guarded_options(ClaudeAgentOptions(**options), guard)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="guard must be a Guard"):
        guarded_options(ClaudeAgentOptions(), None)  # type: ignore[arg-type]
    with Guard(POLICY) as guard, pytest.raises(ValueError, match="needs `can_use_tool`"):
        guarded_options(ClaudeAgentOptions(), guard, approver="alice")
