"""Execution of all clauses on an engine, with a report of every violation."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from bobcat.testing.contract.report import ContractReport, Violation
from bobcat.testing.contract.subject import Violated
from bobcat.testing.dispatcher_contract import clauses
from bobcat.testing.dispatcher_contract.subject import EngineUnderTest, MakeEngine
from bobcat.text.json_text import format_exception

Clause: TypeAlias = Callable[[EngineUnderTest], Awaitable[None]]

CLAUSES: tuple[Clause, ...] = tuple(
    clause
    for name, clause in vars(clauses).items()
    if getattr(clause, "__module__", "") == clauses.__name__ and not name.startswith("_")
)
"""All clauses: the public functions of the module, in order."""


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
    known = {clause.__name__ for clause in CLAUSES}
    if only is not None and (unknown := sorted(set(only) - known)):
        raise ValueError(f"unknown clause `{unknown[0]}`; the clauses are {', '.join(sorted(known))}")
    kept: list[str] = []
    violations: list[Violation] = []
    for clause in CLAUSES:
        name = clause.__name__
        if only is not None and name not in only:
            continue
        subject = EngineUnderTest(make)
        try:
            await asyncio.wait_for(clause(subject), seconds)
            kept.append(name)
        except Exception as error:
            violations.append(Violation(name, _demand_of(clause), _seen(error, seconds)))
        finally:
            await subject.close()
    report = ContractReport(tuple(kept), (), tuple(violations))
    if violations:
        raise DispatcherContractError(report)
    return report


def _demand_of(clause: Clause) -> str:
    return " ".join((inspect.getdoc(clause) or "").split())


def _seen(error: Exception, seconds: float) -> str:
    if isinstance(error, Violated):
        return str(error)
    if isinstance(error, TimeoutError):
        return f"no end after {seconds:g} s"
    return format_exception(error)
