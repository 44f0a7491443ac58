"""The kind of a run: its name, or one version of it. A worker takes the runs of the kinds that its app has."""

from __future__ import annotations


def kind_of(name: str, version: str | None) -> str:
    """The kind that a worker must support: the runs of a name, or those of one version of it."""
    return name if version is None else f"{name}@{version}"
