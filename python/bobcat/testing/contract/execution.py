"""Execution of the clauses of a contract, one after the other, each on a subject of its own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from types import ModuleType
from typing import Protocol, TypeAlias, TypeVar

from bobcat.testing.contract.report import ContractReport, Violation
from bobcat.testing.contract.subject import NotApplicable, Violated
from bobcat.text.json_text import format_exception


class Subject(Protocol):
    """What a clause tries."""

    async def close(self) -> None:
        """Close what the clause has opened."""


S = TypeVar("S", bound=Subject)
Clause: TypeAlias = Callable[[S], Awaitable[None]]


def clauses_of(*modules: ModuleType) -> tuple[Clause[S], ...]:
    """The public functions of modules, in order. A clause's name is that of its function, its demand the docstring."""
    return tuple(
        clause
        for module in modules
        for name, clause in vars(module).items()
        if getattr(clause, "__module__", "") == module.__name__ and not name.startswith("_") and callable(clause)
    )


async def execute(
    clauses: Sequence[Clause[S]], subject: Callable[[], S], *, only: Collection[str] | None, seconds: float
) -> ContractReport:
    """Run the clauses, or those that `only` names. A clause that takes longer than `seconds` is violated.

    Raises `ValueError` for an unknown name.
    """
    known = {clause.__name__ for clause in clauses}
    if only is not None and (unknown := sorted(set(only) - known)):
        raise ValueError(f"unknown clause `{unknown[0]}`; the clauses are {', '.join(sorted(known))}")
    kept: list[str] = []
    skipped: list[tuple[str, str]] = []
    violations: list[Violation] = []
    for clause in clauses:
        name = clause.__name__
        if only is not None and name not in only:
            continue
        tried = subject()
        try:
            await asyncio.wait_for(clause(tried), seconds)
            kept.append(name)
        except NotApplicable as reason:
            skipped.append((name, str(reason)))
        except Exception as error:
            demand = " ".join((inspect.getdoc(clause) or "").split())
            violations.append(Violation(name, demand, _seen(error, seconds)))
        finally:
            await tried.close()
    return ContractReport(tuple(kept), tuple(skipped), tuple(violations))


def _seen(error: Exception, seconds: float) -> str:
    if isinstance(error, Violated):
        return str(error)
    if isinstance(error, TimeoutError):
        return f"no end after {seconds:g} s"
    return format_exception(error)
