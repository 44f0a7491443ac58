"""Audit lines in files: one event per line, as `jsonl_sink` writes them. `bobcat log` reads them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import STDIN

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is damaged."""
POLL_SECONDS = 0.2
"""Seconds between two checks of a followed file."""

Line = tuple[int, bytes]
"""A line of a file with its number, counted from 1."""


def read_lines(path: str, *, follow: bool = False) -> Iterator[Line]:
    """Yield the lines of a file (`-`: standard input); with `follow`, also those that are written later.

    A file that is replaced or truncated while it is followed is read from its beginning, with numbers from 1.
    """
    if path == STDIN:
        yield from _numbered(sys.stdin.buffer)
        return
    try:
        with open(path, "rb") as file:
            if not follow:
                yield from _numbered(file)
                return
        while True:
            with open(path, "rb") as file:
                yield from _until_replaced(path, file)
    except OSError as error:
        raise InputError(f"cannot read `{path}`: {reason_of(error)}") from error


def _numbered(file: BinaryIO) -> Iterator[Line]:
    return enumerate(iter(partial(_line, file), b""), 1)


def _line(file: BinaryIO) -> bytes:
    """Return the next line; a line beyond the limit is skipped to its end, and returned as too long."""
    line = file.readline(MAX_LINE_BYTES + 1)
    if len(line) > MAX_LINE_BYTES:
        while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
    return line


def _until_replaced(path: str, file: BinaryIO) -> Iterator[Line]:
    """Yield the lines of a file that is being written, each once it is complete."""
    number, partial_line = 0, b""
    while True:
        part = file.readline(MAX_LINE_BYTES + 1)
        partial_line += part
        if partial_line.endswith(b"\n") or len(partial_line) > MAX_LINE_BYTES:
            number += 1
            yield number, partial_line
            partial_line = b""
        elif not part:
            if _is_replaced(path, file):
                if partial_line:
                    yield number + 1, partial_line
                return
            time.sleep(POLL_SECONDS)


def _is_replaced(path: str, file: BinaryIO) -> bool:
    """Return true if the file was truncated, or its name refers to another file."""
    try:
        named = os.stat(path)
    except FileNotFoundError:  # between two files
        return False
    opened = os.fstat(file.fileno())
    return (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino) or named.st_size < file.tell()
