"""`bobcat worker`: execute queued runs until stopped."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bobcat.aio.signals import END_SIGNALS, on_signals
from bobcat.cli.app_object import load_app
from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.options import FiniteRange
from bobcat.cli.store import store_option, with_store
from bobcat.cli.worker_options import Address, KindNames, RetentionTime
from bobcat.logs.python_output import safe_python_output
from bobcat.text.display import safe_names, safe_text

if TYPE_CHECKING:
    from bobcat.workers import Dispatcher, Workers
    from bobcat.workers.retention import Retention
    from bobcat.workers.service import ServiceOptions


@click.command()
@click.argument("app", metavar="APP")
@store_option
@click.option("--owner", metavar="NAME", help="The name of this worker, the same after each restart of it.")
@click.option("--queues", type=KindNames(), metavar="KIND[,KIND...]", help="Only runs of these functions of the app.")
@click.option(
    "--concurrency", type=click.IntRange(1, 1000), default=4, show_default=True, metavar="N", help="Concurrent runs."
)
@click.option(
    "--pool-size", type=click.IntRange(2, 1000), metavar="N", help="Connections to a server of the store (8)."
)
@click.option(
    "--dispatcher",
    type=click.Choice(["store", "procrastinate", "celery"]),
    help="The queue: the store itself, or procrastinate on PostgreSQL (the default there).",
)
@click.option("--broker", metavar="URL", envvar="CELERY_BROKER_URL",
              help="The broker of --dispatcher celery, RabbitMQ or Redis; by default CELERY_BROKER_URL.")  # fmt: skip
@click.option("--lease-seconds", type=FiniteRange(0.5, 86_400), default=30.0, show_default=True, metavar="S",
              help="Lease duration: seconds without renewal before another worker may take over a run.")  # fmt: skip
@click.option("--grace", "--grace-seconds", "grace_seconds", type=FiniteRange(0), default=20.0, show_default=True,
              metavar="S", help="Seconds that runs may continue after SIGTERM.")  # fmt: skip
@click.option("--health", type=Address(), metavar="[HOST:]PORT",
              help="Serve /healthz, /readyz and /metrics there; without HOST for this machine only.")  # fmt: skip
@click.option("--metrics", type=click.Choice(["prometheus", "otel"]), default="prometheus", show_default=True,
              help="`otel`: report to the app's OpenTelemetry meter provider, too.")  # fmt: skip
@click.option("--retention", type=RetentionTime(), metavar="AGE|STATUS=AGE,...",
              help="Remove runs that are over after this time, such as 30d, or succeeded=7d,failed=90d.")  # fmt: skip
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="Level of the log on standard error.",
)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="Format of the log: lines of text, or a JSON object a line.")  # fmt: skip
@click.option("--until-idle", is_flag=True, help="Stop when no work is due (--dispatcher store).")
@safe_python_output()
def worker(
    app: str,
    *,
    store_url: str,
    owner: str | None,
    queues: tuple[str, ...] | None,
    concurrency: int,
    pool_size: int | None,
    dispatcher: str | None,
    broker: str | None,
    lease_seconds: float,
    grace_seconds: float,
    health: tuple[str, int] | None,
    metrics: str,
    retention: Retention | None,
    log_level: str,
    log_format: Any,  # Any: one of the choices
    until_idle: bool,
) -> None:
    """Execute the runs of APP, a Python file or module (`app.py`, `package.module:NAME`) with a `Workers`.

    SIGTERM and Ctrl-C drain: no new run starts, current runs may finish, and the others continue on other workers.
    """
    workers = _restricted(load_app(app), queues)
    if retention is not None:
        workers = replace(workers, retention=retention)
    kind = dispatcher or ("procrastinate" if store_url.startswith("postgres") else "store")
    if until_idle and kind != "store":
        raise click.UsageError("--until-idle needs --dispatcher store")
    if kind == "procrastinate" and not store_url.startswith("postgres"):
        raise click.UsageError("--dispatcher procrastinate needs a store at postgres://")
    if kind == "celery" and not broker:
        raise click.UsageError("--dispatcher celery needs --broker, such as amqp://guest@localhost//")
    from bobcat.errors import JobError
    from bobcat.logs import log_to, stop_logging
    from bobcat.workers.service import ServiceOptions

    handler = log_to(sys.stderr, log_level, format=log_format)
    options = ServiceOptions(concurrency, grace_seconds, health, metrics == "otel")

    async def work(store: Any) -> None:
        try:
            queue = _dispatcher(kind, (broker or "") if kind == "celery" else store_url, until_idle=until_idle)
            await _work(workers, store, queue, owner=owner, lease_seconds=lease_seconds, options=options)
        except JobError as error:
            raise InputError(f"{error} ({error.code})") from error

    try:
        with_store(store_url, work, must_exist=False, pool_size=pool_size)
    finally:
        stop_logging(handler)


def _restricted(workers: Workers, queues: tuple[str, ...] | None) -> Workers:
    """The app with some of its kinds of runs; a name without a version stands for all its versions."""
    if queues is None:
        return workers
    names = {kind.partition("@")[0] for kind in workers.makers}
    for queue in queues:
        if queue not in workers.makers and queue not in names:
            raise click.BadParameter(workers.missing_kind(queue), param_hint="'--queues'")
    makers = {
        kind: maker for kind, maker in workers.makers.items() if kind in queues or kind.partition("@")[0] in queues
    }
    return replace(workers, makers=makers)


def _dispatcher(kind: str, url: str, *, until_idle: bool) -> Dispatcher:
    from bobcat.errors import JobError

    if kind == "store":
        from bobcat.workers.store_dispatcher import StoreDispatcher

        return StoreDispatcher(until_idle=until_idle)
    if kind == "celery":
        from bobcat.workers.celery import CeleryDispatcher

        try:
            return CeleryDispatcher(url)
        except ImportError as error:
            raise InputError("--dispatcher celery needs `pip install 'bobcat[celery]'`") from error
    try:
        from bobcat.workers.procrastinate import ProcrastinateDispatcher

        return ProcrastinateDispatcher(url)
    except (ImportError, JobError) as error:
        raise InputError("--dispatcher procrastinate needs `pip install 'bobcat[workers,postgres]'`") from error


async def _work(
    workers: Workers,
    store: Any,  # Any: a DurableStore; its module is loaded when it is opened
    dispatcher: Dispatcher,
    *,
    owner: str | None,
    lease_seconds: float,
    options: ServiceOptions,
) -> None:
    from bobcat.workers.runner import Runner
    from bobcat.workers.service import WorkerService

    stop = asyncio.Event()

    def drain(name: str) -> None:
        if not stop.is_set():
            click.echo(f"{name}: draining", err=True)
        stop.set()

    on_signals(END_SIGNALS, drain)
    await store.runs(limit=1)  # report an unreachable or invalid store at once
    runner = Runner(workers, store, dispatcher=dispatcher, lease_seconds=lease_seconds, owner=owner)
    service = WorkerService(runner, dispatcher, options)
    try:
        service.listen()
    except OSError as error:
        raise InputError(f"--health {':'.join(map(str, options.health or ()))}: {reason_of(error)}") from error
    names = safe_names(sorted(workers.makers)) or "nothing"
    click.echo(f"worker {safe_text(runner.owner)} runs {names}", err=True)
    if service.server is not None:
        click.echo(f"health at http://{':'.join(map(str, service.server.address))}", err=True)
    try:
        await service.work(stop)
    except ImportError as error:
        raise InputError(str(error)) from error
    click.echo("worker stopped", err=True)
