"""The figures beside DBOS as the page has them, made from `benches/dbos_results.json` and from nothing else."""

from __future__ import annotations

from page_figures import PERFORMANCE, ROOT, Figures, Results

NAMES = {"bobcat": "Bobcat", "dbos": "DBOS"}
COLUMNS = {
    "runs_per_second": "runs per second",
    "ms_per_step": "ms per step",
    "cpu_ms_per_run": "client CPU, ms per run",
    "server_cpu_ms_per_run": "server CPU, ms per run",
    "statements_per_run": "statements per run",
    "commits_per_run": "commits per run",
    "syncs_per_run": "waits for the disk per run",
}


def tables(results: Results) -> str:
    """The Markdown of the figures."""
    head = ["| at a time | | " + " | ".join(COLUMNS.values()) + " |", "|---:|---|" + "---:|" * len(COLUMNS)]
    rows = [
        f"| {concurrent} | {NAMES[side]} | " + " | ".join(_shown(name, found[name]) for name in COLUMNS) + " |"
        for concurrent in results["sides"]["bobcat"]
        for side in NAMES
        for found in (results["sides"][side][concurrent],)
    ]
    measured = (
        f"Measured by `make bench-dbos`: DBOS {results['dbos']}, {results['machine']}, the best of {results['rounds']} "
        f"rounds in turn, a load average of {results['load_average']:.1f}."
    )
    return "\n".join([*head, *rows, "", measured, ""])


def _shown(name: str, value: float) -> str:
    return f"{value:,.0f}" if name == "runs_per_second" else f"{value:.1f}"


FIGURES = Figures("dbos", "make bench-dbos", ROOT / "benches" / "dbos_results.json", {PERFORMANCE: tables})
