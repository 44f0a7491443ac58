"""Stores: where the journals of runs are kept."""

from bobcat.stores.memory import MemoryStore

__all__ = ["MemoryStore"]
