"""Reconcilers: did an action happen whose run was interrupted? They look at the files, and record nothing.

They run before the policy decides on the call again, and answer with what the tool would have returned.
"""

from __future__ import annotations

from bobcat.errors import ToolError
from bobcat.model.run import Reconciled
from bobcat.providers.filesystem.paths import Place, kind_of
from bobcat.providers.filesystem.reading import content_of
from bobcat.providers.filesystem.writing import status_of


def did_write(place: Place, data: bytes) -> Reconciled:
    """A write happened if the file has the content. Its absence is certain: a file appears as a whole."""
    try:
        with place.errors():
            content = content_of(place, len(data))
    except ToolError as error:
        return Reconciled.not_happened() if error.code == "missing" else Reconciled.unknown(str(error))
    if content == data:
        return Reconciled.happened({"path": place.given, "bytes": len(data), "created": None})
    return Reconciled.not_happened()


def did_delete(place: Place) -> Reconciled:
    """A deletion happened if the name is gone. One that is there may be a new file."""
    with place.errors(), place.parent() as (directory, name):
        status = status_of(name, directory)
    if status is None:
        return Reconciled.happened({"path": place.given, "type": None})
    return Reconciled.unknown(f"`{place.given}` exists; it may be another {kind_of(status)} of the same name")


def did_move(place: Place, to: Place) -> Reconciled:
    """A move happened if only the new name is there, and did not if only the old one is."""
    with place.errors(), place.parent() as (directory, name):
        old = status_of(name, directory)
    with to.errors(), to.parent() as (directory, name):
        new = status_of(name, directory)
    if old is None and new is not None:
        return Reconciled.happened({"path": place.given, "to": to.given, "type": kind_of(new), "replaced": None})
    if old is not None and new is None:
        return Reconciled.not_happened()
    return Reconciled.unknown("both names are there" if old is not None else "neither name is there")
