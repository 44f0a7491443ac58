"""Undo of the files provider: bytes, mode, times, links, directories, absence, moves."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bobcat import Guard, Policy, Undo, UndoError
from bobcat.providers import files
from bobcat.providers.filesystem.root import RESOLVERS, Resolver

POLICY = """
rules:
  - {id: fs, match: {tool.glob: "fs.*", declared.scope.contains: undo}, decision: allow}
  - {id: undo, match: {tool: undo.apply, args.tool: fs.write, args.target.path.within: ROOT/open}, decision: allow}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "root"
    (found / "open").mkdir(parents=True)
    (found / "shut").mkdir()
    return found


@pytest.fixture(params=RESOLVERS)
def resolver(request: pytest.FixtureRequest) -> Resolver:
    found: Resolver = request.param
    return found


Call = Callable[..., Awaitable[Any]]
guards: dict[Undo, Guard] = {}
"""The guard of each `Undo`, for calls that fail."""


def run(root: Path, work: Callable[[Undo, Call], Awaitable[Any]], **options: Any) -> Any:
    """Call `work` with the `Undo` and a function that submits a call of a files tool."""
    given = {name: options.pop(name) for name in ("resolver", "symlinks") if name in options}

    async def main() -> Any:
        async with Undo(root.parent / "undo.db", **options) as undo:
            tools = undo.protect(files(root, base=root, **given)).union(undo.tools())
            async with Guard(Policy.compile(POLICY.replace("ROOT", str(root))), tools) as guard:

                async def call(tool: str, **args: Any) -> Any:
                    outcome = await guard.submit(tool, args)
                    assert outcome.status == "ok", outcome
                    return outcome

                guards[undo] = guard
                try:
                    return await work(undo, call)
                finally:
                    del guards[undo]

    return asyncio.run(main())


