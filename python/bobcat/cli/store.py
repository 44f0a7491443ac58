"""The store of a command: `--store`, and the handling of its errors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

import click

from bobcat.cli.failures import InputError, NotAllowed
from bobcat.cli.options import Decorated
from bobcat.text.elapsed import since as since

if TYPE_CHECKING:
    from bobcat.journal.records import StepRecord
    from bobcat.stores.protocol import DurableStore
    from bobcat.workers import Jobs

T = TypeVar("T")


def store_option_of(*, required: bool, help: str) -> Callable[[Decorated], Decorated]:
    """`--store` for a command that needs it, or can do without it."""
    return click.option(
        "--store", "store_url", metavar="URL", required=required, envvar="BOBCAT_STORE", show_envvar=True, help=help
    )


store_option = store_option_of(
    required=True, help="The store: sqlite:///PATH, file:DIRECTORY, postgres://... or redis://..."
)


def with_store(
    url: str, work: Callable[[DurableStore], Awaitable[T]], *, must_exist: bool = True, pool_size: int | None = None
) -> T:
    """Call `work` with the store of `url`, close the store, and return the result."""
    from bobcat.errors import ApprovalError, JobError, StoreError, TriggerError
    from bobcat.stores.urls import open_store

    async def main() -> T:
        async with aclosing(open_store(url, must_exist=must_exist, pool_size=pool_size)) as store:
            return await work(store)

    try:
        return asyncio.run(main())
    except StoreError as error:
        raise InputError(f"the store cannot be used ({error.code}): {error}") from error
    except (ApprovalError, JobError, TriggerError) as error:
        failure = (
            InputError if error.code in ("unknown", "bad_job", "bad_trigger", "too_large", "damaged") else NotAllowed
        )
        raise failure(f"{error} ({error.code})") from error


def with_jobs(url: str, work: Callable[[Jobs, DurableStore], Awaitable[T]], *, must_exist: bool = True) -> T:
    """Call `work` with the jobs and the store of `url`, as `with_store` does."""
    from bobcat.workers import Jobs

    async def main(store: DurableStore) -> T:
        return await work(Jobs(store), store)

    return with_store(url, main, must_exist=must_exist)


def records_in_store(url: str, run_id: str, *, may_lack: bool = False) -> list[StepRecord]:
    """The records of a run. Raises `InputError` for a run that the store does not have, unless it `may_lack` it."""

    async def load(store: DurableStore) -> list[StepRecord]:
        return list(await store.load(run_id))

    records = with_store(url, load)
    if not records and not may_lack:
        raise InputError(f"no records of a run `{run_id}` in this store")
    return records
