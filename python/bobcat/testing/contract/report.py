"""Report of a contract run."""

from __future__ import annotations

from dataclasses import dataclass

from bobcat.text.display import safe_text


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated clause: its name, its demand, and the observed behaviour."""

    clause: str
    demand: str
    seen: str


@dataclass(frozen=True, slots=True)
class ContractReport:
    """The clauses that were kept, that do not apply (with the reason), and that were violated."""

    kept: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    violations: tuple[Violation, ...]

    def __str__(self) -> str:
        lines = [f"{len(self.kept)} clauses kept, {len(self.violations)} violated, {len(self.skipped)} not applicable"]
        for violation in self.violations:
            lines += [f"  {violation.clause}: {violation.demand}", f"      seen: {safe_text(violation.seen)}"]
        for reason in dict.fromkeys(reason for _, reason in self.skipped):
            clauses = ", ".join(clause for clause, why in self.skipped if why == reason)
            lines.append(f"  not applicable, because {safe_text(reason)}: {clauses}")
        return "\n".join(lines)


class StoreContractError(AssertionError):
    """The store violates its contract. `report` has every clause."""

    def __init__(self, report: ContractReport) -> None:
        super().__init__(str(report))
        self.report = report
