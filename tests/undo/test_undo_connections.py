"""An undo store outlives the end of its connection to PostgreSQL."""

from __future__ import annotations

import psycopg

from bobcat.undo.store import UndoStore


def test_an_idle_connection_that_the_server_ended_is_replaced(database: str) -> None:
    store = UndoStore(database)
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s"
    with psycopg.connect(database, autocommit=True) as other:
        for work in (lambda: store.prune(0.0), lambda: store.unfinished()):
            ended = other.execute(query, (other.info.backend_pid,)).fetchall()
            assert ended == [(True,)]
            assert not work()
    store.close()
