"""Audit lines in files: one event per line, as `jsonl_sink` writes them. Read by `bobcat log`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import STDIN

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is damaged."""
POLL_SECONDS = 0.2
"""Pause between two looks at a file that is followed."""

Line = tuple[int, bytes]
"""A line of a file with its number, which begins at 1."""


def read_lines(path: str, *, follow: bool = False) -> Iterator[Line]:
    """The lines of a file (`-`: standard input); with `follow`, also those that are written later.

    A file that is replaced or cut while it is followed is read from its beginning, with numbers from 1.
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
    number = 0
    while line := _line(file):
        number += 1
        yield number, line


def _line(file: BinaryIO) -> bytes:
    """The next line; what is longer than it may be is skipped to its end, and comes as too long."""
    line = file.readline(MAX_LINE_BYTES + 1)
    if len(line) > MAX_LINE_BYTES:
        while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
    return line


def _until_replaced(path: str, file: BinaryIO) -> Iterator[Line]:
    """The lines of a file that is being written, each once it is complete."""
    number, begun = 0, b""
    while True:
        part = file.readline(MAX_LINE_BYTES + 1)
        begun += part
        if begun.endswith(b"\n") or len(begun) > MAX_LINE_BYTES:
            number += 1
            yield number, begun
            begun = b""
        elif not part:
            if _is_replaced(path, file):
                if begun:
                    yield number + 1, begun
                return
            time.sleep(POLL_SECONDS)


def _is_replaced(path: str, file: BinaryIO) -> bool:
    """True when the file was cut, or its name is another file's."""
    try:
        named = os.stat(path)
    except FileNotFoundError:  # between two files
        return False
    opened = os.fstat(file.fileno())
    return (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino) or named.st_size < file.tell()
