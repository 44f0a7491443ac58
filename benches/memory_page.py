"""The figures of rules that remember as the page has them, made from `benches/memory_results.json` and nothing else."""

from __future__ import annotations

from page_figures import PERFORMANCE, ROOT, Figures, Results


def tables(results: Results) -> str:
    """The Markdown of the figures."""
    there, rebuild = results["machine"], results["rebuild"]
    lines = ["| one decision, at | without memory | with a count |", "|---:|---:|---:|"]
    lines += [
        f"| {row['rules']:,} rules | {row['plain']:.2f} µs | {row['with_memory']:.2f} µs |"
        for row in results["decisions"]
    ]
    lines += ["", "| one call in a run of 10,000, under a policy with | time |", "|---|---:|"]
    lines += [f"| {name} | {time:.2f} µs |" for name, time in results["calls"].items()]
    lines += ["", "| calls of a run, with results | resident memory | snapshot |", "|---:|---:|---:|"]
    lines += [
        f"| {row['calls']:,} | {row['bytes'] / 1000:,.1f} kB | {row['snapshot'] / 1000:,.1f} kB |"
        for row in results["runs"]
    ]
    lines += [
        "",
        f"A sequence adds {results['monitor_ns']:.0f} ns to an event. "
        f"The state of a run is made again from a journal of {rebuild['records']:,} records in {rebuild['ms']:.0f} ms.",
        "",
        f"Measured by `make bench-memory`: CPython {there['python']}, {there['cpu']}, {there['cores']} cores, "
        f"a load average of {there['load_average']:.1f}; processor time, the best of several rounds.",
        "",
    ]
    return "\n".join(lines)


FIGURES = Figures("memory", "make bench-memory", ROOT / "benches" / "memory_results.json", {PERFORMANCE: tables})
