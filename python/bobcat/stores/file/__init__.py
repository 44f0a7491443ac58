"""Journals in a directory: a JSON Lines file for each run, which `bobcat trace` and every text tool read."""

from bobcat.stores.file.store import FileStore

__all__ = ["FileStore"]
