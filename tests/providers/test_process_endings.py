"""The end of programs: cancellation, fork bombs, supervisors and servers that are used again, killed and ended."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from pathlib import Path

import pytest

from bobcat import CancelToken, ToolCall, compile_policy, run_agent
from bobcat.providers import processes
from bobcat.providers.process import cgroup, client
from bobcat.providers.process.server import MAX_IDLE
from providers.escapes_processes import ALL
from providers.process_site import Site, call, site


def test_a_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    async def cancel(made: Site) -> None:
        tools = made.tools("none")
        running = asyncio.ensure_future(
            tools.get("proc.run").fn("sh", ["-c", "trap '' TERM; setsid sleep 60 & sleep 60"])
        )
        while len(made.left()) < 3:  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert made.left() == []

    with site(tmp_path) as made:
        asyncio.run(cancel(made))


def test_the_kill_switch_ends_a_program(tmp_path: Path) -> None:
    class Sleeps:
        async def step(self, conversation: object) -> ToolCall:
            return ToolCall("proc.run", {"program": "sleep", "argv": ["60"]}, "1")

    switch = CancelToken()
    with site(tmp_path) as made:
        threading.Timer(0.5, switch.cancel).start()
        began = time.monotonic()
        result = asyncio.run(
            run_agent(Sleeps(), "go", tools=made.tools("none"), policy=compile_policy(ALL), cancel=switch)
        )
        assert time.monotonic() - began < 20
        assert result.code == "cancelled", result
        assert made.left() == []


WITHOUT_GROUPS = "import bobcat.providers.process.cgroup as c; c.find_parent = lambda: None; "
BOMBS = {
    "many": "for n in $(seq 60); do sleep 30 & done; wait",
    "doubling": "b() { b | b & b; }; b",
    "a chain": "c() { (c &); }; c; sleep 30",
}


@pytest.mark.parametrize("groups", [True, False], ids=["groups", "counted"])
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_fork_bomb_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bomb: str, groups: bool) -> None:
    if not groups:
        monkeypatch.setattr(client, "_CODE", client._CODE.replace("main(", WITHOUT_GROUPS + "main("))
    with site(tmp_path) as made:
        seconds = 1.0 if bomb == "a chain" else 3.0  # a chain never has too many processes at once
        tools = made.tools("none", limits={"processes": 20}, timeout_seconds=seconds)
        result = call(tools, "sh", "-c", BOMBS[bomb])
        assert made.left() == []
    if groups and cgroup.find_parent() is not None:
        assert "fork" in result["stderr"], result
    else:
        assert result["error"], result


def test_groups_are_removed(tmp_path: Path) -> None:
    parent = cgroup.find_parent()
    if parent is None:
        pytest.skip("this user cannot make control groups here")
    before = _children()
    tools = processes(["sh"], cwd=tmp_path, isolation="none")
    (group,) = call(tools, "sh", "-c", "grep -o 'bobcat-[0-9]*-[0-9]*' /proc/self/cgroup | sort -u")["stdout"].split()
    (server,) = _children() - before
    assert group.startswith(f"bobcat-{server}-")
    del tools
    gc.collect()
    assert [name for name in os.listdir(parent) if name.startswith(f"bobcat-{server}-")] == []


def test_calls_run_side_by_side(tmp_path: Path) -> None:
    async def many() -> list[str]:
        run = processes(["sh"], cwd=tmp_path, isolation="none").get("proc.run").fn
        calls = (run("sh", ["-c", f"sleep 0.0{n % 7}; echo {n}"]) for n in range(20))
        return [result["stdout"] for result in await asyncio.gather(*calls)]

    assert asyncio.run(many()) == [f"{n}\n" for n in range(20)]


def _descriptors() -> set[str]:
    return {os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_link(name)}


def _is_link(name: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{name}")


def test_the_server_ends_with_its_provider_and_no_descriptor_is_left(tmp_path: Path) -> None:
    gc.collect()
    before, children = _descriptors(), _children()
    tools = processes(["true"], cwd=tmp_path)
    call(tools, "true")
    assert len(_children() - children) == 1
    del tools
    gc.collect()
    assert _children() == children
    assert _descriptors() == before


def _children() -> set[str]:
    text = ""
    for thread in os.listdir("/proc/self/task"):
        text += Path(f"/proc/self/task/{thread}/children").read_text()
    return set(text.split())


def test_supervisors_are_used_again_and_few_are_kept(tmp_path: Path) -> None:
    before = _children()
    tools = processes(["sh"], cwd=tmp_path, isolation="none")
    numbers = [call(tools, "sh", "-c", "echo $PPID")["stdout"] for _ in range(5)]
    assert len(set(numbers)) == 1

    async def many() -> set[str]:
        calls = (tools.get("proc.run").fn("sh", ["-c", "sleep 0.3; echo $PPID"]) for _ in range(10))
        return {result["stdout"] for result in await asyncio.gather(*calls)}

    assert len(asyncio.run(many())) == 10
    (server,) = _children() - before
    deadline = time.monotonic() + 5
    while len(Path(f"/proc/{server}/task/{server}/children").read_text().split()) > MAX_IDLE:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_supervisor_that_was_killed_while_it_waited_is_replaced(tmp_path: Path) -> None:
    tools = processes(["sh"], cwd=tmp_path, isolation="none")
    first = call(tools, "sh", "-c", "echo $PPID")["stdout"]
    os.kill(int(first), 9)
    time.sleep(0.1)
    assert call(tools, "sh", "-c", "echo $PPID")["stdout"] != first


def test_a_program_that_kills_the_server_ends_with_its_result(tmp_path: Path) -> None:
    with site(tmp_path) as made:
        tools = made.tools("none")
        script = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); (setsid sleep 60 &); sleep 0.2; echo $PPID"
        result = call(tools, "sh", "-c", script)
        assert result["exit_code"] == 0, result
        assert made.left() == []
        supervisor = result["stdout"].strip()
        deadline = time.monotonic() + 5
        while os.path.exists(f"/proc/{supervisor}/exe") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not os.path.exists(f"/proc/{supervisor}/exe")
        assert call(tools, "sh", "-c", "echo again")["stdout"] == "again\n"
        parent = cgroup.find_parent()
        if parent is not None:
            groups = [name.split("-")[1] for name in os.listdir(parent) if name.startswith("bobcat-")]
            assert all(os.path.exists(f"/proc/{server}") for server in groups)


def test_a_server_that_was_killed_is_started_again(tmp_path: Path) -> None:
    before = _children()
    tools = processes(["echo"], cwd=tmp_path)
    call(tools, "echo", "a")
    (server,) = _children() - before
    os.kill(int(server), 9)
    time.sleep(0.1)
    assert call(tools, "echo", "b")["stdout"] == "b\n"
