"""Backup of a PostgreSQL store: one snapshot of the database, and one transaction to restore it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bobcat.stores.backup_items import (
    DOCUMENT_FIELDS,
    RECORD_FIELDS,
    RUN_FIELDS,
    SavedDocument,
    SavedItem,
    SavedRecord,
    SavedRun,
    SavedStore,
    counted,
    next_epoch,
    not_empty,
    parts,
    restored_run,
)
from bobcat.stores.codec import FENCE_JUMP, RecordRow, microseconds, moment_of

if TYPE_CHECKING:
    from bobcat.stores.postgres.pool import Connection

PAGE = 1000
"""Number of rows that are fetched at once."""
TIMES = frozenset(("created", "updated", "run_at", "look"))
"""Fields that are times in this database."""

_RECORD_COLUMNS = ("run_id", "seq", "kind", "idempotency_key", "body", "made")


async def save(connection: Connection, schema: str, write: Callable[[SavedItem], None]) -> None:
    """Write every item of one state of the schema: writers go on meanwhile."""
    async with connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        found = await connection.execute(f'SELECT epoch, fence FROM "{schema}".store'.encode())
        write(SavedStore(*(await found.fetchone() or (1, 0))))
        await _each(connection, f'SELECT {", ".join(RUN_FIELDS)} FROM "{schema}".runs ORDER BY run_id',
                    lambda row: write(_run(row)))  # fmt: skip
        await _each(connection, f'SELECT {", ".join(_RECORD_COLUMNS)} FROM "{schema}".records ORDER BY run_id, seq',
                    lambda row: write(SavedRecord.of(RecordRow._make((*row, "")))))  # fmt: skip
        await _each(connection, f'SELECT {", ".join(DOCUMENT_FIELDS)} FROM "{schema}".documents ORDER BY kind, key',
                    lambda row: write(_document(row)))  # fmt: skip


async def _each(connection: Connection, query: str, use: Callable[[tuple[Any, ...]], None]) -> None:
    """Call `use` with each row. Any: columns."""
    async with connection.cursor(name=f"backup_{uuid.uuid4().hex}") as cursor:
        cursor.itersize = PAGE
        await cursor.execute(query.encode())
        async for row in cursor:
            use(row)


def _document(row: tuple[Any, ...]) -> SavedDocument:  # Any: columns
    kind, key, version, body, updated = row
    return SavedDocument(kind, key, version, body, microseconds(updated))


def _run(row: tuple[Any, ...]) -> SavedRun:  # Any: columns
    values = dict(zip(RUN_FIELDS, row, strict=True))
    for name in TIMES:
        values[name] = None if values[name] is None else microseconds(values[name])
    return SavedRun(**{**values, "run_at": values["run_at"] or 0})


async def restore(connection: Connection, schema: str, items: Iterable[SavedItem]) -> None:
    """Write all items, or none."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"bobcat {schema}",))
        await connection.execute(f'LOCK TABLE "{schema}".runs, "{schema}".documents IN EXCLUSIVE MODE'.encode())
        for table in ("runs", "documents"):
            found = await connection.execute(f'SELECT 1 FROM "{schema}".{table} LIMIT 1'.encode())
            if await found.fetchone() is not None:
                raise not_empty(f"the schema `{schema}`")
        saved, groups = parts(items)
        for kind, group in groups:
            if kind is SavedRun:
                runs = (item for item in group if isinstance(item, SavedRun))
                await _copy(connection, f'"{schema}".runs', RUN_FIELDS, map(_run_row, runs))
            elif kind is SavedRecord:
                records = ((*_values(item, RECORD_FIELDS[:-1]), uuid.uuid4()) for item in group)
                await _copy(connection, f'"{schema}".records', (*_RECORD_COLUMNS, "token"), records)
            else:
                documents = (item for item in group if isinstance(item, SavedDocument))
                rows = (
                    (each.kind, each.key, each.version, each.body, moment_of(each.updated), uuid.uuid4())
                    for each in documents
                )
                await _copy(connection, f'"{schema}".documents', (*DOCUMENT_FIELDS, "token"), rows)
        await connection.execute(
            f"""UPDATE "{schema}".runs SET
            records = (SELECT count(*) FROM "{schema}".records WHERE run_id = runs.run_id),
            last = coalesce((SELECT max(seq) FROM "{schema}".records WHERE run_id = runs.run_id), -1)
            WHERE records < 0""".encode()
        )
        own = await (await connection.execute(f'SELECT epoch FROM "{schema}".store'.encode())).fetchone()
        await connection.execute(
            f'UPDATE "{schema}".store SET epoch = %s, restored = clock_timestamp(), fence = %s'.encode(),
            (next_epoch(own[0] if own else 1, saved), saved.fence + FENCE_JUMP),
        )
        await connection.execute(
            f"""SELECT setval('"{schema}".turns', greatest((SELECT max(place) FROM "{schema}".runs), 1))""".encode()
        )


def _run_row(run: SavedRun) -> tuple[object, ...]:
    run = counted(restored_run(run))
    values: dict[str, object] = {name: getattr(run, name) for name in RUN_FIELDS}
    for name in TIMES:
        values[name] = _moment(getattr(run, name))
    values["run_at"] = _moment(run.run_at) if run.kind else None
    return tuple(values.values())


def _moment(number: int | None) -> datetime | None:
    return None if number is None else moment_of(number)


def _values(item: object, names: tuple[str, ...]) -> Iterator[object]:
    return (getattr(item, name) for name in names)


async def _copy(
    connection: Connection, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]
) -> None:
    async with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()) as copy,
    ):
        for row in rows:
            await copy.write_row(row)
