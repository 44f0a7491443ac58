"""A tool's name looks like what it is: to a policy, to an approver, on a screen."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bobcat import ToolDef, ToolMetadata, ToolSet, tool
from bobcat.adapters.mcp import mcp_tools

METADATA = ToolMetadata("low", True, ())
DECEPTIVE = [
    "read\x1b[2K\x1b[1Aok", "read\n", "\rread", "read\x00", "read\x7f", "read\x85", "re\u202ead", "re\u2066ad",
    "re\u200bad", "re\u200dad", "\ufeffread", "re\u00adad", "read\u2028", "read\u2029", "read\ud800", "re\u061cad",
    "re\u2060ad", "read\ufe0f", "read\U000e0041", "re\u034fad", "read\u3164", "\tread", "re\U000e0100ad",
]  # fmt: skip
PLAIN = ["read", "notes.tag", "read file", "читать", "読む", "naïve", "a|b", "read_ünïcode", "tool/with:signs", "न्यू"]


async def fn() -> None: ...


@pytest.mark.parametrize("name", DECEPTIVE, ids=ascii)
def test_a_name_with_control_bidi_or_invisible_characters_is_refused_by_its_escaped_form(name: str) -> None:
    plain = ToolDef("read", "", fn, None, METADATA)
    makers: list[Any] = [
        lambda: ToolDef(name, "", fn, None, METADATA),
        lambda: dataclasses.replace(plain, name=name),
        lambda: tool(name=name)(_fresh()),
        lambda: ToolSet({name: plain}),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="has a control or invisible character") as raised:
            make()
        assert ascii(name) in str(raised.value)
        assert str(raised.value).isascii()


def _fresh() -> Any:
    async def fresh() -> None: ...

    return fresh


@pytest.mark.parametrize("name", PLAIN)
def test_any_other_name_is_a_name(name: str) -> None:
    found = ToolDef(name, "", fn, None, METADATA)
    assert ToolSet({name: found}).names() == (name,)


def test_a_server_that_lists_a_deceptive_name_is_refused(tmp_path: Path) -> None:
    schemas = tmp_path / "schemas.json"
    schemas.write_text(json.dumps({"read": {"type": "object"}, "re\u202ead": {"type": "object"}}))
    command = [sys.executable, str(Path(__file__).parents[1] / "adapters" / "echo_server.py"), str(schemas)]

    async def main() -> None:
        async with mcp_tools(command):
            pass

    with pytest.raises(ValueError, match=r"'re\\u202ead' has a control or invisible character, U\+202E"):
        asyncio.run(main())
