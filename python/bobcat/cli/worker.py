"""`bobcat worker`: execute queued runs until stopped."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.app_object import load_app
from bobcat.cli.failures import InputError
from bobcat.cli.options import FiniteRange
from bobcat.cli.store import store_option, with_store
from bobcat.logs.python_output import safe_python_output
from bobcat.text.display import safe_names, safe_text

if TYPE_CHECKING:
    from bobcat.workers import Dispatcher, Workers


@click.command()
@click.argument("app", metavar="APP")
@store_option
@click.option(
    "--concurrency", type=click.IntRange(1, 1000), default=4, show_default=True, metavar="N", help="Concurrent runs."
)
@click.option(
    "--dispatcher",
    type=click.Choice(["store", "procrastinate"]),
    help="The queue: the store itself, or procrastinate on PostgreSQL (the default there).",
)
@click.option("--lease-seconds", type=FiniteRange(0.5, 86_400), default=30.0, show_default=True, metavar="S",
              help="Lease duration: seconds without renewal before another worker may take over a run.")  # fmt: skip
@click.option("--grace-seconds", type=FiniteRange(0), default=30.0, show_default=True, metavar="S",
              help="Seconds that runs may continue after SIGTERM.")  # fmt: skip
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="Level of the log on standard error.",
)
@click.option("--until-idle", is_flag=True, help="Stop when no work is due (--dispatcher store).")
@safe_python_output()
def worker(
    app: str,
    *,
    store_url: str,
    concurrency: int,
    dispatcher: str | None,
    lease_seconds: float,
    grace_seconds: float,
    log_level: str,
    until_idle: bool,
) -> None:
    """Execute the runs of APP, a Python file or module (`app.py`, `package.module:NAME`) with a `Workers`.

    SIGTERM and Ctrl-C drain: no new run starts, current runs may finish, and the others continue on other workers.
    """
    workers = load_app(app)
    kind = dispatcher or ("procrastinate" if store_url.startswith("postgres") else "store")
    if until_idle and kind != "store":
        raise click.UsageError("--until-idle needs --dispatcher store")
    if kind == "procrastinate" and not store_url.startswith("postgres"):
        raise click.UsageError("--dispatcher procrastinate needs a store at postgres://")
    from bobcat.errors import JobError
    from bobcat.logs import log_to, stop_logging

    handler = log_to(sys.stderr, log_level)

    async def work(store: Any) -> None:
        try:
            queue = _dispatcher(kind, store_url, until_idle=until_idle)
            await _work(
                workers,
                store,
                queue,
                concurrency=concurrency,
                lease_seconds=lease_seconds,
                grace_seconds=grace_seconds,
            )
        except JobError as error:
            raise InputError(f"{error} ({error.code})") from error

    try:
        with_store(store_url, work, must_exist=False)
    finally:
        stop_logging(handler)


def _dispatcher(kind: str, store_url: str, *, until_idle: bool) -> Dispatcher:
    from bobcat.errors import JobError

    if kind == "store":
        from bobcat.workers.store_dispatcher import StoreDispatcher

        return StoreDispatcher(until_idle=until_idle)
    try:
        from bobcat.workers.procrastinate import ProcrastinateDispatcher

        return ProcrastinateDispatcher(store_url)
    except (ImportError, JobError) as error:
        raise InputError("--dispatcher procrastinate needs `pip install 'bobcat[workers,postgres]'`") from error


async def _work(
    workers: Workers,
    store: Any,  # Any: a DurableStore; its module is loaded when it is opened
    dispatcher: Dispatcher,
    *,
    concurrency: int,
    lease_seconds: float,
    grace_seconds: float,
) -> None:
    from bobcat.workers.runner import Runner

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def drain(name: str) -> None:
        if not stop.is_set():
            click.echo(f"{name}: draining", err=True)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, drain, number.name)
    await store.runs(limit=1)  # report an unreachable or invalid store at once
    runner = Runner(workers, store, dispatcher=dispatcher, lease_seconds=lease_seconds)
    names = safe_names(sorted(workers.makers)) or "nothing"
    click.echo(f"worker {safe_text(runner.owner)} runs {names}", err=True)
    await dispatcher.work(runner, concurrency=concurrency, stop=stop, grace_seconds=grace_seconds)
    click.echo("worker stopped", err=True)
