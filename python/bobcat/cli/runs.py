"""`bobcat runs`: the runs in a store. Lists and operations on many runs are in `runs_list` and `runs_bulk`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.app_object import load_app
from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError
from bobcat.cli.json_option import json_object
from bobcat.cli.options import format_option
from bobcat.cli.output import show_rows, write_json
from bobcat.cli.runs_backup import backup, restore
from bobcat.cli.runs_bulk import cancel, delete, prune, retry
from bobcat.cli.runs_list import list_, run_json
from bobcat.cli.store import store_option, with_jobs
from bobcat.text.display import safe_json, safe_name, safe_names, safe_text

if TYPE_CHECKING:
    from bobcat.stores.protocol import RunSummary
    from bobcat.workers import Delivery, Job, Jobs


@click.group()
def runs() -> None:
    """Queue, list, show, resume, retry, cancel and delete runs."""


for _command in (list_, retry, cancel, delete, prune, backup, restore):
    runs.add_command(_command)


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

    run, job = with_jobs(store_url, work)
    if run is None:
        raise InputError(f"no run `{run_id}` in this store")
    if output_format == "json":
        write_json({**run_json(run), "job": None if job is None else job.to_json()})
        return
    rows = [
        ("run", f"{safe_text(run.run_id)}, {safe_name(run.status)}"),
        ("records", str(run.records)),
        ("created", run.created.isoformat(timespec="seconds")),
        ("updated", run.updated.isoformat(timespec="seconds")),
        ("restored", "the store was restored since then: unsafe actions wait for approvals" if run.restored else ""),
        ("error", safe_text(run.detail.get("error") or (job.error if job else None) or "")),
        ("approvals", safe_names((run.detail.get("approvals") or ()) if run.status == "suspended" else ())),
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

    click.echo(safe_text(with_jobs(store_url, work, must_exist=False).run_id))


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

    delivery = with_jobs(store_url, work)
    if delivery is None:
        click.echo(f"run {safe_text(run_id)} is queued")
        return 0
    click.echo(
        f"run {safe_text(run_id)} {delivery.outcome}" + (f": {safe_text(delivery.error)}" if delivery.error else "")
    )
    return 0 if delivery.outcome in ("succeeded", "suspended") else FINDINGS


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        problem = f"not a time in ISO 8601, such as 2026-01-31T08:00:00+01:00: {error}"
        raise click.BadParameter(problem, param_hint="'--at'") from error
