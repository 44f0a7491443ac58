"""Chained audit lines of `bobcat.lynx` as lynx-agent 2.11: written, continued and verified."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bobcat.lynx.v2_11 import VerifyResult, hash_chained_sink, verify_chain
from bobcat.lynx.v2_11.cli.main import cli
from bobcat.model.run import AuditEvent
from hostile_json import hostile_text

THEIRS = Path(__file__).with_name("chain_of_2_11.jsonl").read_text(encoding="utf-8")
"""A file that lynx-agent 2.11.1 wrote."""


def event(seq: int, body: dict[Any, Any] | None = None) -> AuditEvent:
    return AuditEvent("c", "b", seq, "k", datetime(2026, 1, 1, tzinfo=UTC), {"n": seq} if body is None else body)


def write(handle: IO[str], *bodies: dict[Any, Any] | None, first: int = 0) -> None:
    sink = hash_chained_sink(handle)

    async def send() -> None:
        for seq, body in enumerate(bodies, first):
            await sink(event(seq, body))

    asyncio.run(send())


def file(path: Path, count: int = 3) -> list[str]:
    """Write a chain; return its lines."""
    with path.open("w") as handle:
        write(handle, *[None] * count)
    return path.read_text().splitlines(keepends=True)


def test_a_file_of_lynx_agent_verifies_and_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(THEIRS)
    assert verify_chain(path) == VerifyResult(True, 3)
    with path.open("a") as handle:
        write(handle, {"more": 1}, first=3)
    assert verify_chain(str(path)) == VerifyResult(True, 4)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[3]["prev_hash"] == lines[2]["hash"]


@pytest.mark.parametrize(
    ("edit", "line", "reason"),
    [
        (lambda lines: [lines[0].replace('"n":0', '"n":7'), *lines[1:]], 1, "hash mismatch (line was modified)"),
        (lambda lines: [lines[0], lines[2]], 2, "prev_hash does not match previous line (line deleted or reordered)"),
        (lambda lines: [lines[1]], 1, "prev_hash does not match previous line (line deleted or reordered)"),
        (lambda lines: [lines[0], lines[2], lines[1]], 2, "prev_hash does not match previous line"),
        (lambda lines: [*lines, '{"a": 1}\n'], 4, "missing hash/prev_hash (not a chained file?)"),
        (lambda lines: [*lines, "\n", "[1]\n"], 5, "missing hash/prev_hash (not a chained file?)"),
        (lambda lines: [*lines[:2], lines[2][:-9]], 3, "not JSON: "),
        (lambda lines: [*lines[:2], "[" * 100_000], 3, "not JSON: nested too deeply"),
        (lambda lines: [lines[0].replace('{"body"', '{"seq":9,"body"'), *lines[1:]], 1, "a key is there twice"),
        (lambda lines: [lines[0].replace('{"n":0', '{"n":9,"n":0'), *lines[1:]], 1, "a key is there twice"),
    ],
)
def test_a_changed_file_is_broken_at_its_first_bad_line(
    edit: Callable[[list[str]], list[str]], line: int, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "a"
    path.write_text("".join(edit(file(path))))
    found = verify_chain(path)
    assert (found.intact, found.broken_at) == (False, line)
    assert found.reason is not None
    assert found.reason.startswith(reason)
    done = CliRunner().invoke(cli, ["verify", str(path)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"broken at line {line}: {reason}"[:70])
    assert done.stderr.count("\n") == 1


def test_bytes_that_are_no_text_are_a_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "a"
    file(path)
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n")
    assert verify_chain(path) == VerifyResult(False, 4, 4, "not JSON: not UTF-8")


@given(hostile_text(json.loads(THEIRS.splitlines()[0])))
def test_any_line_is_a_result(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    path.write_bytes(text)
    found = verify_chain(path)
    assert found.intact is (found.reason is None) is (found.broken_at is None)
    assert not found.intact or not text.strip() or json.loads(text) == json.loads(THEIRS.splitlines()[0])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.text() | st.integers(), JSON, max_size=4), max_size=4))
def test_every_body_makes_a_chain_that_verifies(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[dict[Any, Any]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "bodies.jsonl"
    with path.open("w") as handle:
        write(handle, *bodies)
    assert verify_chain(path) == VerifyResult(True, len(bodies))
    path.write_text(path.read_text().replace('"kind":"k"', '"kind":"j"'))
    assert verify_chain(path).intact is (not bodies)


def test_a_chain_continues_after_each_restart(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for number in range(3):
        with path.open("a") as handle:
            write(handle, {"text": "x" * 200_000}, None, first=2 * number)
    assert verify_chain(path) == VerifyResult(True, 6)


def test_one_chain_in_memory_by_two_sinks() -> None:
    memory = io.StringIO()
    write(memory, None, None)
    write(memory, None)
    lines = [json.loads(line) for line in memory.getvalue().splitlines()]
    assert [line["prev_hash"] for line in lines[1:]] == [line["hash"] for line in lines[:-1]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"seq": 1}\n', "missing hash/prev_hash"),
        ("plain text\n", "not JSON"),
        (THEIRS[:-5], "not complete"),
        (THEIRS.rstrip("\n"), "not complete"),
        (THEIRS.replace('"ok"', '"no"'), "hash mismatch"),
    ],
)
def test_a_file_that_cannot_be_continued_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    with path.open("a") as handle, pytest.raises(ValueError, match=reason):
        hash_chained_sink(handle)
    assert path.read_text() == text


def test_a_file_that_was_moved_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "a"
    file(path)
    with path.open("a") as handle:
        path.rename(tmp_path / "b")
        with pytest.raises(ValueError, match="cannot be read"):
            hash_chained_sink(handle)
        path.write_text(THEIRS)
        with pytest.raises(ValueError, match="is another file now"):
            hash_chained_sink(handle)


def test_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="open text file"):
        hash_chained_sink(str(tmp_path))  # type: ignore[arg-type]


def test_events_at_once_make_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with path.open("w") as handle:
        sink = hash_chained_sink(handle)

        async def send() -> None:
            await asyncio.gather(*(sink(event(seq)) for seq in range(50)))

        asyncio.run(send())
    assert verify_chain(path) == VerifyResult(True, 50)


def test_a_pipe_gets_one_chain_also_when_a_writer_is_cancelled(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    path = tmp_path / "a"

    async def send(handle: IO[str]) -> None:
        sink = hash_chained_sink(handle)
        large = asyncio.create_task(sink(event(0, {"text": "x" * 300_000})))  # more than the pipe takes
        await asyncio.sleep(0.05)
        large.cancel()
        reader = asyncio.create_task(asyncio.to_thread(read))
        await asyncio.gather(*(sink(event(seq)) for seq in range(1, 5)))
        handle.close()
        await reader

    def read() -> None:
        with os.fdopen(reading) as source:
            path.write_text(source.read())

    with os.fdopen(writing, "w") as handle:
        asyncio.run(send(handle))
    assert verify_chain(path) == VerifyResult(True, 5)


def test_a_line_that_could_not_be_written_leaves_the_chain_as_it_is(tmp_path: Path) -> None:
    class Full(io.StringIO):
        full = False

        def write(self, text: str, /) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, "no space left")
            return super().write(text)

    memory = Full()
    sink = hash_chained_sink(memory)

    async def send() -> None:
        await sink(event(0))
        memory.full = True
        with pytest.raises(OSError, match="no space"):
            await sink(event(1))
        memory.full = False
        await sink(event(2))

    asyncio.run(send())
    path = tmp_path / "a"
    path.write_text(memory.getvalue())
    assert verify_chain(path) == VerifyResult(True, 2)


def test_the_command_verifies_and_says_what_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    file(path)
    done = CliRunner().invoke(cli, ["verify", str(path)])
    assert (done.exit_code, done.output) == (0, "intact: 3 events, chain verified\n")
    assert CliRunner().invoke(cli, ["verify", str(tmp_path / "none")]).exit_code == 2
    done = CliRunner().invoke(cli, ["verify", str(tmp_path)])
    assert done.exit_code == 1
    assert done.stderr.startswith("could not read ")


def test_what_stands_in_a_file_does_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31mred"
    path.mkdir()
    done = CliRunner().invoke(cli, ["verify", str(path)])
    assert done.exit_code == 1
    assert "\x1b" not in done.output
