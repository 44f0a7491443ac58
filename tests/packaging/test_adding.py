"""The lists of CONTRIBUTING for stores, adapters, commands and audit events hold for those that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bobcat.stores
from bobcat.cli.commands import COMMANDS
from bobcat.cli.log import KINDS

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ADAPTERS = {
    "anthropic_sdk": "ClaudeAgent",
    "openai_sdk": "OpenAIAgent",
    "langgraph_adapter": "LangGraphAgent",
    "crewai_adapter": "CrewAIAgent",
    "mcp": "mcp_tools",
}


def listed(title: str) -> list[str]:
    """Return the first path of each item of a list."""
    section = GUIDE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [
        found[1]
        for item in re.findall(r"^\d\. .*$", section, re.MULTILINE)
        if (found := re.search(r"`([\w./*-]+)`", item))
    ]


def text_of(path: str, name: str) -> str:
    """Return the text of a listed file, of all files of a package, or of those that a pattern matches."""
    path = path.replace("NAME", name)
    found = [ROOT / path] if (ROOT / path).is_file() else sorted(ROOT.glob(path))
    found = [file for each in found for file in (each.rglob("*.py") if each.is_dir() else [each])]
    if not found:
        found = sorted((ROOT / path.removesuffix(".py")).rglob("*.py"))
    assert found, path
    return "\n".join(file.read_text(encoding="utf-8") for file in found)


@pytest.mark.parametrize("name", bobcat.stores.__all__)
def test_a_store_is_in_every_listed_file(name: str) -> None:
    module = getattr(bobcat.stores, name).__module__.split(".")[2]
    paths = listed("Add a store")
    assert len(paths) == 6
    for path in paths:
        assert name in text_of(path, module), path


@pytest.mark.parametrize("module", ADAPTERS)
def test_an_adapter_is_in_every_listed_file(module: str) -> None:
    extra = module.partition("_")[0]
    paths = listed("Add an adapter")
    assert len(paths) == 6
    for path in paths:
        word = extra if path in ("pyproject.toml", "docs/how-to/install.md") else ADAPTERS[module]
        assert word in text_of(path, module), path


@pytest.mark.parametrize("name", sorted(place.parent.name for place in ROOT.glob("tests/doors/*/door.py")))
def test_a_door_is_in_every_listed_file(name: str) -> None:
    paths = listed("Add a door")
    assert len(paths) == 7
    for path in paths:
        text = text_of(path, name)
        assert f"bobcat.guards.{name}" in text or name.replace("_", "-") in text, path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_in_every_listed_file(command: str) -> None:
    module = COMMANDS[command][0].rpartition(".")[2]
    paths = listed("Add a command")
    assert len(paths) == 4
    for path in paths:
        assert command in text_of(path, module), path


def test_every_emitted_event_is_in_every_listed_file() -> None:
    emitted = set()
    for folder in ("runtime", "graph"):
        for file in (ROOT / "python/bobcat" / folder).rglob("*.py"):
            for call in re.findall(r"\bemit\w*\(\s*([^,]*)", file.read_text(encoding="utf-8")):
                emitted |= set(re.findall(r'"([a-z_]+\.[a-z_]+)"', call))
    assert len(emitted) >= 20
    assert emitted <= set(KINDS)
    _, kinds, page, _ = listed("Add an audit event")
    assert kinds == "python/bobcat/cli/log.py"
    assert all(f"`{kind}`" in text_of(page, "") for kind in KINDS)
