"""The figures of start-up as the page has them, made from `benches/startup_results.json` and nothing else."""

from __future__ import annotations

from page_figures import PERFORMANCE, ROOT, Figures, Results


def table(results: Results) -> str:
    """The Markdown of the figures."""
    there = results["machine"]
    lines = ["| over `python -c pass` | processor time | wall time |", "|---|---:|---:|"]
    lines += [
        f"| {_name(row['name'])} | {row['cpu_over_ms']:.1f} ms | {row['wall_over_ms']:.1f} ms |"
        for row in results["rows"][1:]
        if row["name"] != "bobcat-hook"
    ]
    whole = {row["name"]: row for row in results["rows"]}
    ends = [f"`python -c pass` itself takes {whole['python -c pass']['cpu_ms']:.1f} ms"]
    if "bobcat-hook" in whole:
        ends.append(f"the native hook, which is no Python program, {whole['bobcat-hook']['cpu_ms']:.1f} ms in all")
    lines += [
        "",
        f"{', and '.join(ends)}, of processor time.",
        "",
        f"Measured by `make bench-startup`: CPython {there['python']}, {there['cpu']}, {there['cores']} cores, "
        f"a load average of {there['load_average']:.1f}; a bundle of {results['rules']:,} rules, medians of "
        f"{results['rounds']} rounds.",
        "",
    ]
    return "\n".join(lines)


def _name(name: str) -> str:
    return name if name.startswith("a ") else f"`{name}`"


FIGURES = Figures("startup", "make bench-startup", ROOT / "benches" / "startup_results.json", {PERFORMANCE: table})
