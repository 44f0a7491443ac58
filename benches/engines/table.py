"""The tables of `docs/explanation/performance.md`, made from `benches/results-engines.json` and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benches" / "results-engines.json"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
BEGIN = "<!-- figures: written by `make bench-engines` -->\n"
END = "<!-- end of figures -->\n"

Results = dict[str, Any]  # Any: JSON


def tables(results: Results) -> str:
    """The Markdown of the figures."""
    machine, versions = results["machine"], results["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "bobcat")
    return "\n".join(
        (
            "The whole workload:",
            "",
            *_table(results["whole"]),
            "",
            "The part without patterns, without order, and with allow and deny only:",
            "",
            *_table(results["part"]),
            "",
            "The floor, the Python loop around the calls included:",
            "",
            "| call | time |",
            "|---|---:|",
            *(f"| {name} | {value:.0f} ns |" for name, value in results["calls"].items()),
            "",
            f"Measured by `{results['command']}` in one run: {machine['python']}, {machine['cpu']}, "
            f"{machine['cores']} cores; {named}.",
            "",
        )
    )


def _table(rows: list[dict[str, Any]]) -> list[str]:  # Any: JSON
    names = list(dict.fromkeys(name for row in rows for name in row["us"]))
    head = "| engine | " + " | ".join(f"{row['rules']:,} rule{'s' * (row['rules'] != 1)}" for row in rows) + " |"
    lines = [head, "|---|" + "---:|" * len(rows)]
    lines += ["| " + " | ".join([name, *(_time(row["us"].get(name)) for row in rows)]) + " |" for name in names]
    return lines


def _time(microseconds: float | None) -> str:
    if microseconds is None:
        return "–"
    if microseconds >= 10_000:
        return f"{microseconds / 1_000:,.1f} ms"
    return f"{microseconds:,.0f} µs" if microseconds >= 100 else f"{microseconds:,.2f} µs"


def page_with(results: Results) -> str:
    """The page with the figures of `results` between its markers."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{tables(results)}{END}{after}"


def update_page(results: Results) -> None:
    """Put the figures into the page."""
    PAGE.write_text(page_with(results), encoding="utf-8")


def committed_results() -> Results:
    """The committed artefact."""
    results: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results
