"""The write-ahead mode of a SQLite file."""

from __future__ import annotations

import sqlite3
import time


def write_ahead(connection: sqlite3.Connection, busy_seconds: float) -> str:
    """Set the mode, and return the one in force. SQLite does not wait for others that set it at the same moment."""
    until = time.monotonic() + busy_seconds
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return str(mode)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
