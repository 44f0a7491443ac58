"""A decision log in a file of lines, one entry each, and its head in the file `PATH-head` beside it.

Every append holds `flock` on the head's file, writes one line, syncs it, and then overwrites the head. So the head may
be behind the lines after a crash, never ahead of them: a log that ends before its head was cut. An incomplete last line
behind the head was never acknowledged; the next append moves it to `PATH-torn`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

from bobcat.decision_log.entry import EMPTY, Head, Row, line_row, row_hash, row_line
from bobcat.decision_log.head_file import HeadFile, Mark
from bobcat.decision_log.medium import Located, Stored
from bobcat.decision_log.os_errors import to_log_error
from bobcat.errors import DecisionLogError
from bobcat.logs import logger
from bobcat.stores.private_files import create_private, open_private

log = logger("decision_log")


class JsonlLog:
    """The storage of one file."""

    unit = "line"

    def __init__(self, path: str, *, must_exist: bool = False, read_only: bool = False) -> None:
        self._path = path
        if (must_exist or read_only) and not os.path.isfile(path):
            raise DecisionLogError("not_there", f"there is no decision log at `{path}`")
        self._lock = threading.RLock()
        self._closed = False
        self._process = os.getpid()
        self._place = Mark(EMPTY, 0)
        """A position and its offset in the file with the inode `_inode`: reads begin there."""
        self._inode = 0
        self._head_file: HeadFile | None = None
        if not read_only:
            with self._locked():
                pass

    def append(self, make: Callable[[Head], Row]) -> Row:
        """Write the line that follows the head."""
        with self._locked() as (head_file, mark):
            row = make(mark.head)
            line = row_line(row).encode() + b"\n"
            descriptor = os.open(self._path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
            try:
                _write(descriptor, line, mark.size)
            finally:
                os.close(descriptor)
            head_file.write(Mark(Head(row.seq, row.hash), mark.size + len(line)))
        return row

    def prune(self, through: int, make: Callable[[Head], Row]) -> Row:
        """Replace the file by one that begins behind `through` and ends with a new row."""
        with self._locked() as (head_file, mark):
            row = make(mark.head)
            draft = f"{self._path}-draft"  # of a crash, if it exists: the lock is held
            create_private(draft)
            try:
                os.chmod(draft, os.stat(self._path).st_mode & 0o7777)
                with open(draft, "wb") as file:
                    file.writelines(row_line(kept).encode() + b"\n" for kept in self.rows(through))
                    file.write(row_line(row).encode() + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                    size = file.tell()
                # The size is smaller from here on: with the old head, a crash would look like a cut.
                head_file.write(Mark(mark.head, 0), sync=True)
                os.replace(draft, self._path)
                _sync_directory(self._path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft)
                raise
            head_file.write(Mark(Head(row.seq, row.hash), size), sync=True)
        return row

    def rows(self, after: int = 0, until: int | None = None) -> Iterator[Row]:
        """Yield rows by position."""
        with self._translated(), open(self._path, "rb") as file:
            inode = os.fstat(file.fileno()).st_ino
            with self._lock:
                known = self._place if self._inode == inode and self._place.head.seq <= after else None
            offset = file.seek(known.size) if known else 0
            number = 0
            while (line := file.readline()).endswith(b"\n"):
                number += 1
                try:
                    row = line_row(line[:-1].decode("ascii"))
                except (ValueError, RecursionError, TypeError) as error:
                    where = f"line {number}" if not known else f"the line behind entry {after}"
                    raise DecisionLogError("damaged", f"`{self._path}`: {where} cannot be read: {error}") from error
                if until is not None and row.seq > until:
                    return
                offset += len(line)
                if row.seq > after:
                    yield row
                    with self._lock:
                        self._place, self._inode = Mark(Head(row.seq, row.hash), offset), inode

    def last_marker(self) -> Row | None:
        """Find the last row of kind `pruned`."""
        found = None
        with suppress(DecisionLogError):  # of a damaged line: a verification reports it
            for row in self.rows():
                if row.kind == "pruned":
                    found = row
        return found

    def of_records(self, record_ids: Collection[str]) -> Iterator[Row]:
        """Yield the rows of some records."""
        chosen = frozenset(record_ids)
        return (row for row in self.rows() if row.record_id in chosen) if chosen else iter(())

    def newest_ids(self) -> Iterator[str]:
        """Yield the record ids of the rows from the end."""
        last = {row.record_id: row.seq for row in self.rows()}
        yield from sorted(last, key=lambda record_id: last[record_id], reverse=True)

    def located(self) -> Iterator[Located]:
        """Yield every line with its number."""
        with self._translated(), open(self._path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    yield Located(number, None, "the line is incomplete", unfinished=True)
                    return
                try:
                    yield Located(number, line_row(line[:-1].decode("ascii")))
                except (ValueError, RecursionError, TypeError) as error:
                    yield Located(number, None, f"the line is not an entry: {error}")

    def stored(self) -> Stored:
        """Read the head's file."""
        with self._translated():
            try:
                mark = HeadFile.read(self._path)
            except FileNotFoundError:
                name = os.path.basename(self._path)
                return Stored(
                    None, f"`{name}-head` is missing: entries removed at the end are not noticed", exact=False
                )
        if mark is None:
            return Stored(None, "the file of the head is damaged", exact=False, damaged=True)
        return Stored(mark.head, exact=False)

    def close(self) -> None:
        """Close the head's file."""
        with self._lock:
            self._closed = True
            if self._head_file is not None:
                self._head_file.close()
                self._head_file = None

    @contextmanager
    def _locked(self) -> Iterator[tuple[HeadFile, Mark]]:
        """Lock the log against all other threads and processes, and find its end."""
        if self._process != os.getpid():  # a fork: a thread of the parent may have held the lock
            self._lock, self._process = threading.RLock(), os.getpid()
        with self._lock, self._translated():
            if self._closed:
                raise DecisionLogError("closed", f"the decision log `{self._path}` was closed")
            if self._head_file is not None and not self._head_file.is_mine():
                self._head_file.close()
                self._head_file = None
            if self._head_file is None:
                self._head_file = HeadFile(self._path)
            head_file = self._head_file
            with head_file.locked():
                yield head_file, self._end(head_file)

    def _end(self, head_file: HeadFile) -> Mark:
        """The end of the log, after a crash repaired."""
        mark = head_file.current()
        if mark is None:
            mark = self._created(head_file)
        try:
            size = os.stat(self._path).st_size
        except FileNotFoundError as error:
            raise DecisionLogError(
                "damaged", f"`{self._path}` is missing, and its head names {mark.head.seq} entries"
            ) from error
        if size == mark.size and (size or not mark.head.seq):
            return mark
        if size < mark.size:
            raise DecisionLogError(
                "damaged",
                f"`{self._path}` has {size} bytes, and {mark.size} were written: entries at the end are missing",
            )
        return self._caught_up(head_file, mark)

    def _created(self, head_file: HeadFile) -> Mark:
        """Begin a log. A log with entries and without a head is refused: a removed tail would go unnoticed."""
        create_private(self._path)
        if os.stat(self._path).st_size:
            raise DecisionLogError(
                "damaged", f"`{self._path}` has no valid `{self._path}-head`: verify it, and begin another log"
            )
        head_file.write(Mark(EMPTY, 0), sync=True)
        _sync_directory(self._path)
        return Mark(EMPTY, 0)

    def _caught_up(self, head_file: HeadFile, mark: Mark) -> Mark:
        """Follow lines that a crashed process wrote behind the head; set an incomplete one aside."""
        with open(self._path, "rb") as file:
            if mark.size == 0 and mark.head.seq:  # a crash while pruning: the chain has the place
                mark = self._found_again(mark)
            file.seek(mark.size)
            head, size = mark
            while (line := file.readline()).endswith(b"\n"):
                try:
                    row = line_row(line[:-1].decode("ascii"))
                    valid = row.seq == head.seq + 1 and row.previous == head.hash and row_hash(row) == row.hash
                except (ValueError, RecursionError, TypeError):
                    valid = False
                if not valid:
                    raise DecisionLogError(
                        "damaged", f"`{self._path}`: the line behind entry {head.seq} does not follow it"
                    )
                head, size = Head(row.seq, row.hash), size + len(line)
        if line:
            self._set_aside(line, size)
        caught_up = Mark(head, size)
        head_file.write(caught_up)
        return caught_up

    def _found_again(self, mark: Mark) -> Mark:
        size = 0
        with open(self._path, "rb") as file:
            for line in file:
                size += len(line)
                with suppress(ValueError, RecursionError, TypeError):
                    row = line_row(line.rstrip(b"\n").decode("ascii"))
                    if (row.seq, row.hash) == mark.head:
                        return Mark(mark.head, size)
        raise DecisionLogError("damaged", f"`{self._path}`: entry {mark.head.seq}, which was written last, is missing")

    def _set_aside(self, line: bytes, size: int) -> None:
        """Move an incomplete line to `PATH-torn`."""
        descriptor = open_private(f"{self._path}-torn", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.truncate(self._path, size)
        log.warning("%s ended with an incomplete line of a crashed append, now in %s-torn", self._path, self._path)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DecisionLogError:
            raise
        except OSError as error:
            raise to_log_error(self._path, error) from error


def _write(descriptor: int, line: bytes, size: int) -> None:
    """Write a line at the end and sync it, or leave the file as it was."""
    try:
        view, offset = memoryview(line), size
        while view:
            written = os.pwrite(descriptor, view, offset)
            view, offset = view[written:], offset + written
        os.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _sync_directory(path: str) -> None:
    """Make a file's name durable."""
    descriptor = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
