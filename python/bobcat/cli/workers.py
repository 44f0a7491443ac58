"""`bobcat workers`: the worker processes and the schedules of a store."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.options import format_option
from bobcat.cli.output import show_list
from bobcat.cli.store import since, store_option, with_store
from bobcat.text.display import safe_names, safe_text

if TYPE_CHECKING:
    from bobcat.stores.protocol import DurableStore
    from bobcat.workers.presence import ListedWorker
    from bobcat.workers.schedules import ListedSchedule


@click.group()
def workers() -> None:
    """List the workers and the schedules of a store."""


@workers.command("list")
@store_option
@format_option
def list_(store_url: str, output_format: str) -> None:
    """List the workers of a store, also those that died within a day. One that was stopped is not listed."""

    async def work(store: DurableStore) -> tuple[list[ListedWorker], datetime]:
        from bobcat.workers.presence import list_workers

        return await list_workers(store), await store.now()

    found, now = with_store(store_url, work)

    def line(each: ListedWorker) -> str:
        info = each.info
        return (
            f"{safe_text(info.name)}  {_state(each)}  {safe_text(info.host)}:{info.pid}  "
            f"bobcat {safe_text(info.version)}  started {since(info.started, now)} ago  "
            f"seen {since(each.seen, now)} ago  {len(info.held)} of {info.concurrency} runs  {safe_names(info.kinds)}"
        )

    show_list(found, output_format, line, none="no workers", to_json=_worker_json)


@workers.command(short_help="List the schedules of a store.")
@store_option
@format_option
def schedules(store_url: str, output_format: str) -> int:
    """List the schedules of a store, with their next times and their last errors. Exits with 1 if one has an error."""

    async def work(store: DurableStore) -> list[ListedSchedule]:
        from bobcat.workers.schedules import list_schedules

        return await list_schedules(store)

    found = with_store(store_url, work)

    def line(each: ListedSchedule) -> str:
        error = f"  error: {safe_text(each.error)}" if each.error else ""
        times = f"{safe_text(each.cron)}  {safe_text(each.timezone)}  next {safe_text(each.next)}"
        return f"{safe_text(each.name)}  {times}{error}"

    show_list(found, output_format, line, none="no schedules", to_json=asdict)
    return FINDINGS if any(each.error for each in found) else 0


def _worker_json(each: ListedWorker) -> dict[str, Any]:  # Any: JSON
    from bobcat.model.plain_fields import fields_to_json

    return {**fields_to_json(each.info), "seen": each.seen.isoformat(), "state": _state(each)}


def _state(each: ListedWorker) -> str:
    if not each.live:
        return "dead"
    return "draining" if each.info.draining else "live"
