"""Capabilities over the real providers: what a capability permits happens, and nothing else does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Policy, Undo
from bobcat.providers import files, processes

POLICY = """
defaults: {on_missing_shadow: deny}
resources: {ws: {kind: path, root: ./workspace}}
capabilities:
  - {action: [fs.read, fs.list], resource: "ws:**"}
  - {action: fs.write, resource: "ws:out/**", undo: required, max_bytes: 8}
  - {action: fs.move, resource: "ws:out/*.txt"}
  - {action: proc.run, program: echo, argv: {first.in: [hello, bye]}, timeout_seconds: 20}
rules:
  - {id: no-keys, match: {args.path.path.suffix: .pem}, decision: deny}
"""
Call = tuple[str, dict[str, Any]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "workspace/out/below").mkdir(parents=True)
    (tmp_path / "workspace/plan.md").write_text("plan")
    (tmp_path / "workspace/key.pem").write_text("key")
    (tmp_path / "workspace/out/a.txt").write_text("a")
    (tmp_path / "secret").write_text("secret")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcomes(calls: Sequence[Call], *, protect: bool = True) -> list[str]:
    """The status of each call."""

    async def main() -> list[str]:
        async with Undo(Path("undo.db")) as undo:
            own = files("workspace")
            tools = (undo.protect(own) if protect else own).union(processes(["echo"], timeout_seconds=20))
            async with Guard(Policy.compile(POLICY), tools) as guard:
                return [str((await guard.submit(name, args)).status) for name, args in calls]

    return asyncio.run(main())


def content(place: Path) -> Mapping[str, str]:
    return {
        str(file.relative_to(place)): file.read_text() for file in (place / "workspace").rglob("*") if file.is_file()
    }


def test_calls_within_capabilities_happen(place: Path) -> None:
    calls: list[Call] = [
        ("fs.read", {"path": "workspace/plan.md"}),
        ("fs.list", {"path": "./workspace/out/../out"}),
        ("fs.write", {"path": "workspace/out/new.txt", "content": "12345678"}),
        ("fs.move", {"path": "workspace/out/a.txt", "to": "workspace/out/b.txt"}),
    ]
    assert outcomes(calls) == ["ok"] * len(calls)
    assert content(place)["workspace/out/new.txt"] == "12345678"
    assert content(place)["workspace/out/b.txt"] == "a"


@pytest.mark.skipif(sys.platform != "linux", reason="`processes` is for Linux")
def test_a_program_runs_with_the_arguments_that_its_capability_names(place: Path) -> None:
    run: dict[str, Any] = {"program": "echo"}
    assert outcomes([("proc.run", {**run, "argv": ["hello", "you"]})]) == ["ok"]
    denied = [{**run, "argv": ["you"]}, {**run, "argv": []}, {**run, "argv": ["hello"], "timeout_seconds": 21}]
    assert outcomes([("proc.run", args) for args in denied]) == ["denied"] * 3


def test_calls_beyond_capabilities_are_denied(place: Path) -> None:
    before = content(place)
    calls: list[Call] = [
        ("fs.read", {"path": "workspace/key.pem"}),
        ("fs.read", {"path": "workspace/../secret"}),
        ("fs.read", {"path": str(place / "workspace/plan.md")}),
        ("fs.stat", {"path": "workspace/plan.md"}),
        ("fs.write", {"path": "workspace/new.txt", "content": "x"}),
        ("fs.write", {"path": "workspace/out/new.txt", "content": "123456789"}),
        ("fs.write", {"path": "workspace/out/new.txt", "content": "ééééé"}),
        ("fs.move", {"path": "workspace/out/a.txt", "to": "workspace/out/b.md"}),
        ("fs.move", {"path": "workspace/plan.md", "to": "workspace/out/b.txt"}),
        ("fs.move", {"path": "workspace/out/a.txt", "to": "workspace/out/below/b.txt"}),
        ("fs.delete", {"path": "workspace/out/a.txt"}),
    ]
    assert outcomes(calls) == ["denied"] * len(calls)
    assert content(place) == before


def test_a_write_that_cannot_be_undone_is_denied(place: Path) -> None:
    write: Call = ("fs.write", {"path": "workspace/out/new.txt", "content": "x"})
    assert outcomes([write], protect=False) == ["denied"]
    assert not (place / "workspace/out/new.txt").exists()
    assert outcomes([write]) == ["ok"]
