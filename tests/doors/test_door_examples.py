"""The examples of the page about doors that need a framework: run by the door's tests, with its fake model."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
from pathlib import Path
from typing import Any

import pytest

from docs.markdown_blocks import Block, blocks_of
from doors.adapter import Proposal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "guard-a-framework.md"
NAMED = os.environ.get("BOBCAT_DOOR", "")
PLACES = sorted(path.parent.name for path in Path(__file__).parent.glob("*/door.py"))


def example_of(door: str) -> Block | None:
    return next((block for block in blocks_of(PAGE) if f"door={door}" in block.info.split()), None)


@pytest.mark.parametrize("door", PLACES)
def test_the_page_has_an_example_of_each_door(door: str) -> None:
    assert any(f"bobcat.guards.{door}" in block.body for block in blocks_of(PAGE) if block.language == "python")


@pytest.mark.skipif(
    not NAMED or example_of(NAMED) is None, reason="no door is named, or the page's tests run its example"
)
def test_the_example_of_the_door_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """`main(model)` of the example gets a model that refunds 40 and says `done`, or the environment for it."""
    block = example_of(NAMED)
    assert block is not None
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(block.body, str(PAGE), "exec"), namespace)
    door = importlib.import_module(f"doors.{NAMED}.door")
    with contextlib.ExitStack() as stack:
        model = door.model([[Proposal("c1", f"{door.PREFIX}refund", {"amount": 40})]])
        if isinstance(model, contextlib.AbstractContextManager):
            model = stack.enter_context(model)
        asyncio.run(namespace["main"](model))
    printed = capsys.readouterr().out
    assert "refund" in printed
    assert re.search(r"\b40\b", printed)
    assert printed.endswith("done\n")
