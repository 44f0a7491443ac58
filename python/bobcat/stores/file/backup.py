"""Backup of a store in files: read under the locks of all that may change, and restored as one new directory."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bobcat.errors import StoreError
from bobcat.stores.backup_items import (
    RUN_FIELDS,
    SavedDocument,
    SavedItem,
    SavedRecord,
    SavedRun,
    SavedStore,
    next_epoch,
    not_empty,
    parts,
    restored_run,
)
from bobcat.stores.codec import FENCE_JUMP, line_of, microseconds, row_of
from bobcat.stores.file import journal
from bobcat.stores.file.content import FORMAT_LINE, entry_of, parsed, state_of
from bobcat.stores.file.disk import file_name, locked, sync_directory
from bobcat.stores.file.identity import read_identity, write_identity
from bobcat.stores.file.queue import LOCK, TURNS
from bobcat.stores.local import RunState
from bobcat.stores.private_files import open_private, private_directory
from bobcat.stores.protocol import LIVE
from bobcat.text.json_text import json_text

FENCE = "fence"
STATE_FIELDS = tuple(name for name in RUN_FIELDS if name in RunState.__slots__)


def save(directory: Path, write: Callable[[SavedItem], None]) -> None:
    """Write every item of one state. Writers of live runs and of documents wait meanwhile."""
    with _all_locked(directory):
        known = read_identity(directory)
        write(SavedStore(1 if known is None else known.epoch, _first_fence(directory)))
        runs = sorted((directory / "runs").glob("[!.]*.json"))
        states = [state for path in runs if (state := state_of(path)) is not None]
        for state in sorted(states, key=lambda each: each.run_id):
            write(_run(directory, state))
        for state in sorted(states, key=lambda each: each.run_id):
            for record in _records(directory, state.run_id):
                write(record)
        entries = [entry_of(path) for path in (directory / "documents").glob("*/[!.]*.json")]
        for entry in sorted((each for each in entries if each is not None), key=lambda each: (each.kind, each.key)):
            write(
                SavedDocument(
                    entry.kind, entry.key, entry.version, json_text(dict(entry.body)), microseconds(entry.updated)
                )
            )


@contextmanager
def _all_locked(directory: Path) -> Iterator[None]:
    """The locks of the queue, of every run that is not over, and of the documents: in the order of the writers."""
    with ExitStack() as stack:
        _raise_limit()
        try:
            stack.enter_context(locked(directory / LOCK))
            for path in sorted((directory / "runs").glob("[!.]*.json")):
                state = state_of(path)
                if state is not None and (state.status in LIVE or state.owner is not None):
                    stack.enter_context(locked(path.with_suffix(".jsonl")))
            for kind in sorted((directory / "documents").glob("*")):
                stack.enter_context(locked(kind / ".lock"))
        except OSError as error:
            if error.errno != errno.EMFILE:
                raise
            raise StoreError(
                "busy", f"`{directory}` has more live runs than this process may lock (`ulimit -n`)"
            ) from error
        yield


def _raise_limit() -> None:
    """Open as many files as the system permits: each live run needs one."""
    import resource  # only POSIX has it, as the locks

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _run(directory: Path, state: RunState) -> SavedRun:
    values: dict[str, Any] = {name: getattr(state, name) for name in STATE_FIELDS}  # Any: fields of a state
    values["detail"] = json_text(dict(parsed(state.detail)))
    count, head = journal.read_mark(directory / "runs" / f"{file_name(state.run_id)}.head") or (None, None)
    last = max((record.seq for record in _records(directory, state.run_id)), default=-1)
    return SavedRun(**values, records=count, last=last, head=head)


def _records(directory: Path, run_id: str) -> Iterator[SavedRecord]:
    path = directory / "runs" / f"{file_name(run_id)}.jsonl"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    records = [record for record, _ in journal.read(path, run_id, data)]
    for record in sorted(records, key=lambda each: each.seq):
        yield SavedRecord.of(row_of(record))


def _first_fence(directory: Path) -> int:
    try:
        return int((directory / FENCE).read_text())
    except FileNotFoundError:
        return 0


def restore(directory: Path, format: int, now: int, items: Iterable[SavedItem]) -> None:
    """Write all items, or none: into a new directory beside the store's, which it then replaces."""
    known = read_identity(directory)
    if any((directory / "runs").glob("[!.]*.json*")) or any((directory / "documents").glob("*/[!.]*.json")):
        raise not_empty(f"`{directory}`")
    private_directory(directory.parent)
    made = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        _write(made, format, now, 1 if known is None else known.epoch, items)
        shutil.rmtree(directory, ignore_errors=True)  # it has nothing but its own identity
        os.rename(made, directory)
        sync_directory(directory.parent)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _write(made: Path, format: int, now: int, own_epoch: int, items: Iterable[SavedItem]) -> None:
    saved, groups = parts(items)
    private_directory(made / "runs")
    turn = 0
    for _, group in groups:
        open_run: tuple[str, list[bytes]] = ("", [])
        for item in group:
            match item:
                case SavedRun():
                    _write_run(made, restored_run(item))
                    turn = max(turn, item.place)
                case SavedRecord():
                    if item.run_id != open_run[0]:
                        _write_records(made, *open_run)
                        open_run = item.run_id, []
                    open_run[1].append(line_of(item.row).encode() + b"\n")
                case SavedDocument():
                    _write_document(made, item)
                case SavedStore():
                    pass
        _write_records(made, *open_run)
    _write_file(made / FENCE, f"{saved.fence + FENCE_JUMP}\n".encode())
    _write_file(made / TURNS, json.dumps({"turn": turn, "served": {}}).encode())
    known = write_identity(made, epoch=1, known=None)
    write_identity(made, epoch=next_epoch(own_epoch, saved), known=known, now=now)
    _write_file(made / "format", f"{FORMAT_LINE}{format}\n".encode())
    os.sync()  # PERF: once, 1,000 runs in 1 s; a sync of each file takes 50 s


def _write_file(path: Path, data: bytes) -> None:
    """Write a new file of the directory that is not in use yet; it is synced with all others."""
    descriptor = open_private(path, os.O_WRONLY)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
    finally:
        os.close(descriptor)


def _write_run(made: Path, run: SavedRun) -> None:
    state = {name: getattr(run, name) for name in STATE_FIELDS}
    state |= {"owner": None, "expires": 0, "boot": None, "until": 0, "detail": json.loads(run.detail)}
    name = file_name(run.run_id)
    _write_file(made / "runs" / f"{name}.json", json_text(state).encode())
    if run.records is not None:
        mark = f"{run.records:020d} {run.head or '-':64}\n"
        _write_file(made / "runs" / f"{name}.head", mark.encode())
    if run.kind and run.status in LIVE:
        private_directory(made / "live")
        _write_file(made / "live" / name, b"")


def _write_records(made: Path, run_id: str, lines: list[bytes]) -> None:
    if lines:
        _write_file(made / "runs" / f"{file_name(run_id)}.jsonl", b"".join(lines))


def _write_document(made: Path, item: SavedDocument) -> None:
    directory = made / "documents" / file_name(item.kind)
    private_directory(directory)
    names = json.dumps({"kind": item.kind, "key": item.key, "version": item.version, "updated": item.updated})
    _write_file(directory / f"{file_name(item.key)}.json", f'{names[:-1]}, "body": {item.body}}}\n'.encode())
