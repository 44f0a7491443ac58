"""`bobcat runs retry | cancel | delete | prune`: change one run, or all that meet some conditions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import FINDINGS
from bobcat.cli.failures import InputError
from bobcat.cli.options import Decorated, format_option
from bobcat.cli.output import echo_line, write_json
from bobcat.cli.runs_filter import STATUSES, conditions_of, filter_options, is_filtered
from bobcat.cli.store import store_option, with_jobs
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.errors import JobError
    from bobcat.stores.protocol import DurableStore, RunStatus, RunSummary
    from bobcat.workers import Jobs

OPEN: tuple[RunStatus, ...] = ("queued", "running", "suspended")
OVER = tuple(status for status in STATUSES if status not in OPEN)
RETRIED = tuple(status for status in OVER if status not in ("succeeded", "cancelled"))
"""Statuses that `retry` looks for, unless others are given."""

Outcome = tuple[str, str, "JobError | None"]
"""The id, the outcome and the reason of a refusal of a run."""
Outcomes = AsyncIterator[Outcome]
Operation = Callable[["Jobs", "DurableStore", Sequence["RunSummary"]], Outcomes]


@dataclass(frozen=True, slots=True)
class _Change:
    """One kind of change: its verb, its usual outcome, and the statuses it looks for."""

    verb: str
    outcome: str
    statuses: tuple[RunStatus, ...]
    work: Operation
    removes: bool = False


def bulk_options(command: Decorated) -> Decorated:
    """Add the runs, the conditions, and `--all`, `--limit`, `--dry-run`, `--yes`."""
    for decorate in (
        format_option,
        click.option("--yes", is_flag=True, help="Do not ask for confirmation on a terminal."),
        click.option("--dry-run", is_flag=True, help="Only show the runs."),
        click.option("--limit", type=click.IntRange(1), metavar="N", help="At most N runs."),
        filter_options,
        store_option,
    ):
        command = decorate(command)
    return command


everything_option = click.option("--all", "everything", is_flag=True, help="All runs, without conditions.")


@click.command(short_help="Queue failed runs again.")
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@everything_option
@bulk_options
def retry(**given: Any) -> int:  # Any: values of options
    """Queue RUNs again, or all failed runs that meet the conditions. They continue from their journals."""

    async def work(jobs: Jobs, store: DurableStore, runs: Sequence[RunSummary]) -> Outcomes:
        from bobcat.errors import JobError

        for run in runs:
            try:
                await jobs.resume(run.run_id)
            except JobError as error:
                yield run.run_id, "refused", error
            else:
                yield run.run_id, "queued", None

    return _change(given, _Change("retry", "queued", RETRIED, work))


@click.command(short_help="Cancel runs.")
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@everything_option
@click.option("--reason", metavar="TEXT", default="cancelled by hand", help="The reason; kept with the run.")
@bulk_options
def cancel(reason: str, **given: Any) -> int:  # Any: values of options
    """Cancel RUNs, or all open runs that meet the conditions. A run that executes stops within a second."""

    async def work(jobs: Jobs, store: DurableStore, runs: Sequence[RunSummary]) -> Outcomes:
        from bobcat.errors import JobError

        for run in runs:
            try:
                state = await jobs.cancel(run.run_id, reason=reason)
            except JobError as error:
                yield run.run_id, "refused", error
            else:
                yield (
                    run.run_id,
                    "being stopped" if state is not None and state.status == "running" else "cancelled",
                    None,
                )

    return _change(given, _Change("cancel", "cancelled", OPEN, work))


@click.command(short_help="Remove runs that are over.")
@click.argument("run_ids", metavar="[RUN]...", nargs=-1)
@everything_option
@bulk_options
def delete(**given: Any) -> int:  # Any: values of options
    """Remove RUNs, or all runs that are over and meet the conditions, with their journals, jobs and approvals.

    A run that goes on is refused: cancel it first.
    """
    return _change(given, _Change("delete", "deleted", OVER, _erase, removes=True))


@click.command(short_help="Remove old runs.")
@bulk_options
def prune(**given: Any) -> int:  # Any: values of options
    """Remove the runs that are over and have not changed for the time of --older, with journals, jobs and approvals."""
    if given["older"] is None:
        raise click.UsageError("--older is needed, such as `--older 30d`")
    return _change(
        {**given, "run_ids": (), "everything": False}, _Change("delete", "deleted", OVER, _erase, removes=True)
    )


async def _erase(jobs: Jobs, store: DurableStore, runs: Sequence[RunSummary]) -> Outcomes:
    from bobcat.workers.erasing import erase_runs

    for done in await erase_runs(store, runs):
        yield done.run_id, "deleted" if done.problem is None else "refused", done.problem


def _change(given: dict[str, Any], change: _Change) -> int:  # Any: values of options
    run_ids: tuple[str, ...] = given["run_ids"]
    if sum((bool(run_ids), given["everything"], is_filtered(given))) != 1:
        raise click.UsageError("give RUNs, or conditions such as `--status` and `--older`, or `--all`")
    runs, missing = with_jobs(given["store_url"], lambda _, store: _chosen(store, given, change))
    single = len(run_ids) == 1 and given["output_format"] == "text"
    if given["dry_run"]:
        shown: list[Outcome] = [(run.run_id, change.outcome, None) for run in runs]
        return _report(given, shown + missing, f"would be {change.outcome}")
    if runs and (change.removes or not run_ids) and not given["yes"] and on_terminal():
        click.confirm(f"{change.verb} {_count(len(runs))}?", abort=True, err=True)

    async def work(jobs: Jobs, store: DurableStore) -> list[Outcome]:
        found = []
        async for run_id, outcome, problem in change.work(jobs, store, runs):
            if single and problem is not None:
                raise problem
            found.append((run_id, outcome, problem))
        return found

    if single and missing:
        raise InputError(f"{missing[0][2]} (unknown)")
    done = with_jobs(given["store_url"], work) if runs else []
    if single:
        click.echo(f"run {safe_text(run_ids[0])} is {done[0][1]}")
        return 0
    return _report(given, done + missing, change.outcome)


def on_terminal() -> bool:
    """Return true if a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def _chosen(
    store: DurableStore, given: dict[str, Any], change: _Change
) -> tuple[list[RunSummary], list[Outcome]]:  # Any: values of options
    """The named or selected runs, and the named ones that do not exist."""
    from bobcat.errors import JobError
    from bobcat.workers.erasing import THREAD_PREFIX
    from bobcat.workers.selection import select_runs

    runs: list[RunSummary] = []
    missing: list[Outcome] = []
    for run_id in dict.fromkeys(given["run_ids"]):
        run = await store.run(run_id)
        if run is None:
            missing.append((run_id, "refused", JobError("unknown", f"there is no run `{run_id}` in this store")))
        else:
            runs.append(run)
    if not given["run_ids"]:
        async for found in select_runs(store, conditions_of(given, await store.now(), statuses=change.statuses)):
            if change.removes and found.run.run_id.startswith(THREAD_PREFIX):  # its thread removes it
                continue
            runs.append(found.run)
            if len(runs) == given["limit"]:
                break
    return runs, missing


def _report(given: dict[str, Any], done: list[Outcome], outcome: str) -> int:
    """Print the outcome of each run and their number. Returns the exit code. Any: values of options."""
    refused = sum(problem is not None for _, _, problem in done)
    if given["output_format"] == "json":
        write_json(
            [
                {
                    "run_id": run_id,
                    "outcome": word,
                    "error": None if problem is None else str(problem),
                    "code": None if problem is None else problem.code,
                    "dry_run": given["dry_run"],
                }
                for run_id, word, problem in done
            ]
        )
    else:
        for run_id, word, problem in done:
            shown = outcome if given["dry_run"] and problem is None else word
            reason = "" if problem is None else f": {safe_text(problem)} ({problem.code})"
            echo_line(f"{safe_text(run_id)}  {shown}{reason}")
        counts = Counter(word for _, word, problem in done if problem is None)
        texts = [f"{_count(number)} {outcome if given['dry_run'] else word}" for word, number in counts.items()]
        texts += [f"{_count(refused)} refused"] if refused else []
        click.echo(", ".join(texts) or "no runs", err=True)
    return FINDINGS if refused else 0


def _count(number: int) -> str:
    return f"{number:,} run{'' if number == 1 else 's'}"
