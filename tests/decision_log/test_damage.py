"""Damage: every edit, drop, swap, insertion and cut at any place is found, and the place is named."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.decision_log import DecisionLogError, Report, open_log, verify

COUNT = 12
KEY = b"k" * 32
_templates: dict[str, Path] = {}


def fill(path: Path, *, pruned: bool) -> None:
    """Twelve present entries; with `pruned`, behind removed ones, and the marker is among them."""
    with open_log(path, KEY) as log:
        if pruned:
            for number in range(3):
                log.append(f"gone{number}", "outcome", {"status": "ok"})
            cut = log.append("r0", "decision", {"tool": "t"}).at
            log.append("r0", "outcome", {"status": "ok"})
            log.prune(cut)
        else:
            log.append("r0", "decision", {"tool": "t"})
            log.append("r0", "outcome", {"status": "ok"})
            log.append("r1", "decision", {"tool": "t", "args": {"a": [1, 2.5, "é"]}})
        for number in range(4):
            log.append(f"s{number}", "decision", {"tool": "t", "args": {"n": number}})
        log.checkpoint()
        for number in range(3):
            log.append(f"s{number}", "outcome", {"status": "ok"})
        log.checkpoint()


@contextmanager
def copy_of(name: str) -> Iterator[Path]:
    """A fresh copy of a log: of a file with this ending, `pruned` or not."""
    with tempfile.TemporaryDirectory() as folder:
        if name not in _templates:
            origin = Path(tempfile.mkdtemp()) / name
            fill(origin, pruned="pruned" in name)
            _templates[name] = origin
        for file in _templates[name].parent.iterdir():
            shutil.copy(file, folder)
        yield Path(folder) / name


@pytest.fixture(scope="module", autouse=True)
def _templates_are_removed() -> Iterator[None]:
    yield
    for path in _templates.values():
        shutil.rmtree(path.parent)
    _templates.clear()


def changed_lines(name: str, change: Callable[[list[bytes]], list[bytes]]) -> Report:
    with copy_of(name) as path:
        lines = path.read_bytes().splitlines(keepends=True)
        assert len(lines) == COUNT
        path.write_bytes(b"".join(change(lines)))
        return verify(path)


names = st.sampled_from(["log.jsonl", "pruned.jsonl"])
places = st.integers(0, COUNT - 1)


@pytest.mark.parametrize("name", ["log.jsonl", "pruned.jsonl", "log.db", "pruned.db"])
def test_the_logs_are_intact_at_first(name: str) -> None:
    with copy_of(name) as path:
        report = verify(path)
        assert (report.ok, report.entries, report.checkpoints) == (True, COUNT, 2)


@given(names, places, st.data())
def test_a_changed_byte_is_found_in_its_line(name: str, place: int, data: st.DataObject) -> None:
    def change(lines: list[bytes]) -> list[bytes]:
        line = lines[place]
        at = data.draw(st.integers(0, len(line) - 2))
        byte = data.draw(st.integers(0, 255).filter(lambda byte: byte not in (line[at], 10)))
        return [*lines[:place], line[:at] + bytes([byte]) + line[at + 1 :], *lines[place + 1 :]]

    report = changed_lines(name, change)
    assert report.damage is not None
    assert report.damage.place == place + 1


@given(names, places, st.data())
def test_inserted_and_removed_bytes_are_found_in_their_line(name: str, place: int, data: st.DataObject) -> None:
    def change(lines: list[bytes]) -> list[bytes]:
        line = lines[place][:-1]
        at = data.draw(st.integers(0, len(line) - 1))
        more = data.draw(st.binary(max_size=3).filter(lambda more: b"\n" not in more))
        end = at if more else data.draw(st.integers(at + 1, len(line)))
        return [*lines[:place], line[:at] + more + line[end:] + b"\n", *lines[place + 1 :]]

    report = changed_lines(name, change)
    assert report.damage is not None
    assert report.damage.place == place + 1


@given(names, places)
def test_a_dropped_line_is_found_at_its_place(name: str, place: int) -> None:
    report = changed_lines(name, lambda lines: lines[:place] + lines[place + 1 :])
    assert report.damage is not None
    assert report.damage.place == place + 1
    assert "missing" in report.damage.problem


@given(names, places, places)
def test_swapped_lines_are_found_at_the_first_of_them(name: str, one: int, other: int) -> None:
    def change(lines: list[bytes]) -> list[bytes]:
        lines[one], lines[other] = lines[other], lines[one]
        return lines

    report = changed_lines(name, change)
    if one == other:
        assert report.ok
    else:
        assert report.damage is not None
        assert report.damage.place == min(one, other) + 1


@given(names, places, st.integers(0, COUNT))
def test_a_repeated_line_is_found_where_it_was_inserted(name: str, place: int, to: int) -> None:
    report = changed_lines(name, lambda lines: [*lines[:to], lines[place], *lines[to:]])
    assert report.damage is not None
    expected = to + 1 if to != place else to + 2  # before itself, the second of the two is the repeated one
    assert report.damage.place == expected


@given(names, st.data())
def test_a_cut_at_any_byte_is_found(name: str, data: st.DataObject) -> None:
    with copy_of(name) as path:
        whole = path.read_bytes()
        size = data.draw(st.integers(0, len(whole) - 1))
        path.write_bytes(whole[:size])
        report = verify(path)
        assert report.damage is not None
        assert report.damage.place == whole[:size].count(b"\n") + 1
        with pytest.raises(DecisionLogError) as error:
            open_log(path)
        assert error.value.code == "damaged"


@given(names, st.integers(1, COUNT))
def test_a_beginning_that_was_dropped_is_found(name: str, count: int) -> None:
    report = changed_lines(name, lambda lines: lines[count:])
    assert report.damage is not None
    assert report.damage.place == 1


COLUMNS = ("record_id", "kind", "at", "body", "previous", "hash")


def changed_rows(name: str, *statements: tuple[str, tuple[object, ...]]) -> Report:
    with copy_of(name) as path:
        connection = sqlite3.connect(path)
        with connection:
            for statement, values in statements:
                connection.execute(statement, values)
        connection.close()
        return verify(path)


tables = st.sampled_from(["log.db", "pruned.db"])


def seq_at(name: str, place: int) -> int:
    return place + 1 + (3 if name == "pruned.db" else 0)


@given(tables, places, st.sampled_from(COLUMNS), st.data())
def test_a_changed_column_is_found_at_its_entry(name: str, place: int, column: str, data: st.DataObject) -> None:
    seq = seq_at(name, place)
    texts = st.text(alphabet='0123456789abcdefTZ:-{}" é\0', max_size=70)
    value = data.draw(texts | st.binary(max_size=4) | st.integers(0, 9))
    changed = changed_rows(name, (f"UPDATE bobcat_log_entries SET {column} = ? WHERE seq = ?", (value, seq)))
    with copy_of(name) as path, open_log(path) as log:
        same = getattr(next(log.medium.rows(seq - 1)), column) == value
    if not same:
        assert changed.damage is not None
        assert changed.damage.place == seq


@given(tables, places, places)
def test_swapped_and_dropped_rows_are_found(name: str, one: int, other: int) -> None:
    first, second = sorted((seq_at(name, one), seq_at(name, other)))
    update = "UPDATE bobcat_log_entries SET seq = ? WHERE seq = ?"
    swapped = changed_rows(name, (update, (-1, first)), (update, (first, second)), (update, (second, -1)))
    assert swapped.ok == (first == second)
    dropped = changed_rows(name, ("DELETE FROM bobcat_log_entries WHERE seq BETWEEN ? AND ?", (first, second)))
    assert dropped.damage is not None
    assert "missing" in dropped.damage.problem
    if first != second:
        assert swapped.damage is not None
        assert swapped.damage.place == first


@pytest.mark.parametrize("name", ["log.db", "pruned.db"])
def test_changed_heads_are_found(name: str) -> None:
    last = seq_at(name, COUNT - 1)
    for statement in (
        f"UPDATE bobcat_log_head SET seq = {last - 1}",
        f"UPDATE bobcat_log_head SET seq = {last + 1}",
        "UPDATE bobcat_log_head SET hash = replace(hash, substr(hash, 1, 1), 'x')",
        "DELETE FROM bobcat_log_head",
        f"INSERT INTO bobcat_log_head VALUES (1, {last}, 'x')",
    ):
        report = changed_rows(name, (statement, ()))
        assert not report.ok, statement
        with copy_of(name) as path:
            connection = sqlite3.connect(path)
            with connection:
                connection.execute(statement)
            connection.close()
            with open_log(path) as log, pytest.raises(DecisionLogError) as error:
                log.append("r", "decision", {})
            assert error.value.code == "damaged"


SERVER: dict[str, tuple[str, int, str]] = {
    "edited": (
        "UPDATE bobcat.decision_log SET body = replace(body, '\"n\":1', '\"n\":2') WHERE seq = 5",
        5,
        "changed",
    ),
    "dropped": ("DELETE FROM bobcat.decision_log WHERE seq IN (6, 7)", 8, "entries 6 to 7 are missing"),
    "swapped": (
        "UPDATE bobcat.decision_log SET seq = -seq WHERE seq IN (4, 9);"
        "UPDATE bobcat.decision_log SET seq = CASE seq WHEN -4 THEN 9 ELSE 4 END WHERE seq < 0",
        4,
        "does not follow",
    ),
    "truncated": ("DELETE FROM bobcat.decision_log WHERE seq > 10", 11, "missing at the end: entry 12"),
    "with a beginning that is gone": ("DELETE FROM bobcat.decision_log WHERE seq < 3", 3, "entries 1 to 2 are missing"),
    "with another head": ("UPDATE bobcat.decision_log_head SET seq = 11", 11, "the head has another hash"),
}


@pytest.mark.parametrize("name", SERVER)
def test_damage_on_a_server_is_found_at_its_entry(database: str, name: str) -> None:
    import psycopg

    with open_log(database, KEY) as log:
        for number in range(3):
            log.append(f"r{number}", "outcome", {"status": "ok"})
        for number in range(4):
            log.append(f"s{number}", "decision", {"tool": "t", "args": {"n": number}})
        log.checkpoint()
        for number in range(3):
            log.append(f"s{number}", "outcome", {"status": "ok"})
        log.checkpoint()
    assert verify(database).entries == COUNT
    statement, place, problem = SERVER[name]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statement.encode())
    damage = verify(database).damage
    assert damage is not None
    assert (damage.unit, damage.place) == ("entry", place)
    assert problem in damage.problem


@given(st.data())
def test_a_changed_head_file_is_found(data: st.DataObject) -> None:
    with copy_of("log.jsonl") as path:
        head = Path(f"{path}-head")
        whole = head.read_bytes()
        at = data.draw(st.integers(0, len(whole) - 1))
        head.write_bytes(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])
        report = verify(path)
        assert not report.ok
        with pytest.raises(DecisionLogError):
            open_log(path)


def test_a_missing_head_file_is_noted_and_nothing_is_appended() -> None:
    with copy_of("log.jsonl") as path:
        Path(f"{path}-head").unlink()
        for _ in range(2):
            report = verify(path)
            assert report.ok
            assert "is missing: entries removed at the end are not noticed" in report.notes[0]
            with pytest.raises(DecisionLogError) as error:
                open_log(path)
            assert error.value.code == "damaged"


def test_an_old_copy_is_found_with_a_checkpoint_that_was_kept_elsewhere(file_target: str) -> None:
    with open_log(file_target, KEY) as log:
        for number in range(5):
            log.append(f"r{number}", "decision", {})
    folder = Path(file_target).parent
    shutil.copytree(folder, folder / "old", ignore=shutil.ignore_patterns("old"))
    with open_log(file_target, KEY) as log:
        log.append("r5", "decision", {})
        kept = log.checkpoint()
    old = folder / "old" / Path(file_target).name
    assert verify(old).ok
    report = verify(old, checkpoint=kept)
    assert report.damage is not None
    assert report.damage.problem == "the given checkpoint has 7 entries, and the log 6"
    assert verify(file_target, checkpoint=kept).ok
