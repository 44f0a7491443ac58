"""Export of a thread to one file of JSON lines.

The first line names the thread. Lines with a run, a record, a document or an attachment follow, then the thread's own
document, and a last line with the SHA-256 of all lines before it.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Protocol

from bobcat.attachments import AttachmentStore
from bobcat.errors import AttachmentError, ThreadBusy, ThreadError
from bobcat.journal.records import StepRecord, step_record_to_json
from bobcat.model.attachment import Attachment
from bobcat.stores.protocol import DurableStore, Entry, RunSummary
from bobcat.text.json_text import json_text
from bobcat.threads.cancelling import CANCEL
from bobcat.threads.journal import KEYS, NOTES, PAGE, TURN, journal_id, turn_id
from bobcat.threads.loading import PINS
from bobcat.threads.sweeping import every

FORMAT = "bobcat-thread"
VERSION = 1
DOCUMENTS = (KEYS, NOTES, PINS, CANCEL)
"""Kinds of the documents of a thread. Their keys begin with `thread:ID#`."""


class _Writer(Protocol):
    def write(self, data: bytes, /) -> object: ...


class _Lines:
    """Writes lines, and the hash of them at the end."""

    def __init__(self, file: _Writer) -> None:
        self._file, self._hash, self._count = file, sha256(), 0

    def add(self, kind: str, text: str) -> None:
        """Write a line with one value, given as JSON."""
        line = f'{{"{kind}":{text}}}\n'.encode()
        self._hash.update(line)
        self._count += 1
        self._file.write(line)

    def end(self) -> None:
        """Write the last line."""
        end = {"end": {"lines": self._count, "sha256": self._hash.hexdigest()}}
        self._file.write(json_text(end).encode() + b"\n")


async def export_thread(store: DurableStore, entry: Entry, path: Path) -> None:
    """Write a thread to a new file."""
    before = await _idle(store, entry.key)
    with _new_file(path) as file:
        lines = _Lines(file)
        lines.add("thread", json_text({"format": FORMAT, "version": VERSION, "id": entry.key}))
        await _add_journals(store, entry.key, before, lines)
        for kind in DOCUMENTS:
            async for document in every(store, kind, f"{journal_id(entry.key)}#"):
                lines.add("document", json_text({"kind": kind, "key": document.key, "body": dict(document.body)}))
        lines.add("metadata", json_text({name: entry.body[name] for name in ("title", "archived", "created")}))
        lines.end()
        after = await _idle(store, entry.key)
        if after is not None and before is not None and after.fence != before.fence:
            raise ThreadBusy("busy", f"thread {entry.key!r} went on during the export")


async def _add_journals(store: DurableStore, thread: str, run: RunSummary | None, lines: _Lines) -> None:
    """Add the runs of a thread and their records; each attachment once."""
    turns: list[int] = []
    attachments: dict[str, Attachment] = {}
    runs = [journal_id(thread)]
    for run_id in runs:
        async for record in _records(store, run_id):
            lines.add("record", step_record_to_json(record))
            attachments.update((each.digest, each) for each in _attachments_of(record))
            if record.kind == TURN:
                turns.append(record.body["turn"])
                runs.append(turn_id(thread, record.body["turn"]))
        summary = await store.run(run_id)
        if summary is not None:
            state = {"run_id": run_id, "status": summary.status, "detail": dict(summary.detail)}
            lines.add("run", json_text(state))
    for attachment in attachments.values():
        try:
            data = await AttachmentStore(store).read(attachment.digest)
        except AttachmentError as error:
            if error.code != "missing":
                raise
            continue
        lines.add("attachment", json.dumps({**attachment.reference(), "data": base64.b64encode(data).decode()}))


def _attachments_of(record: StepRecord) -> Iterator[Attachment]:
    found: Any = record.body.get("attachments")
    for reference in found if isinstance(found, list | tuple) else ():
        with suppress(AttachmentError):
            yield Attachment.from_reference(reference)


async def _records(store: DurableStore, run_id: str) -> AsyncIterator[StepRecord]:
    seq = 0
    while page := await store.load_from(run_id, seq=seq, limit=PAGE):
        for record in page:
            yield record
        seq = page[-1].seq + 1


async def _idle(store: DurableStore, thread: str) -> RunSummary | None:
    """The state of a thread without a turn in progress. Raises `ThreadBusy`."""
    run = await store.run(journal_id(thread))
    if run is not None and run.held:
        raise ThreadBusy("busy", f"thread {thread!r} has a turn in progress")
    return run


@contextmanager
def _new_file(path: Path) -> Iterator[_Writer]:
    """A file that gets its name when it is complete and durable."""
    if path.exists():
        raise _file_exists(path)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:100]}.", delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.link(file.name, path)
        except FileExistsError as error:
            raise _file_exists(path) from error
        finally:
            os.unlink(file.name)


def _file_exists(path: Path) -> ThreadError:
    return ThreadError("file_exists", f"the file {str(path)!r} exists")
