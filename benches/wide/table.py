"""The table of the wide workloads in `docs/explanation/performance.md`, made from `benches/results-wide.json` alone."""

from __future__ import annotations

from page_figures import PERFORMANCE, ROOT, Figures, Results


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


FIGURES = Figures("wide", "make bench-wide", ROOT / "benches" / "results-wide.json", {PERFORMANCE: table})
