"""Generated trees with links, and generated paths: both resolvers answer alike, and as an open by the system does."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import campaign
from bobcat import ToolError, ToolSet
from bobcat.providers import files
from bobcat.providers.filesystem.root import RESOLVERS, SYMLINKS, Symlinks

NAMES = ("a", "b", "c", "d")
TARGETS = (*NAMES, "..", ".", "a/..", "../a", "../..", "../../out", "b/c", "/", "../../../base/ws/a", "a//b/", "./d")
TREES = campaign.rounds(25)
PATHS = 40
ODD = "".join(
    map(chr, [*range(0x30), 0x7F, 0x85, 0xA0, 0x2215, 0x2044, 0xFF0F, 0x200B, 0x301, 0xD800, 0xDFFF, 0x1F4A5])
)


def grow(directory: Path, source: random.Random, depth: int, content: str) -> None:
    """Fill a directory with files, links and directories."""
    directory.mkdir()
    for name in NAMES:
        kind, path = source.choice("fflldd-"), directory / name
        if kind == "d" and depth:
            grow(path, source, depth - 1, content)
        elif kind == "l":
            path.symlink_to(source.choice(TARGETS))
        elif kind == "f":
            path.write_text(f"{content} {source.random()}")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


def answer(runner: asyncio.Runner, tools: ToolSet, tool: str, **args: str) -> tuple[str, Any]:
    try:
        return "ok", runner.run(tools.get(tool).fn(**args))
    except ToolError as error:
        return error.code, None


def expected(base: Path, path: str, symlinks: Symlinks) -> str | None:
    """The content of the file that the system opens for the path without dots, if that is a file below the root."""
    lexical = os.path.normpath(base / path)
    root = f"{base}/ws"
    if not lexical.startswith(f"{root}/"):
        return None
    try:
        with open(lexical) as file:
            real = os.readlink(f"/proc/self/fd/{file.fileno()}")
            if real == lexical or (symlinks == "beneath" and real.startswith(f"{root}/")):
                return file.read()
    except OSError:
        pass
    return None


@pytest.mark.skipif(sys.platform != "linux", reason="the control reads the real name of an open file in /proc")
@pytest.mark.parametrize("symlinks", SYMLINKS)
def test_both_resolvers_read_what_the_system_opens_below_the_root(
    symlinks: Symlinks, runner: asyncio.Runner, tmp_path: Path
) -> None:
    done: Counter[str] = Counter()
    for seed in campaign.seeds(TREES, 0, 1):
        source, base = random.Random(seed), tmp_path / "base"
        base.mkdir()
        grow(base / "ws", source, 3, "inside")
        grow(base / "out", source, 1, "outside")
        ways = [files(base / "ws", base=base, symlinks=symlinks, resolver=each) for each in RESOLVERS]
        for _ in range(PATHS):
            path = "/".join(["ws", *source.choices((*NAMES, *NAMES, "..", "."), k=source.randint(1, 5))])
            tool = source.choice(("fs.read", "fs.read", "fs.list", "fs.stat"))
            (code, value), other = (answer(runner, tools, tool, path=path) for tools in ways)
            assert (code, value) == other, (seed, tool, path)
            done[f"{tool} {code}"] += 1
            if tool != "fs.read" or path.endswith("."):
                continue
            content = expected(base, path, symlinks)
            assert "outside" not in repr(value)
            if code == "ok":
                assert value["content"] == content, (seed, path)
            elif symlinks == "refuse":
                assert content is None, (seed, path, code)
            else:  # links that leave the root on their way are refused, even if they come back
                assert content is None or code == "leads_out", (seed, path, code)
        shutil.rmtree(base)
    assert done["fs.read ok"] > TREES
    assert done["fs.read symlink" if symlinks == "refuse" else "fs.read leads_out"] > TREES


def test_no_text_makes_a_tool_fail_otherwise(runner: asyncio.Runner, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    tools = files(tmp_path / "ws", base=tmp_path)
    source = random.Random(campaign.FIRST_SEED)
    for _ in range(campaign.rounds(500)):
        text = "".join(source.choices(ODD + "/.~ab", k=source.randint(0, 6)))
        for path in (text, f"ws/{text}"):
            for tool in ("fs.stat", "fs.read"):
                code, _value = answer(runner, tools, tool, path=path)
                assert code
        code, _value = answer(runner, tools, "fs.write", path="ws/f", content=text)
        assert code in ("ok", "encoding")
