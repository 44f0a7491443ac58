"""`bobcat runs list`: a page of the runs of a store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, write_json
from bobcat.cli.runs_filter import conditions_of, filter_options
from bobcat.cli.store import since, store_option, with_store
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.stores.protocol import DurableStore, RunSummary


@click.command("list")
@store_option
@filter_options
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Maximum number of runs.",
)
@click.option("--after", metavar="TIME/RUN", help="Continue a list after this run, as the last page says.")
@format_option
def list_(store_url: str, *, limit: int, after: str | None, output_format: str, **given: Any) -> None:  # Any: options
    """List runs, most recently changed first. A turn of a thread is a run; the thread itself is not."""
    start = None if after is None else _cursor(after)

    async def work(store: DurableStore) -> tuple[list[RunSummary], bool, datetime]:
        from bobcat.workers.selection import select_runs

        now = await store.now()
        found: list[RunSummary] = []
        async for each in select_runs(store, conditions_of(given, now), after=start):
            if len(found) == limit:
                return found, True, now
            found.append(each.run)
        return found, False, now

    found, more, now = with_store(store_url, work)
    if output_format == "json":
        write_json([run_json(run) for run in found])
        return
    for run in found:
        name, detail = safe_text(run.run_id), safe_text(_problem(run) or _waits_for(run))
        echo_line(f"{name}  {run.status}  {since(run.updated, now)} ago  {run.records} records  {detail}".rstrip())
    if more:
        click.echo(f"more: --after '{safe_text(f'{found[-1].updated.isoformat()}/{found[-1].run_id}')}'", err=True)
    elif not found:
        only = [status for group in given["statuses"] for status in group]
        click.echo(f"no {only[0]} runs" if len(only) == 1 else "no runs", err=True)


def run_json(run: RunSummary) -> dict[str, Any]:  # Any: JSON
    """A run as plain JSON data."""
    return {
        "run_id": run.run_id,
        "status": run.status,
        "records": run.records,
        "created": run.created.isoformat(),
        "updated": run.updated.isoformat(),
        "detail": dict(run.detail),
        "restored": run.restored,
        "kind": None if run.queue is None else run.queue.kind,
        "tenant": None if run.queue is None else run.queue.tenant,
        "attempts": None if run.queue is None else run.queue.attempts,
    }


def _cursor(text: str) -> RunSummary:
    from bobcat.workers.selection import cursor_at

    time, _, run_id = text.partition("/")
    try:
        moment = datetime.fromisoformat(time)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter("not `TIME/RUN`, with the time in ISO 8601", param_hint="'--after'") from error
    return cursor_at(moment, run_id)


def _problem(run: RunSummary) -> object:
    """The error of a run. That of the last attempt says nothing about the one in progress."""
    return None if run.status == "running" else run.detail.get("error")


def _waits_for(run: RunSummary) -> str:
    """Describe the worker that a queued run waits for: one whose app has the run's function."""
    job = run.detail.get("job")
    if run.status != "queued" or not isinstance(job, Mapping):
        return ""
    version = job.get("version")
    return f"job {job.get('name')}" + ("" if version is None else f"@{version}")
