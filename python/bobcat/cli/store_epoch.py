"""`bobcat store`: show the epoch of a store, and mark it as restored."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.failures import InputError
from bobcat.cli.options import format_option
from bobcat.cli.output import write_json
from bobcat.cli.store import store_option, with_store

if TYPE_CHECKING:
    from bobcat.stores.protocol import RestorableStore, RunSummary

OPEN = ("queued", "running", "suspended", "failed")
"""Statuses of runs that can continue."""


@click.group()
def store() -> None:
    """Show the epoch of a store, or mark it as restored."""


@store.command(short_help="Show the number of restores.")
@store_option
@format_option
def show(store_url: str, output_format: str) -> None:
    """Show the epoch of a store, its start, and the number of older open runs."""
    _report(*with_store(store_url, _epoch_state), output_format)


@store.command("mark-restored", short_help="Mark the store as restored from a backup.")
@store_option
@format_option
def mark_restored(store_url: str, output_format: str) -> None:
    """Mark the store as restored from a backup. Do this before any worker runs on it.

    Most restores are detected without this, see docs/explanation/durability.md. From then on, an unsafe action of an
    older run waits for an approval, because it may have happened after the backup was made. All leases end.
    """

    async def work(opened: Any) -> tuple[int, datetime | None, int]:
        await _restorable(opened).mark_restored()
        return await _epoch_state(opened)

    _report(*with_store(store_url, work), output_format)


def _restorable(opened: Any) -> RestorableStore:
    from bobcat.stores.protocol import RestorableStore

    if not isinstance(opened, RestorableStore):
        raise InputError("the store has no epochs: it cannot be marked")
    return opened


async def _epoch_state(opened: Any) -> tuple[int, datetime | None, int]:
    """Return the epoch, its start, and the number of older open runs."""
    found = _restorable(opened)
    older = 0
    after: RunSummary | None = None
    while page := await found.runs(limit=1000, after=after):
        older += sum(run.restored and run.status in OPEN for run in page)
        after = page[-1]
    return await found.epoch(), await found.restored_at(), older


def _report(epoch: int, began: datetime | None, older: int, output_format: str) -> None:
    if output_format == "json":
        write_json({"epoch": epoch, "restored": None if began is None else began.isoformat(), "open_runs": older})
        return
    click.echo(f"epoch {epoch}" + ("" if began is None else f", restored {began.isoformat(timespec='seconds')}"))
    if began is not None:
        click.echo(f"{older} open runs are older: their unsafe actions wait for approvals")