def tree(root: Path) -> dict[str, Any]:
    """All names below a directory, with everything that an undo restores."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content: Any = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = (path.read_bytes(), status.st_mtime_ns)
        found[str(path.relative_to(root))] = (stat.filemode(status.st_mode), content)
    return found


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "a new file": ("fs.write", {"path": "open/new", "content": "text"}),
    "a changed file": ("fs.write", {"path": "open/a.txt", "content": "text"}),
    "the same content": ("fs.write", {"path": "open/a.txt", "content": "before\n"}),
    "binary content": ("fs.write", {"path": "open/a.txt", "content": "AAEC", "encoding": "base64"}),
    "an appended file": ("fs.append", {"path": "open/a.txt", "content": "more"}),
    "a file that append makes": ("fs.append", {"path": "open/new", "content": "more"}),
    "a deleted file": ("fs.delete", {"path": "open/a.txt"}),
    "a deleted program": ("fs.delete", {"path": "open/program"}),
    "a deleted link": ("fs.delete", {"path": "open/link"}),
    "a deleted empty directory": ("fs.delete", {"path": "open/empty"}),
    "a moved file": ("fs.move", {"path": "open/a.txt", "to": "open/b.txt"}),
    "a file moved over another": ("fs.move", {"path": "open/a.txt", "to": "open/program", "overwrite": True}),
    "a moved directory": ("fs.move", {"path": "open/full", "to": "open/moved"}),
    "a directory": ("fs.mkdir", {"path": "open/made"}),
    "a directory that is there": ("fs.mkdir", {"path": "open/full"}),
    "directories": ("fs.mkdir", {"path": "open/x/y/z", "parents": True}),
}


def prepare(root: Path) -> None:
    (root / "open/a.txt").write_text("before\n")
    (root / "open/a.txt").chmod(0o640)
    os.utime(root / "open/a.txt", ns=(1_000_000_001, 2_000_000_002))
    (root / "open/program").write_bytes(b"\x7fELF\0\xff")
    (root / "open/program").chmod(0o751)
    (root / "open/link").symlink_to("a.txt")
    (root / "open/empty").mkdir(mode=0o705)
    (root / "open/full").mkdir()
    (root / "open/full/inner").write_text("x")


@pytest.mark.parametrize("case", CASES)
def test_every_operation_is_undone_and_the_undo_too(case: str, root: Path, resolver: Resolver) -> None:
    prepare(root)
    before = tree(root)
    tool, args = CASES[case]

    async def work(undo: Undo, call: Call) -> None:
        outcome = await call(tool, **args)
        after = tree(root)
        (entry,) = await undo.entries()
        assert (entry.state, entry.tool, entry.target) == ("done", tool, str(root / args["path"]))
        assert entry.to == (str(root / args["to"]) if "to" in args else "")
        assert outcome.opened["undo"] == entry.id
        undone = await undo.apply(entry.id)
        assert tree(root) == before
        redone = await undo.apply(undone.id)
        assert without_times(tree(root)) == without_times(after)
        await undo.apply(redone.id)
        assert tree(root) == before

    run(root, work, resolver=resolver)
    assert not list(root.rglob(".bobcat*"))


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    return {name: (mode, content[0] if isinstance(content, tuple) else content)
            for name, (mode, content) in found.items()}  # fmt: skip


def test_a_moved_file_keeps_its_inode(root: Path) -> None:
    prepare(root)
    inode = (root / "open/a.txt").stat().st_ino

    async def work(undo: Undo, call: Call) -> None:
        await call("fs.move", path="open/a.txt", to="open/b.txt")
        await undo.apply((await undo.entries())[0].id)

    run(root, work)
    assert (root / "open/a.txt").stat().st_ino == inode


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "open/a.txt").write_text("someone else's"),
        lambda root: (root / "open/a.txt").chmod(0o600),
        lambda root: (root / "open/a.txt").unlink(),
        lambda root: ((root / "open/a.txt").unlink(), (root / "open/a.txt").symlink_to("program")),
        lambda root: ((root / "open/a.txt").unlink(), (root / "open/a.txt").mkdir()),
        lambda root: ((root / "open/a.txt").unlink(), os.mkfifo(root / "open/a.txt")),
    ],
    ids=["content", "mode", "absence", "link", "directory", "fifo"],
)
def test_a_file_that_changed_since_is_a_conflict(change: Callable[[Path], Any], root: Path) -> None:
    prepare(root)

    async def work(undo: Undo, call: Call) -> None:
        await call("fs.write", path="open/a.txt", content="text")
        change(root)
        now = tree(root)
        (entry,) = await undo.entries()
        with pytest.raises(UndoError, match=r"changed since|special"):
            await undo.apply(entry.id)
        assert tree(root) == now
        assert (await undo.get(entry.id)).state == "done"

    run(root, work)


def test_a_directory_that_was_filled_since_is_not_removed(root: Path) -> None:
    async def work(undo: Undo, call: Call) -> None:
        await call("fs.mkdir", path="open/made")
        (root / "open/made/file").write_text("x")
        (entry,) = await undo.entries()
        with pytest.raises(UndoError, match="not empty"):
            await undo.apply(entry.id)
        (same, *_) = [each for each in await undo.entries() if each.id == entry.id]
        assert same.state == "done"
        (root / "open/made/file").unlink()
        await undo.apply(entry.id)
        assert not (root / "open/made").exists()

    run(root, work)


def test_no_snapshot_no_effect(root: Path) -> None:
    prepare(root)
    before = tree(root)

    async def work(undo: Undo, call: Call) -> None:
        guard = guards[undo]
        os.mkfifo(root / "open/fifo")
        for args in ({"path": "open/a.txt"}, {"path": "open/fifo"}, {"path": "../undo.db"}, {"path": "open/link/x"}):
            outcome = await guard.submit("fs.write", {**args, "content": "overwritten"})
            assert outcome.status == "failed", outcome
        (root / "open/fifo").unlink()
        assert await undo.entries() == []

    run(root, work, max_bytes=3)
    assert tree(root) == before


def test_an_operation_that_is_refused_leaves_no_entry(root: Path) -> None:
    prepare(root)

    async def work(undo: Undo, call: Call) -> None:
        guard = guards[undo]
        for tool, args in (
            ("fs.write", {"path": "open/a.txt", "content": "x", "overwrite": False}),
            ("fs.delete", {"path": "open/full"}),
            ("fs.move", {"path": "open/a.txt", "to": "open/program"}),
            ("fs.delete", {"path": "open/missing"}),
        ):
            assert (await guard.submit(tool, args)).status == "failed"
        assert await undo.entries() == []

    run(root, work)


def test_policy_decides_on_an_undo_by_tool_and_path(root: Path) -> None:
    prepare(root)
    (root / "shut/a.txt").write_text("before")

    async def work(undo: Undo, call: Call) -> None:
        guard = guards[undo]
        await call("fs.write", path="shut/a.txt", content="text")
        await call("fs.delete", path="open/a.txt")
        await call("fs.write", path="open/program", content="text")
        found = {each.target: each for each in await undo.entries()}
        for path, status in (("shut/a.txt", "denied"), ("open/a.txt", "denied"), ("open/program", "ok")):
            entry = found[str(root / path)]
            args = {"id": entry.id, "tool": entry.tool, "target": entry.target}
            assert (await guard.submit("undo.apply", args)).status == status
        shut = found[str(root / "shut/a.txt")]
        lie = {"id": shut.id, "tool": "fs.write", "target": str(root / "open/a.txt")}
        assert (await guard.submit("undo.apply", lie)).status == "failed"
        assert (root / "shut/a.txt").read_text() == "text"

    run(root, work)


def test_an_undo_does_not_follow_a_link_out_of_the_root(root: Path, resolver: Resolver) -> None:
    prepare(root)
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "inner").write_text("outside")

    async def work(undo: Undo, call: Call) -> None:
        await call("fs.write", path="open/full/inner", content="text")
        (entry,) = await undo.entries()
        (root / "open/full").rename(root / "open/aside")
        (root / "open/full").symlink_to(outside)
        for force in (False, True):
            with pytest.raises((UndoError, OSError)):
                await undo.apply(entry.id, force=force)

    run(root, work, resolver=resolver)
    assert (outside / "inner").read_text() == "outside"
    assert sorted(path.name for path in outside.iterdir()) == ["inner"]


def test_the_texts_of_an_entry_are_those_before_and_now(root: Path) -> None:
    prepare(root)

    async def work(undo: Undo, call: Call) -> None:
        await call("fs.write", path="open/a.txt", content="text")
        (entry,) = await undo.entries()
        assert await undo.texts(entry.id) == {str(root / "open/a.txt"): ("before\n", "text")}
        await call("fs.delete", path="open/program")
        (entry, _) = await undo.entries()
        assert await undo.texts(entry.id) == {str(root / "open/program"): (None, None)}

    run(root, work)
