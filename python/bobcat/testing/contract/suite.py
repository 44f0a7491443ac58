"""Execution of all clauses on a store, with a report of every violation."""

from __future__ import annotations

from collections.abc import Collection

from bobcat.testing.contract import (
    batch_clauses,
    crash_clauses,
    document_clauses,
    erase_clauses,
    journal_clauses,
    lease_clauses,
    queue_clauses,
)
from bobcat.testing.contract.execution import Clause, clauses_of, execute
from bobcat.testing.contract.report import ContractReport, StoreContractError
from bobcat.testing.contract.subject import Crash, Make, StoreUnderTest

CLAUSES: tuple[Clause[StoreUnderTest], ...] = clauses_of(
    journal_clauses, lease_clauses, batch_clauses, queue_clauses, document_clauses, erase_clauses, crash_clauses
)
"""All clauses, in order."""


async def run_store_contract(
    make: Make,
    *,
    shared: bool = True,
    writers: int = 32,
    crash: Crash | None = None,
    only: Collection[str] | None = None,
    seconds: float = 120.0,
) -> ContractReport:
    """Run every clause of the contract on the store from `make`, and raise `StoreContractError` with all that
    are violated. A store with two methods must keep the journal clauses; a `DurableStore` must keep all of them.

    `make` takes no arguments and returns a store, or a coroutine of one: each call a new object over the same storage,
    like another worker's. If objects share nothing, pass `shared=False`. The storage need not be empty;
    the clauses leave their records in it, under run ids that start with `contract-`. It must not be in use: one clause
    marks it as restored, which ends every lease.

    `crash` makes the storage fail and recover before it returns: it kills and restarts the server,
    or tears the last write. `only` names the clauses to run. A clause that takes longer than `seconds` is violated.
    """
    if not callable(make):
        raise TypeError(
            f"make must be a function that returns a store, got {type(make).__name__}; write lambda: MyStore(...)"
        )
    report = await execute(CLAUSES, lambda: StoreUnderTest(make, shared, writers, crash), only=only, seconds=seconds)
    if report.violations:
        raise StoreContractError(report)
    return report
