"""Execution of all clauses on a store, with a report of every violation."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from bobcat.testing.contract import (
    crash_clauses,
    document_clauses,
    erase_clauses,
    journal_clauses,
    lease_clauses,
    queue_clauses,
)
from bobcat.testing.contract.report import ContractReport, StoreContractError, Violation
from bobcat.testing.contract.subject import Crash, Make, NotApplicable, StoreUnderTest, Violated
from bobcat.text.json_text import format_exception

Clause: TypeAlias = Callable[[StoreUnderTest], Awaitable[None]]

CLAUSES: tuple[Clause, ...] = tuple(
    clause
    for module in (journal_clauses, lease_clauses, queue_clauses, document_clauses, erase_clauses, crash_clauses)
    for name, clause in vars(module).items()
    if getattr(clause, "__module__", "") == module.__name__ and not name.startswith("_")
)
"""All clauses: the public functions of these modules, in order. A clause's name is that of its function, its demand is
the docstring.
"""


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
    known = {clause.__name__ for clause in CLAUSES}
    if only is not None and (unknown := sorted(set(only) - known)):
        raise ValueError(f"unknown clause `{unknown[0]}`; the clauses are {', '.join(sorted(known))}")
    kept: list[str] = []
    skipped: list[tuple[str, str]] = []
    violations: list[Violation] = []
    for clause in CLAUSES:
        name = clause.__name__
        if only is not None and name not in only:
            continue
        subject = StoreUnderTest(make, shared, writers, crash)
        try:
            await asyncio.wait_for(clause(subject), seconds)
            kept.append(name)
        except NotApplicable as reason:
            skipped.append((name, str(reason)))
        except Exception as error:
            violations.append(Violation(name, _demand_of(clause), _seen(error, seconds)))
        finally:
            await subject.close()
    report = ContractReport(tuple(kept), tuple(skipped), tuple(violations))
    if violations:
        raise StoreContractError(report)
    return report


def _demand_of(clause: Clause) -> str:
    return " ".join((inspect.getdoc(clause) or "").split())


def _seen(error: Exception, seconds: float) -> str:
    if isinstance(error, Violated):
        return str(error)
    if isinstance(error, TimeoutError):
        return f"no end after {seconds:g} s"
    return format_exception(error)
