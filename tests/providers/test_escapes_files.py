"""The table of the files provider: no escape executes and every look-alike does, with `openat2` and with the walk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy
from bobcat.providers import FileLimits, files
from bobcat.providers.filesystem.root import RESOLVERS, Resolver
from providers.table import MakeWorld, Row, World, check_escape, check_lookalike, rows
from providers.trees import SECRET, tree

ALL = Policy.compile("""
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules: [{id: all, match: {tool.glob: fs.*}, decision: allow}]
""")
"""A policy that permits everything: what is refused is refused by the provider."""
LIMITS = FileLimits(write_bytes=5000, file_bytes=4000, default_read_bytes=1000)
DEEP = "/".join("d" * 65)
VALUES = {"long": "n" * 256, "longest": "n" * 255, "deep": DEEP, "large": "x" * 5001}


def within(base: Path) -> Policy:
    """A policy by the facet `path`: relative paths, and absolute ones below the root."""
    return Policy.compile(f"""
defaults: {{on_no_match: deny, on_missing_shadow: deny}}
rules:
  - id: move
    match: {{tool: fs.move, args.path.path.within: [., "{base}/ws"], args.to.path.within: [., "{base}/ws"]}}
    decision: allow
  - id: others
    match:
      tool.in: [fs.read, fs.list, fs.stat, fs.write, fs.append, fs.delete, fs.mkdir]
      args.path.path.within: [., "{base}/ws"]
    decision: allow
""")


def world(base: Path, resolver: Resolver, *, strict: bool) -> MakeWorld:
    @contextmanager
    def make(row: Row) -> Iterator[World]:
        def fill(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: fill(item) for name, item in value.items()}
            for name, text in {**VALUES, "base": str(base)}.items():
                value = value.replace(f"{{{name}}}", text) if isinstance(value, str) else value
            return value

        with tree(base) as made:
            made.make(row.get("tree", []))
            options = {name: row[name] for name in ("symlinks", "hard_links", "mounts") if name in row}
            tools = files("ws", base=base, resolver=resolver, limits=LIMITS, **options)
            made.make(row.get("then", []))
            yield World(tools, within(base) if strict else ALL, made.state, (SECRET,), fill)

    return make


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("row", rows("files", "escapes"), ids=lambda row: row["id"])
def test_no_escape_executes(row: Row, resolver: Resolver, tmp_path: Path) -> None:
    outcome = check_escape(row, world(tmp_path / "base", resolver, strict=False))
    assert outcome.error is not None
    assert "Traceback" not in outcome.error
    assert "unknown tool" not in outcome.error
    if str(tmp_path) not in str(row["call"]) and "{base}" not in str(row["call"]):
        assert str(tmp_path) not in outcome.error


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("row", rows("files", "lookalikes"), ids=lambda row: row["id"])
def test_every_lookalike_executes(row: Row, resolver: Resolver, tmp_path: Path) -> None:
    outcome = check_lookalike(row, world(tmp_path / "base", resolver, strict=True))
    if "content" in row:
        assert outcome.value["content"] == row["content"]
    assert outcome.opened["root"] == "ws"


def test_the_table_has_enough_rows() -> None:
    assert len(rows("files", "escapes")) >= 30
    assert len(rows("files", "lookalikes")) >= 30
