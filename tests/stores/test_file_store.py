"""`FileStore`: torn lines, names, damaged files, full disks."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bobcat import DuplicateRecord, FileStore, StepRecord, StoreError, step_record_to_json
from bobcat.stores.file.disk import file_name
from bobcat.stores.file.store import FORMAT
from stores.appender import entry


def kept(directory: Path, run_id: str = "r") -> list[int]:
    async def load() -> list[int]:
        async with aclosing(FileStore(directory)) as store:
            return [record.seq for record in await store.load(run_id)]

    return asyncio.run(load())


def append(directory: Path, *records: StepRecord) -> None:
    async def write() -> None:
        async with aclosing(FileStore(directory)) as store:
            for record in records:
                await store.append(record)

    asyncio.run(write())


def small(seq: int) -> StepRecord:
    return StepRecord("r", seq, "k", "", {"text": "é\ud800"}, entry("r", seq).timestamp)


def test_a_journal_is_the_lines_of_its_records(tmp_path: Path) -> None:
    records = [small(0), small(1)]
    append(tmp_path, *records)
    lines = (tmp_path / "runs" / "r.jsonl").read_text().splitlines()
    assert lines == [step_record_to_json(record) for record in records]


def test_bobcat_trace_reads_a_journal(tmp_path: Path) -> None:
    append(tmp_path, small(0))
    command = [sys.executable, "-m", "bobcat", "trace", str(tmp_path / "runs" / "r.jsonl")]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.startswith("run r: 1 records")


def test_a_line_that_is_torn_anywhere_costs_no_whole_line(tmp_path: Path) -> None:
    append(tmp_path, small(0), small(1))
    path = tmp_path / "runs" / "r.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        path.write_bytes(whole[:cut])
        second_is_whole = cut == len(whole) - 1  # only the newline is missing
        assert kept(tmp_path) == ([0, 1] if second_is_whole else [0]), cut
        append(tmp_path, small(2))
        assert kept(tmp_path) == ([0, 1, 2] if second_is_whole else [0, 2]), cut
        assert path.read_bytes().count(b"\n") == (3 if second_is_whole else 2)
        assert path.read_bytes().startswith(whole[:first])


@pytest.mark.parametrize("rubbish", [b"\0" * 4096, b"\0" * 100 + b"\n", b"\xff\xfe", b"[]", b"null\n", b'{"seq":1}\n'])
def test_what_a_power_cut_leaves_behind_is_cut_off(tmp_path: Path, rubbish: bytes) -> None:
    append(tmp_path, small(0))
    path = tmp_path / "runs" / "r.jsonl"
    with path.open("ab") as journal:
        journal.write(rubbish)
    assert kept(tmp_path) == [0]
    append(tmp_path, small(1))
    assert kept(tmp_path) == [0, 1]
    assert rubbish not in path.read_bytes()


def test_a_store_that_is_open_sees_what_another_one_mended(tmp_path: Path) -> None:
    async def both() -> list[int]:
        one, other = FileStore(tmp_path), FileStore(tmp_path)
        async with aclosing(one), aclosing(other):
            await one.append(small(0))
            await other.append(small(1))
            with (tmp_path / "runs" / "r.jsonl").open("ab") as journal:
                journal.write(b'{"torn')
            await one.append(small(2))
            with pytest.raises(DuplicateRecord):
                await other.append(small(2))
            await other.append(small(3))
            return [record.seq for record in await one.load("r")]

    assert asyncio.run(both()) == [0, 1, 2, 3]


def refused(directory: Path, call: Callable[[FileStore], Any] | None = None) -> tuple[str, str]:
    async def ask() -> None:
        async with aclosing(FileStore(directory)) as store:
            await (store.load("r") if call is None else call(store))

    with pytest.raises(StoreError) as caught:
        asyncio.run(ask())
    return caught.value.code, str(caught.value)


def test_a_damaged_line_before_the_last_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    append(tmp_path, small(0), small(1), small(2))
    path = tmp_path / "runs" / "r.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = lines[0] + lines[1][:40] + b"\n" + lines[2]
    path.write_bytes(damaged)
    assert refused(tmp_path) == ("damaged", f"`{path}`, line 2: not a record (JSONDecodeError)")
    assert refused(tmp_path, lambda store: store.append(small(3)))[0] == "damaged"
    assert path.read_bytes() == damaged


def test_the_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    append(tmp_path, small(0))
    (tmp_path / "runs" / "r.jsonl").rename(tmp_path / "runs" / "other.jsonl")
    path = tmp_path / "runs" / "other.jsonl"
    assert refused(tmp_path, lambda store: store.load("other")) == (
        "damaged",
        f"`{path}`, line 1: a record of run `r`",
    )


@pytest.mark.parametrize(
    "name, file",
    [
        ("run-1", "run-1"),
        ("A", "%41"),
        ("../../etc", "%2e%2e%2f%2e%2e%2fetc"),
        (".", "%2e"),
        ("é", "%c3%a9"),
        ("%41", "%2541"),
        ("a" * 180, "a" * 180),
    ],
)
def test_names_become_names_of_files(name: str, file: str) -> None:
    assert file_name(name) == file


def test_a_long_name_becomes_a_digest(tmp_path: Path) -> None:
    long = "A" * 512
    assert len(file_name(long)) == 65
    append(tmp_path, entry(long, 0))
    assert kept(tmp_path, long) == [0]


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    append(tmp_path, small(0))
    (tmp_path / "format").write_text(f"bobcat journals {FORMAT + 1}\n")
    assert refused(tmp_path) == (
        "too_new",
        f"`{tmp_path}` has schema {FORMAT + 1}, and this release of bobcat knows schemas up to {FORMAT}: "
        "upgrade bobcat",
    )


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "format").write_text("jpeg")
    assert refused(tmp_path) == (
        "damaged",
        f"`{tmp_path / 'format'}` is not a Bobcat store: give a directory of journals, or a new one",
    )


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    code, text = refused(path)
    assert code == "unavailable"
    assert text.startswith(f"`{path}` cannot be used: ")


def test_a_damaged_state_is_named(tmp_path: Path) -> None:
    append(tmp_path, small(0))
    path = tmp_path / "runs" / "r.json"
    path.write_text("{")
    assert refused(tmp_path, lambda store: store.run("r")) == (
        "damaged",
        f"`{path}` has no valid run status (JSONDecodeError)",
    )


@pytest.mark.parametrize(("name", "problem"), [("other", "ValueError"), ("\ud800", "UnicodeEncodeError")])
def test_the_state_of_another_run_is_damage(tmp_path: Path, name: str, problem: str) -> None:
    append(tmp_path, small(0))
    path = tmp_path / "runs" / "r.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "run_id": name}))
    for read in (lambda store: store.run("r"), lambda store: store.runs()):
        assert refused(tmp_path, read) == ("damaged", f"`{path}` has no valid run status ({problem})")


def _append_with_little_room(directory: Path, answers: Any) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    try:
        append(directory, *(entry("r", seq) for seq in range(10)))
    except StoreError as error:
        answers.put((error.code, kept(directory)))


def test_a_disk_that_is_full_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=_append_with_little_room, args=(tmp_path, answers))
    child.start()
    code, positions = answers.get(timeout=60)
    child.join(60)
    assert (code, positions) == ("unavailable", [0, 1])
    data = (tmp_path / "runs" / "r.jsonl").read_bytes()
    assert [json.loads(line)["seq"] for line in data.splitlines()] == [0, 1]
    append(tmp_path, entry("r", 2))
    assert kept(tmp_path) == [0, 1, 2]


def test_a_store_that_was_closed_says_so(tmp_path: Path) -> None:
    async def late() -> None:
        store = FileStore(tmp_path)
        await store.append(small(0))
        await store.aclose()
        await store.append(small(1))

    with pytest.raises(StoreError, match="was closed; create another store"):
        asyncio.run(late())


def test_an_identity_that_another_process_is_about_to_write_is_not_damage(tmp_path: Path) -> None:
    """The file is created before it is written; the other process holds the lock of the directory meanwhile."""

    async def main() -> None:
        (tmp_path / "s").mkdir()
        (tmp_path / "s" / "store").touch()
        async with aclosing(FileStore(tmp_path / "s")) as store:
            await store.set_status("r", "succeeded")
            assert [run.run_id for run in await store.runs()] == ["r"]

    asyncio.run(main())
