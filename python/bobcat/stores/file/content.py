"""The content of a store's files: the format of the directory, the states of runs, and documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from bobcat.errors import StoreError
from bobcat.stores.codec import UNREADABLE, body_of, moment_of
from bobcat.stores.file.disk import file_name
from bobcat.stores.local import RunState
from bobcat.stores.protocol import Entry

FORMAT_LINE = "bobcat journals "


@dataclass(frozen=True, slots=True)
class _Document:
    """A document in its file."""

    kind: str
    key: str
    version: int
    updated: int
    body: Mapping[str, Any]


def format_of(path: Path) -> int | None:
    """The format that a directory declares; None without one."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    version = text.removeprefix(FORMAT_LINE).strip()
    if not text.startswith(FORMAT_LINE) or not version.isdecimal():
        raise StoreError("damaged", f"`{path}` is not a Bobcat store: give a directory of journals, or a new one")
    return int(version)


def parsed(detail: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """The detail of a state, as text or as a mapping."""
    return body_of(detail) if isinstance(detail, str) else MappingProxyType(detail)


def state_of(path: Path) -> RunState | None:
    """The state in a file; None without one."""
    try:
        state = msgspec.convert(json.loads(path.read_bytes()), RunState)
        moment_of(state.created), moment_of(state.updated), moment_of(state.expires)
        if isinstance(state.detail, str):
            raise TypeError("a detail that is not a mapping")
        if file_name(state.run_id) != path.stem:
            raise ValueError("the state of another run")
        return state
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        raise StoreError("damaged", f"`{path}` has no valid run status ({type(error).__name__})") from error


def entry_of(path: Path) -> Entry | None:
    """The document of a file; None without one."""
    try:
        found = msgspec.convert(json.loads(path.read_bytes()), _Document)
        return Entry(found.kind, found.key, found.version, MappingProxyType(found.body), moment_of(found.updated))
    except FileNotFoundError:
        return None
    except UNREADABLE as error:
        raise StoreError("damaged", f"`{path}` is not a document ({type(error).__name__})") from error
