"""`bobcat runs`: the runs in a store: queue, list, show, resume and cancel them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.app_object import load_app
from bobcat.cli.failures import FINDINGS, InputError
from bobcat.cli.json_option import json_object
from bobcat.cli.options import format_option
from bobcat.cli.output import echo_line, show_rows, write_json
from bobcat.cli.store import since, store_option, with_store
from bobcat.text.display import safe_json, safe_name, safe_names, safe_text

if TYPE_CHECKING:
    from bobcat.stores.protocol import RunSummary
    from bobcat.workers import Delivery, Job, Jobs

STATUSES = ("queued", "running", "suspended", "succeeded", "failed", "cancelled")


@click.group()
def runs() -> None:
    """Queue, list, show, resume and cancel runs."""


@runs.command("list")
@store_option
@click.option("--status", type=click.Choice(STATUSES), help="Only runs of this status.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Maximum number of runs.",
)
@format_option
def list_(store_url: str, status: Any, limit: int, output_format: str) -> None:  # Any: one of the choices
    """List runs, most recently changed first. A turn of a thread is a run; the thread itself is not."""

    async def work(store: Any) -> tuple[list[RunSummary], datetime]:
        return await _listed(store, status, limit), await store.now()

    found, now = with_store(store_url, work)
    if output_format == "json":
        write_json([_summary(run) for run in found])
        return
    for run in found:
        name, detail = safe_text(run.run_id), safe_text(run.detail.get("error") or _waits_for(run))
        echo_line(f"{name}  {run.status}  {since(run.updated, now)} ago  {run.records} records  {detail}".rstrip())
    if not found:
        click.echo("no runs" if status is None else f"no {status} runs", err=True)


@runs.command(short_help="Show one run: its state, and its job.")
@click.argument("run_id", metavar="RUN")
@store_option
@format_option
def show(run_id: str, store_url: str, output_format: str) -> None:
    """Show one run: its state, its job, and the approvals it waits for.

    `bobcat trace --store URL --run-id RUN` shows its steps.
    """
    from bobcat.errors import JobError

    async def work(jobs: Jobs, store: Any) -> tuple[RunSummary | None, Job | None]:
        try:
            job = await jobs.get(run_id)
        except JobError:
            job = None
        return await store.run(run_id), job

    run, job = _with_jobs(store_url, work)
    if run is None:
        raise InputError(f"no run `{run_id}` in this store")
    if output_format == "json":
        write_json({**_summary(run), "job": None if job is None else job.to_json()})
        return
    rows = [
        ("run", f"{safe_text(run.run_id)}, {safe_name(run.status)}"),
        ("records", str(run.records)),
        ("created", run.created.isoformat(timespec="seconds")),
        ("updated", run.updated.isoformat(timespec="seconds")),
        ("restored", "the store was restored since then: unsafe actions wait for approvals" if run.restored else ""),
        ("error", safe_text(run.detail.get("error") or (job.error if job else None) or "")),
        ("approvals", safe_names(run.detail.get("approvals") or ())),
    ]
    if job is not None:
        rows += [
            ("job", f"{safe_name(job.kind)} {safe_json(job.payload)}"),
            ("tenant", safe_name(job.tenant)),
            ("priority", str(job.priority)),
            ("attempts", str(job.attempts)),
            ("run at", job.run_at.isoformat(timespec="seconds")),
        ]
    show_rows(rows)
    trace = run.detail.get("traceback")
    if isinstance(trace, str):
        from bobcat.logs import shown_traceback

        click.echo(shown_traceback(trace))


@runs.command()
@click.argument("name", metavar="NAME")
@click.option("--payload", metavar="JSON", default="{}", help="The input of the run: a JSON object.")
@click.option("--run-id", metavar="ID", help="The id of the run: queueing it again has no effect.")
@click.option("--priority", type=int, default=0, show_default=True, metavar="N", help="Higher runs first.")
@click.option("--tenant", metavar="NAME", default="", help="The tenant; see `tenant_limit`.")
@click.option("--version", metavar="TEXT", help="The version of the run: only a worker whose app has it runs it.")
@click.option("--at", metavar="TIME", help="Not before this time, in ISO 8601; without a zone it is UTC.")
@store_option
def queue(
    name: str,
    *,
    payload: str,
    run_id: str | None,
    priority: int,
    tenant: str,
    version: str | None,
    at: str | None,
    store_url: str,
) -> None:
    """Queue a run of the app's function NAME; prints its id."""
    given = json_object("--payload", payload)
    run_at = None if at is None else _moment(at)

    async def work(jobs: Jobs, _: Any) -> Job:
        return await jobs.enqueue(
            name, given, run_id=run_id, priority=priority, run_at=run_at, tenant=tenant, version=version
        )

    click.echo(safe_text(_with_jobs(store_url, work, must_exist=False).run_id))


