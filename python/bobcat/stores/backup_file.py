"""A backup of a store in one file: JSON lines, of which the last has the SHA-256 of all before it.

The first line names the format, its version and the time. The items of `backup_items` follow, one a line, with a
`type`: a `store`, then every `run`, every `record` and every `document`. A name that ends with `.gz`: compressed.
"""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, NoReturn, cast

import msgspec

from bobcat._core import __version__
from bobcat.errors import StoreError
from bobcat.stores.backup_items import BackupStore, SavedDocument, SavedItem, SavedRecord, SavedRun, SavedStore

FORMAT = "bobcat-backup"
VERSION = 1
GZIP = b"\x1f\x8b"
MAX_LINE = 512 * 1024 * 1024
"""Length of a line: a body of 64 MiB, with each of its characters escaped."""

_ORDER = (SavedStore, SavedRun, SavedRecord, SavedDocument)


class _Header(msgspec.Struct, frozen=True, tag="header"):
    format: str
    version: int
    created: datetime
    bobcat: str


class _End(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="end"):
    runs: int
    records: int
    documents: int
    sha256: str


_Line = _Header | SavedStore | SavedRun | SavedRecord | SavedDocument | _End


@dataclass(frozen=True, slots=True)
class BackupSummary:
    """What a backup contains, and when it was made."""

    created: datetime
    epoch: int
    runs: int
    records: int
    documents: int


async def write_backup(store: BackupStore, path: Path) -> BackupSummary:
    """Write the content of a store to the new file `path`, whole or not at all.

    Raises `FileExistsError`, other `OSError` for a file that cannot be written, and `StoreError`.
    """
    with _new_file(path) as file:
        writer = _Writer(file)
        await store.save(writer.item)
        return writer.end()


class BackupReader:
    """A backup that was read once to its end and found whole. `items` reads it again. Close it."""

    def __init__(self, path: Path) -> None:
        """Read and check a file. Raises `OSError`, and `StoreError`: `damaged`, or `too_new`."""
        self._path = path
        self._file = path.open("rb")
        try:
            self.summary = self._check()
        except BaseException:
            self._file.close()
            raise

    def items(self) -> Iterator[SavedItem]:
        """The items, in their order."""
        for line in self._lines():
            if not isinstance(line, _Header | _End):
                yield line

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _lines(self) -> Iterator[_Line]:
        digest = sha256()
        decoder = msgspec.json.Decoder(_Line)
        for number, text in enumerate(self._texts(), 1):
            try:
                if not text.endswith(b"\n"):
                    raise ValueError("the line is cut")
                line = decoder.decode(text)
            except (msgspec.DecodeError, ValueError) as error:
                self._damaged(f"line {number} is not one of a backup: {error}")
            if isinstance(line, _End) and line.sha256 != digest.hexdigest():
                self._damaged("its content does not match its SHA-256")
            digest.update(text)
            yield line

    def _texts(self) -> Iterator[bytes]:
        self._file.seek(0)
        compressed = self._file.read(2) == GZIP
        self._file.seek(0)
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=self._file)) if compressed else self._file
        try:
            while text := stream.readline(MAX_LINE):
                yield text
        except (EOFError, gzip.BadGzipFile, OSError) as error:
            if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
                raise
            self._damaged(f"it cannot be decompressed: {error}")
        except Exception as error:  # `zlib.error`, which is no `OSError`
            if type(error).__module__ != "zlib":
                raise
            self._damaged(f"it cannot be decompressed: {error}")

    def _check(self) -> BackupSummary:
        counts = dict.fromkeys(_ORDER, 0)
        header: _Header | None = None
        end: _End | None = None
        saved: SavedStore | None = None
        position = 0
        runs: set[str] = set()
        before: tuple[str, int] = ("", -1)
        for line in self._lines():
            if end is not None:
                self._damaged("it has lines after its end")
            if header is None:
                header = self._header(line)
            elif isinstance(line, _End):
                end = line
            elif isinstance(line, _Header):
                self._damaged("it has two headers")
            else:
                place = _ORDER.index(type(line))
                if place < position or (place == 0) != (saved is None):
                    self._damaged(f"a {_ORDER[place].__struct_config__.tag} stands in the wrong place")
                position = place
                counts[type(line)] += 1
                match line:
                    case SavedStore():
                        saved = line
                    case SavedRun():
                        if line.run_id in runs:
                            self._damaged(f"the run `{line.run_id}` occurs twice")
                        runs.add(line.run_id)
                    case SavedRecord():
                        if line.run_id not in runs:
                            self._damaged(f"a record belongs to no run: `{line.run_id}`")
                        if (line.run_id, line.seq) == before:
                            self._damaged(f"the record {line.seq} of the run `{line.run_id}` occurs twice")
                        before = line.run_id, line.seq
                    case SavedDocument():
                        pass
        if header is None or saved is None or end is None:
            self._damaged("it ends before its last line")
        found = (counts[SavedRun], counts[SavedRecord], counts[SavedDocument])
        if found != (end.runs, end.records, end.documents):
            self._damaged("it has other numbers of items than it says")
        return BackupSummary(header.created, saved.epoch, *found)

    def _header(self, line: _Line) -> _Header:
        if not isinstance(line, _Header) or line.format != FORMAT:
            self._damaged("it is not a backup of a store")
        if line.version > VERSION:
            raise StoreError(
                "too_new", f"`{self._path}` has version {line.version} of the format; this release reads {VERSION}"
            )
        return line

    def _damaged(self, problem: str) -> NoReturn:
        raise StoreError("damaged", f"the backup `{self._path}` is refused: {problem}")


class _Writer:
    """Writes lines, and the hash of them at the end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash, self._encode = file, sha256(), msgspec.json.Encoder().encode
        self._counts = dict.fromkeys(_ORDER, 0)
        self._epoch = 0
        self._created = datetime.now(UTC)
        self._line(_Header(FORMAT, VERSION, self._created, __version__))

    def item(self, item: SavedItem) -> None:
        """Write one item."""
        self._counts[type(item)] += 1
        if isinstance(item, SavedStore):
            self._epoch = item.epoch
        self._line(item)

    def end(self) -> BackupSummary:
        """Write the last line."""
        runs, records, documents = (self._counts[kind] for kind in _ORDER[1:])
        self._line(_End(runs, records, documents, self._hash.hexdigest()))
        return BackupSummary(self._created, self._epoch, runs, records, documents)

    def _line(self, line: _Line) -> None:
        text = self._encode(line) + b"\n"
        self._hash.update(text)
        self._file.write(text)


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that is put at `path` when the block ends, synced, and removed when it raises."""
    if path.exists():
        raise FileExistsError(errno.EEXIST, "file exists", str(path))
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0) as compressed:
                    yield cast("IO[bytes]", compressed)
            else:
                yield cast("IO[bytes]", file)
            file.flush()
            os.fsync(file.fileno())
            os.link(file.name, path)  # does not replace a file that was made meanwhile
        finally:
            with suppress(OSError):
                os.unlink(file.name)
