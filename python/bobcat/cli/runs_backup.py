"""`bobcat runs backup` and `bobcat runs restore`: the whole content of a store, in one file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bobcat.cli.failures import InputError, NotAllowed, reason_of
from bobcat.cli.options import format_option
from bobcat.cli.output import write_json
from bobcat.cli.store import store_option, with_store
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.stores.backup_file import BackupSummary
    from bobcat.stores.backup_items import BackupStore
    from bobcat.stores.protocol import DurableStore


@click.command(short_help="Write all runs and documents of a store to a file.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@store_option
@format_option
def backup(file: Path, store_url: str, output_format: str) -> None:
    """Write one consistent state of a store to the new file FILE: all runs, journals, jobs, approvals and grants.

    Workers go on meanwhile. A name that ends with `.gz` is compressed.
    """
    from bobcat.stores.backup_file import write_backup

    async def work(store: DurableStore) -> BackupSummary:
        return await write_backup(_saved(store), file)

    try:
        summary = with_store(store_url, work)
    except FileExistsError as error:
        raise NotAllowed(f"`{file}` exists already (exists)") from error
    except OSError as error:
        raise InputError(f"cannot write `{file}`: {reason_of(error)}") from error
    _report(file, summary, output_format, "has")


@click.command(short_help="Read a backup into an empty store.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@store_option
@format_option
def restore(file: Path, store_url: str, output_format: str) -> None:
    """Read FILE, which `backup` wrote, into an empty store of any kind, as a whole or not at all.

    The store begins its next epoch: unsafe actions of open runs that are not on record wait for approvals.
    """
    from bobcat.errors import StoreError
    from bobcat.stores.backup_file import BackupReader

    try:
        reader = BackupReader(file)
    except OSError as error:
        raise InputError(f"cannot read `{file}`: {reason_of(error)}") from error
    except StoreError as error:
        raise InputError(f"{error} ({error.code})") from error

    async def work(store: DurableStore) -> None:
        try:
            await _saved(store).restore(reader.items())
        except StoreError as error:
            if error.code != "not_empty":
                raise
            raise NotAllowed(f"{error} ({error.code})") from error

    with closing(reader):
        with_store(store_url, work, must_exist=False)
        _report(file, reader.summary, output_format, "restored from")


def _saved(store: DurableStore) -> BackupStore:
    from bobcat.stores.backup_items import BackupStore

    if not isinstance(store, BackupStore):
        raise InputError("this kind of store cannot be saved")
    return store


def _report(file: Path, summary: BackupSummary, output_format: str, verb: str) -> None:
    counts = {"runs": summary.runs, "records": summary.records, "documents": summary.documents}
    if output_format == "json":
        write_json({**counts, "epoch": summary.epoch, "created": summary.created.isoformat()})
        return
    text = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    click.echo(f"{safe_text(file)} has {text}" if verb == "has" else f"{text} restored from {safe_text(file)}")