@runs.command()
@click.argument("run_id", metavar="RUN")
@click.option(
    "--app", metavar="APP", help="Execute the run now in this process, with this app, instead of queueing it."
)
@store_option
def resume(run_id: str, app: str | None, store_url: str) -> int:
    """Resume a run that is suspended, failed or was cancelled. Exits with 1 if `--app` is given and the run fails."""
    workers = None if app is None else load_app(app)

    async def work(jobs: Jobs, store: Any) -> Delivery | None:
        await jobs.resume(run_id)
        if workers is None:
            return None
        from bobcat.workers.runner import Runner

        return await Runner(workers, store).execute(run_id)

    delivery = _with_jobs(store_url, work)
    if delivery is None:
        click.echo(f"run {safe_text(run_id)} is queued")
        return 0
    click.echo(
        f"run {safe_text(run_id)} {delivery.outcome}" + (f": {safe_text(delivery.error)}" if delivery.error else "")
    )
    return 0 if delivery.outcome in ("succeeded", "suspended") else FINDINGS


@runs.command()
@click.argument("run_id", metavar="RUN")
@click.option("--reason", metavar="TEXT", default="cancelled by hand", help="The reason; kept with the run.")
@store_option
def cancel(run_id: str, reason: str, store_url: str) -> None:
    """Cancel a run. If a worker is executing it, the run and its tool stop within a second."""

    async def work(jobs: Jobs, _: Any) -> RunSummary | None:
        return await jobs.cancel(run_id, reason=reason)

    run = _with_jobs(store_url, work)
    stopping = run is not None and run.status == "running"
    click.echo(f"run {safe_text(run_id)} is {'being stopped' if stopping else 'cancelled'}")


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        problem = f"not a time in ISO 8601, such as 2026-01-31T08:00:00+01:00: {error}"
        raise click.BadParameter(problem, param_hint="'--at'") from error


def _with_jobs(
    store_url: str, work: Callable[[Jobs, Any], Awaitable[Any]], *, must_exist: bool = True
) -> Any:  # Any: what `work` gives
    from bobcat.workers import Jobs

    async def main(store: Any) -> Any:
        return await work(Jobs(store), store)

    return with_store(store_url, main, must_exist=must_exist)


async def _listed(store: Any, status: str | None, limit: int) -> list[RunSummary]:  # Any: a DurableStore
    found: list[RunSummary] = []
    after = None
    while len(found) < limit and (page := await store.runs(status=status, limit=limit, after=after)):
        found += [run for run in page if run.detail.get("thread") is not True]
        after = page[-1]
    return found[:limit]


def _summary(run: RunSummary) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "status": run.status,
        "records": run.records,
        "created": run.created.isoformat(),
        "updated": run.updated.isoformat(),
        "detail": dict(run.detail),
        "restored": run.restored,
    }


def _waits_for(run: RunSummary) -> str:
    """Describe the worker that a queued run waits for: one whose app has the run's function."""
    job = run.detail.get("job")
    if run.status != "queued" or not isinstance(job, Mapping):
        return ""
    version = job.get("version")
    return f"job {job.get('name')}" + ("" if version is None else f"@{version}")
