"""The table of the wide workloads in `docs/explanation/performance.md`, made from `benches/results-wide.json` alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benches" / "results-wide.json"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
BEGIN = "<!-- wide: written by `make bench-wide` -->\n"
END = "<!-- end of wide -->\n"

Results = dict[str, Any]  # Any: JSON


def table(results: Results) -> str:
    """The Markdown of the figures."""
    machine, seeds = results["machine"], results["seeds"]
    lines = [
        "| shape | rules | Bobcat | floor in C | Python by hand | lynx-agent | times the floor, by seed |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in results["rows"]:
        times = " | ".join(_time(row["ns"][name]) for name in ("Bobcat", "floor in C", "Python by hand", "lynx-agent"))
        spread = f"{row['ratio']:.2f} ({row['ratios'][0]:.2f} to {row['ratios'][-1]:.2f})"
        lines.append(f"| {row['shape']} | {row['rules']:,} | {times} | {spread} |")
    lines += [
        "",
        f"Measured by `{results['command']}` with the seeds {seeds[0]} to {seeds[-1]}: {machine['python']}, "
        f"{machine['cpu']}, {machine['cores']} cores, a load average of {results['busy']}.",
        "",
    ]
    return "\n".join(lines)


def _time(ns: float) -> str:
    return f"{ns:,.0f} ns" if ns < 10_000 else f"{ns / 1000:,.0f} µs"


def page_with(results: Results) -> str:
    """The page with the figures of `results` between its markers."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table(results)}{END}{after}"


def update_page(results: Results) -> None:
    """Put the figures into the page."""
    PAGE.write_text(page_with(results), encoding="utf-8")


def committed_results() -> Results:
    """The committed artefact."""
    results: Results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results
