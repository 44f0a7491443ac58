"""Import of a thread from a file of `exporting`: checked as a whole, then written, its own document last."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from bobcat.attachments import AttachmentLimits, AttachmentStore
from bobcat.errors import AttachmentError, StoreError, ThreadError
from bobcat.journal.records import DuplicateRecord, StepRecord, step_record_from_json
from bobcat.model.attachment import Attachment
from bobcat.stores.codec import UNREADABLE, checked, name_of, row_of, text_of
from bobcat.stores.protocol import DurableStore, Entry, RunStatus, VersionConflict
from bobcat.threads.exporting import DOCUMENTS, FORMAT, VERSION
from bobcat.threads.journal import journal_id
from bobcat.threads.metadata import IMPORTING, KIND, LIVE, checked_title
from bobcat.threads.opening import checked_id
from bobcat.threads.sending import note_use

MAX_LINE = 128 * 1024 * 1024
_ANY_SIZE = AttachmentLimits(attachment_bytes=2**62, message_bytes=2**62)


@dataclass(slots=True)
class _File:
    """What the lines read so far say."""

    id: str = ""
    digest: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    """The next position of the records of each run."""


async def import_thread(store: DurableStore, path: Path) -> Entry:
    """Write the thread of a file into the store."""
    file = _File()
    for _ in _items(path, file):
        pass
    marked = await _mark(store, file)
    again = _File()
    for kind, value in _items(path, again):
        await _write(store, file.id, kind, value)
    if again.digest != file.digest:
        raise ThreadError("damaged", "the file was changed while it was read")
    body = {**file.metadata, "state": LIVE}
    try:
        return await store.put(KIND, file.id, body, expected=marked.version)
    except VersionConflict as error:
        raise _exists(file.id) from error


async def _mark(store: DurableStore, file: _File) -> Entry:
    """Reserve the id of the thread; a killed import of the same file is continued."""
    entry = await store.get(KIND, file.id)
    if entry is None:
        if await store.run(journal_id(file.id)) is not None:
            raise _exists(file.id)
        body = {"state": IMPORTING, "digest": file.digest}
        with suppress(VersionConflict):
            return await store.put(KIND, file.id, body, expected=0)
        entry = await store.get(KIND, file.id)
    if entry is None or entry.body.get("state") != IMPORTING:
        raise _exists(file.id)
    if entry.body.get("digest") != file.digest:
        raise ThreadError("importing", f"the import of thread {file.id!r} from another file has not ended")
    return entry


async def _write(store: DurableStore, thread: str, kind: str, value: Any) -> None:
    if kind == "record":
        try:
            await store.append(value)
        except DuplicateRecord:
            if list(await store.load_from(value.run_id, seq=value.seq, limit=1)) != [value]:
                raise _exists(thread) from None
    elif kind == "run":
        await store.set_status(value["run_id"], value["status"], detail=value["detail"])
    elif kind == "attachment":
        await note_use(store, thread, value.digest)
        await AttachmentStore(store, limits=_ANY_SIZE).save([value])
    elif kind == "document":
        try:
            await store.put(value["kind"], value["key"], value["body"], expected=0)
        except VersionConflict:
            found = await store.get(value["kind"], value["key"])
            if found is None or found.body != value["body"]:
                raise _exists(thread) from None


def _items(path: Path, file: _File) -> Iterator[tuple[str, Any]]:
    """The checked values of a file. The hash is compared after the last one. Raises `ThreadError` (`damaged`)."""
    hashed, count, ended = sha256(), 0, False
    with path.open("rb") as lines:
        while line := lines.readline(MAX_LINE):
            try:
                if ended or not line.endswith(b"\n"):
                    raise ValueError("a line that is cut off, or after the last one")
                kind, value = _item(line, file, first=count == 0)
                if kind == "end":
                    if value != {"lines": count, "sha256": hashed.hexdigest()}:
                        raise ValueError("a hash of other lines")
                    file.digest, ended = value["sha256"], True
            except (*UNREADABLE, StoreError, AttachmentError, ThreadError) as error:
                problem = f"line {count + 1} of the file is not that of an exported thread: {error}"
                raise ThreadError("damaged", problem) from error
            hashed.update(line)
            count += 1
            yield kind, value
    if not ended or not file.metadata:
        raise ThreadError("damaged", "the file ends early")


def _item(line: bytes, file: _File, *, first: bool) -> tuple[str, Any]:
    """The kind and the value of a line."""
    ((kind, value),) = json.loads(line).items()
    if first != (kind == "thread") or not isinstance(value, dict):
        raise ValueError("the first line, and no other, names the thread")
    return kind, _READERS[kind](value, file)


def _thread(value: dict[str, Any], file: _File) -> None:
    if value["format"] != FORMAT or value["version"] != VERSION:
        raise ValueError(f"the format is {value['format']!r}, version {value['version']!r}")
    file.id = checked_id(value["id"])


def _record(value: dict[str, Any], file: _File) -> StepRecord:
    record = checked(step_record_from_json(json.dumps(value)))
    row_of(record)
    _check_run(record.run_id, file)
    if record.seq != file.positions.get(record.run_id, 0):
        raise ValueError("a record is missing before this one")
    file.positions[record.run_id] = record.seq + 1
    return record


def _run(value: dict[str, Any], file: _File) -> dict[str, Any]:
    _check_run(value["run_id"], file)
    if value["status"] not in get_args(RunStatus):
        raise ValueError(f"unknown status {value['status']!r}")
    text_of("status", value["detail"])
    return value


def _document(value: dict[str, Any], file: _File) -> dict[str, Any]:
    prefix = f"{journal_id(file.id)}#"
    if value["kind"] not in DOCUMENTS or not name_of("key", value["key"]).startswith(prefix):
        raise ValueError("a document of something else")
    text_of("document", value["body"])
    return value


def _attachment(value: dict[str, Any], file: _File) -> Attachment:
    data = base64.b64decode(value.pop("data"), validate=True)
    reference = Attachment.from_reference(value)
    return Attachment(reference.name, reference.media_type, reference.digest, reference.size, data)


def _metadata(value: dict[str, Any], file: _File) -> None:
    if set(value) != {"title", "archived", "created"} or not isinstance(value["archived"], bool):
        raise ValueError("the thread's document has other fields")
    checked_title(value["title"])
    if datetime.fromisoformat(value["created"]).tzinfo is None:
        raise ValueError("a time without a zone")
    file.metadata = value


def _end(value: dict[str, Any], file: _File) -> Mapping[str, Any]:
    return value


def _check_run(run_id: object, file: _File) -> None:
    journal = journal_id(file.id)
    turn = isinstance(run_id, str) and run_id.startswith(f"{journal}#") and run_id.removeprefix(f"{journal}#")
    if run_id != journal and not (turn and turn.isascii() and turn.isdigit()):
        raise ValueError("a record of another run")


def _exists(thread: str) -> ThreadError:
    return ThreadError("exists", f"the store has a thread {thread!r}, or parts of one")


_READERS = {
    "thread": _thread, "record": _record, "run": _run, "document": _document, "attachment": _attachment,
    "metadata": _metadata, "end": _end,
}  # fmt: skip
