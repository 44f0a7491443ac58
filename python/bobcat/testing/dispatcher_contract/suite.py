"""Execution of all clauses on an engine, with a report of every violation."""

from __future__ import annotations

from collections.abc import Collection

from bobcat.testing.contract.execution import Clause, clauses_of, execute
from bobcat.testing.contract.report import ContractReport
from bobcat.testing.dispatcher_contract import clauses
from bobcat.testing.dispatcher_contract.subject import EngineUnderTest, MakeEngine

CLAUSES: tuple[Clause[EngineUnderTest], ...] = clauses_of(clauses)
"""All clauses, in order."""


class DispatcherContractError(AssertionError):
    """The dispatcher violates its contract. `report` has every clause."""

    def __init__(self, report: ContractReport) -> None:
        super().__init__(str(report))
        self.report = report


async def run_dispatcher_contract(
    make: MakeEngine, *, only: Collection[str] | None = None, seconds: float = 60.0
) -> ContractReport:
    """Run every clause of the contract on an engine, and raise `DispatcherContractError` with all that are violated.

    `make` takes no arguments and returns an `Engine`, or a coroutine of one: each call stands for another process, with
    a new store object over the same storage and a new dispatcher. The clauses queue runs of kinds that begin with
    `contract-`. `only` names the clauses to run. A clause that takes longer than `seconds` is violated.
    """
    if not callable(make):
        raise TypeError(f"make must be a function that returns an Engine, got {type(make).__name__}")
    report = await execute(CLAUSES, lambda: EngineUnderTest(make), only=only, seconds=seconds)
    if report.violations:
        raise DispatcherContractError(report)
    return report
