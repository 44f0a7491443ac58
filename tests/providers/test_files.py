"""The tools of the files provider on real files: results, records, limits, atomic writes, dry runs, reconcilers."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Happened, NotHappened, Outcome, Policy, Request, ToolError, ToolSet, Unknown
from bobcat.providers import FileLimits, files
from bobcat.providers.filesystem.paths import Roots
from bobcat.providers.filesystem.root import Root
from bobcat.providers.filesystem.writing import DRAFT_PREFIX, write
from bobcat.tools.action import Action, running

ALL = Policy.compile("rules: [{id: all, match: {tool.glob: fs.*}, decision: allow}]")
PREVIEW = Policy.compile("rules: [{id: all, match: {tool.glob: fs.*}, decision: dry_run}]")

REQUEST = Request("fs.write", {"path": "ws/f", "content": "new"})


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "f").write_text("one two")
    return root


def call(tools: ToolSet, name: str, /, policy: Policy = ALL, **args: Any) -> Outcome:
    async def main() -> Outcome:
        async with Guard(policy, tools) as guard:
            return await guard.submit(name, args)

    return asyncio.run(main())


def value(tools: ToolSet, name: str, /, policy: Policy = ALL, **args: Any) -> Any:
    outcome = call(tools, name, policy, **args)
    return outcome.value if outcome.status in ("ok", "previewed") else outcome.error


def test_a_file_is_read_in_parts_that_cut_no_character(ws: Path) -> None:
    tools = files(ws, base=ws.parent)
    (ws / "u").write_text("aé日💥" * 50)
    text, offset = "", 0
    while offset is not None:
        part = value(tools, "fs.read", path="ws/u", offset=offset, max_bytes=7)
        assert part["size"] == 500
        text += part["content"]
        offset = part["next_offset"]
    assert text == "aé日💥" * 50


def test_bytes_are_read_and_written_as_base64(ws: Path) -> None:
    tools = files(ws, base=ws.parent)
    assert value(tools, "fs.write", path="ws/b", content="AP8=", encoding="base64")["bytes"] == 2
    assert (ws / "b").read_bytes() == b"\x00\xff"
    assert value(tools, "fs.read", path="ws/b", encoding="base64")["content"] == "AP8="
    assert "base64" in value(tools, "fs.read", path="ws/b")
    assert "is not base64" in value(tools, "fs.write", path="ws/b", content="???", encoding="base64")


def test_what_was_opened_is_recorded(ws: Path) -> None:
    tools = files({"work": ws}, base=ws.parent)
    status = (ws / "f").stat()
    known = {"path": "ws/f", "root": "work", "device": status.st_dev}
    assert call(tools, "fs.read", path="ws/f").opened == {**known, "inode": status.st_ino}
    written = call(tools, "fs.write", path="ws/f", content="new").opened
    assert written == {**known, "inode": (ws / "f").stat().st_ino, "replaced": status.st_ino}
    moved = call(tools, "fs.move", path="ws/f", to=f"{ws}/g").opened
    assert moved == {**known, "inode": (ws / "g").stat().st_ino, "to": f"{ws}/g", "to_root": "work"}
    made = call(tools, "fs.mkdir", path="ws/d").opened
    assert made == {**known, "path": "ws/d", "inode": (ws / "d").stat().st_ino}


def test_a_replaced_file_keeps_its_permissions_and_new_ones_are_private(ws: Path) -> None:
    (ws / "f").chmod(0o4751)
    tools = files(ws, base=ws.parent)
    assert value(tools, "fs.write", path="ws/f", content="new")["created"] is False
    assert stat.S_IMODE((ws / "f").stat().st_mode) == 0o751
    value(tools, "fs.write", path="ws/n", content="")
    value(tools, "fs.append", path="ws/a", content="")
    value(tools, "fs.mkdir", path="ws/d")
    assert [stat.S_IMODE((ws / name).stat().st_mode) for name in "nad"] == [0o600, 0o600, 0o700]
    public = files(ws, base=ws.parent, private=False)
    umask = os.umask(0o027)
    try:
        value(public, "fs.write", path="ws/pn", content="")
        value(public, "fs.append", path="ws/pa", content="")
        value(public, "fs.mkdir", path="ws/pd")
    finally:
        os.umask(umask)
    assert [stat.S_IMODE((ws / name).stat().st_mode) for name in ("pn", "pa", "pd")] == [0o640, 0o640, 0o750]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")
def test_a_read_only_file_is_not_replaced(ws: Path) -> None:
    for path in (ws.parent.parent.parent, ws.parent.parent, ws.parent):
        path.chmod(0o755)
    ws.chmod(0o777)
    (ws / "f").chmod(0o444)
    (ws / "g").write_text("")
    (ws / "g").chmod(0o666)
    tools = files(ws, base=ws.parent)
    os.seteuid(65534)
    try:
        seen = [
            value(tools, "fs.write", path="ws/f", content="new"),
            call(tools, "fs.write", PREVIEW, path="ws/f", content="new").error,
            value(tools, "fs.append", path="ws/f", content="new"),
            value(tools, "fs.write", path="ws/g", content="new"),
        ]
    finally:
        os.seteuid(0)
    assert seen[:2] == ["`ws/f` is read-only"] * 2
    assert seen[2:] == ["`ws/f` may not be accessed by this process", "`ws/g` may not be accessed by this process"]
    assert (sorted(os.listdir(ws)), (ws / "f").read_text()) == (["f", "g"], "one two")


def test_a_write_is_seen_as_a_whole_and_leaves_nothing_beside_it(ws: Path) -> None:
    tools = files(ws, base=ws.parent)
    kept = (ws / "f").open()
    value(tools, "fs.write", path="ws/f", content="new")
    assert (kept.read(), (ws / "f").read_text()) == ("one two", "new")
    kept.close()
    (ws / "d").mkdir()
    assert "is a directory" in value(tools, "fs.write", path="ws/d", content="x")
    assert sorted(os.listdir(ws)) == ["d", "f"]


def test_a_failed_write_leaves_the_old_file(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = files(ws, base=ws.parent)

    def full(*_: Any, **__: Any) -> None:
        assert any(name.startswith(DRAFT_PREFIX) for name in os.listdir(ws))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    assert "the file system is full" in value(tools, "fs.write", path="ws/f", content="new")
    assert (sorted(os.listdir(ws)), (ws / "f").read_text()) == (["f"], "one two")


def test_the_current_directory_of_the_process_does_not_matter(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ws.parent)
    tools = files("ws")
    monkeypatch.chdir("/")
    assert value(tools, "fs.read", path="ws/f")["content"] == "one two"
    assert value(tools, "fs.read", path=f"{ws}/f")["content"] == "one two"


def test_the_innermost_root_has_a_path(ws: Path) -> None:
    (ws / "in").mkdir()
    tools = files({"outer": ws, "inner": ws / "in"}, base=ws.parent)
    assert call(tools, "fs.write", path="ws/in/x", content="").opened["root"] == "inner"
    assert call(tools, "fs.write", path="ws/x", content="").opened["root"] == "outer"
    assert "is a root" in value(tools, "fs.delete", path="ws/in")


def test_a_listing_is_in_order_and_bounded(ws: Path) -> None:
    tools = files(ws, base=ws.parent, limits=FileLimits(entries=3))
    (ws / "d").mkdir()
    os.mkfifo(ws / "p")
    listing = value(tools, "fs.list", path="ws")
    assert listing["entries"] == [
        {"name": "d", "type": "directory", "size": None},
        {"name": "f", "type": "file", "size": 7},
        {"name": "p", "type": "fifo", "size": None},
    ]
    assert listing["truncated"] is False
    (ws / "z").touch()
    assert value(tools, "fs.list", path="ws")["truncated"] is True
    assert len(value(tools, "fs.list", path="ws", max_entries=2)["entries"]) == 2


def test_names_that_are_not_text_are_listed_as_escapes(ws: Path) -> None:
    with open(os.fsencode(ws) + b"/\xff", "w"):
        pass
    tools = files(ws, base=ws.parent)
    assert value(tools, "fs.list", path="ws")["entries"][-1]["name"] == "\\xff"


def test_sizes_are_bounded(ws: Path) -> None:
    tools = files(ws, base=ws.parent, limits=FileLimits(read_bytes=5, write_bytes=8, file_bytes=9))
    part = value(tools, "fs.read", path="ws/f", max_bytes=1000)
    assert (part["content"], part["truncated"], part["next_offset"]) == ("one t", True, 5)
    assert "at most 8 are written" in value(tools, "fs.write", path="ws/f", content="x" * 9)
    assert value(tools, "fs.append", path="ws/f", content="xx")["size"] == 9
    assert "may not grow beyond 9" in value(tools, "fs.append", path="ws/f", content="x")
    assert "must be at least 1" in value(tools, "fs.read", path="ws/f", max_bytes=0)
    assert "must be at least 0" in value(tools, "fs.read", path="ws/f", offset=-1)


def test_a_read_only_provider_has_no_tools_that_write(ws: Path) -> None:
    assert files(ws, read_only=True).names() == ("fs.list", "fs.read", "fs.stat")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symlinks": "follow"}, "symlinks must be one of 'refuse', 'beneath'"),
        ({"hard_links": "write"}, "hard_links must be one of 'refuse', 'read'"),
        ({"mounts": True}, "mounts must be one of"),
        ({"resolver": "text"}, "resolver must be one of"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str, ws: Path) -> None:
    with pytest.raises(ValueError, match=message):
        files(ws, **options)


def test_roots_must_be_directories(ws: Path) -> None:
    with pytest.raises(ValueError, match="at least one directory"):
        files({})
    with pytest.raises(FileNotFoundError):
        files(ws / "missing")
    with pytest.raises(NotADirectoryError):
        files(ws / "f")
    with pytest.raises(ValueError, match="at least 1"):
        FileLimits(depth=0)


def test_dry_runs_have_no_effect_and_refuse_what_the_tool_refuses(ws: Path) -> None:
    (ws / "l").symlink_to("/etc")
    (ws / "e").mkdir()
    tools = files(ws, base=ws.parent)
    before = sorted(os.listdir(ws))
    seen = [
        value(tools, "fs.read", PREVIEW, path="ws/f")["size"],
        value(tools, "fs.write", PREVIEW, path="ws/f", content="new"),
        value(tools, "fs.write", PREVIEW, path="ws/n", content="new"),
        value(tools, "fs.append", PREVIEW, path="ws/f", content="x")["size_before"],
        value(tools, "fs.delete", PREVIEW, path="ws/f"),
        value(tools, "fs.move", PREVIEW, path="ws/f", to="ws/g"),
        value(tools, "fs.mkdir", PREVIEW, path="ws/x/y", parents=True),
        value(tools, "fs.mkdir", PREVIEW, path="ws/e"),
    ]
    assert seen == [
        7,
        {"path": "ws/f", "bytes": 3, "created": False, "size_before": 7},
        {"path": "ws/n", "bytes": 3, "created": True, "size_before": None},
        7,
        {"path": "ws/f", "type": "file", "size_before": 7},
        {"path": "ws/f", "to": "ws/g", "type": "file", "replaced": False},
        {"path": "ws/x/y", "created": True},
        {"path": "ws/e", "created": False},
    ]
    for name, args in [
        ("fs.write", {"path": "ws/l/x", "content": ""}),
        ("fs.delete", {"path": "ws/missing"}),
        ("fs.move", {"path": "ws/l", "to": "ws/m"}),
        ("fs.mkdir", {"path": "ws/x/y"}),
        ("fs.mkdir", {"path": "ws/f"}),
    ]:
        outcome = call(tools, name, PREVIEW, **args)
        assert outcome.value is None
        assert (outcome.error or "").startswith("`ws/")
    assert sorted(os.listdir(ws)) == before
    assert (ws / "f").read_text() == "one two"


def reconciled(tools: ToolSet, name: str, **args: Any) -> Any:
    reconcile = tools.get(name).reconcile_fn
    assert reconcile is not None
    return asyncio.run(reconcile("key", args))  # type: ignore[arg-type]


def test_reconcilers_look_at_the_files(ws: Path) -> None:
    tools = files(ws, base=ws.parent)
    assert isinstance(reconciled(tools, "fs.write", path="ws/f", content="one two"), Happened)
    assert isinstance(reconciled(tools, "fs.write", path="ws/f", content="one"), NotHappened)
    assert isinstance(reconciled(tools, "fs.write", path="ws/n", content="one"), NotHappened)
    assert isinstance(reconciled(tools, "fs.write", path="ws", content="one"), Unknown)
    assert isinstance(reconciled(tools, "fs.delete", path="ws/n"), Happened)
    assert isinstance(reconciled(tools, "fs.delete", path="ws/f"), Unknown)
    assert isinstance(reconciled(tools, "fs.move", path="ws/n", to="ws/f"), Happened)
    assert isinstance(reconciled(tools, "fs.move", path="ws/f", to="ws/n"), NotHappened)
    assert isinstance(reconciled(tools, "fs.move", path="ws/f", to="ws/f"), Unknown)
    assert isinstance(reconciled(tools, "fs.move", path="ws/n", to="ws/m"), Unknown)


def test_a_late_thread_has_no_effect_after_its_action_has_ended(ws: Path) -> None:
    action = Action(REQUEST)
    with running(action):
        pass
    root = Root("ws", str(ws), symlinks="refuse", mounts="refuse", resolver=None)
    place = Roots([root], str(ws.parent), 64).find("ws/f", action)
    with pytest.raises(RuntimeError, match="has ended"):
        write(place, b"new", overwrite=True, private=True)
    assert (sorted(os.listdir(ws)), (ws / "f").read_text()) == (["f"], "one two")


def test_refusals_are_tool_errors_with_codes(ws: Path) -> None:
    tools = files(ws, base=ws.parent)
    with pytest.raises(ToolError) as caught:
        asyncio.run(tools.get("fs.read").fn(path="ws/missing"))
    assert (str(caught.value), caught.value.code) == ("`ws/missing` does not exist", "missing")
