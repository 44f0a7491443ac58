"""The tables about shapes in `docs/explanation/performance.md`, from `benches/results-shapes.json` and nothing else."""

from __future__ import annotations

from typing import Any

from page_figures import PERFORMANCE, ROOT, Figures, Results

Row = dict[str, Any]  # Any: JSON


def tables(results: Results) -> str:
    """The Markdown of the figures."""
    machine = results["machine"]
    units: dict[str, list[Row]] = {}
    for row in results["shapes"]:
        units.setdefault(" | ".join(f"{int(size):,}" for size in row["ns"]) + f" {row['unit']}", []).append(row)
    lines = ["One decision on a call that no rule fires on, by the number of rules, or by what there is to read:", ""]
    for sizes, rows in units.items():
        columns = len(rows[0]["ns"])
        lines += [f"| shape | {sizes} | growth |", "|---|" + "---:|" * (columns + 1)]
        lines += [
            "| " + " | ".join([row["name"], *map(_time, row["ns"].values()), f"{row['growth']:,.1f}"]) + " |"
            for row in rows
        ]
        lines.append("")
    gate, first = results["gate"], results["first"]
    shared = results["busy"] > machine["cores"] / 2
    lines += [
        "Single calls of the mixed workload, each timed by itself, the middle one of five runs. `after a collection` "
        "is the mean of the first call with each request after a collection of garbage; the columns before are "
        "without these. `as they come` is p99 / p50 of all calls of other runs, in which garbage is collected as ever.",
        "",
        "| rules | p50 | p99 | p99 / p50 | of the best times | after a collection | as they come |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {row['rules']:,} | {_time(row['p50_ns'])} | {_time(row['p99_ns'])} | {row['ratio']:.1f} "
            f"| {row['best_ratio']:.1f} | {_time(row['after_gc_ns'])} | {row['as_they_come']:.1f} |"
            for row in results["spread"]
        ),
        "",
        "With cold caches, after so many MiB went through them, one call takes:",
        "",
        "| MiB | rules | Bobcat | by hand | lynx-agent | an empty call |",
        "|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {row['mib']} | {row['rules']:,} | {row['us']:.1f} µs | {row['by_hand_us']:.1f} µs | "
            + (f"{row['lynx_us']:,.0f} µs" if "lynx_us" in row else "–")
            + f" | {row['empty_us']:.1f} µs |"
            for row in [*results["cold"], *results["less_cold"]]
        ),
        "",
        f"The first call after loading {first['rules']:,} rules takes {first['first_us']:,.0f} µs, the first about "
        f"another tool {first['first_of_a_tool_us']:,.0f} µs, a later one {first['later_us']:.1f} µs (timed singly). "
        f"`bundle.prepare()` takes {first['prepare_ms']:,.0f} ms; then the first call about a tool takes "
        f"{first['first_prepared_us']:,.1f} µs.",
        "",
        "Many decisions at once, in millions a second:",
        "",
        "| rules | `evaluate_many` | `evaluate_json` | with two threads | times one | two processes, times one |",
        "|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {row['rules']:,} | {row['many']:.2f} | {row['json']:.2f} | "
            + (
                "– | – | – |"
                if shared
                else f"{row['json_two_threads']:.2f} | {row['two_threads_times']:.2f} "
                f"| {row['two_processes_times']:.2f} |"
            )
            for row in results["batches"]
        ),
        "",
        f"A line of JSON has {results['batches'][0]['bytes_a_line']} bytes. "
        + " ".join(
            f"{row['rules']:,} rules take {row['loaded_mib']:.1f} MiB loaded, {row['used_mib']:.1f} after 200 calls."
            for row in results["memory"]
        ),
        "",
        f"The whole gate of a tool call among {gate['rules']:,} rules (build the request, decide, mediate a tool that "
        f"does nothing, emit to no sink) takes {gate['us']:.1f} µs, the tool alone {gate['tool_alone_us']:.1f} µs.",
        "",
        f"Measured by `{results['command']}` in one run: {machine['python']}, {machine['cpu']}, "
        f"{machine['cores']} cores. Times of shapes are the best of 30 rounds, in turn, without the call itself; "
        "those of single calls are without the clock.",
        *(
            [f"{results['busy']:.0f} other programs wanted the cores, so two threads and p99 say little."]
            if shared
            else []
        ),
        "",
    ]
    return "\n".join(lines)


def _time(nanoseconds: float) -> str:
    if nanoseconds >= 1_000:
        return f"{nanoseconds / 1_000:,.1f} µs"
    return f"{nanoseconds:,.0f} ns"


FIGURES = Figures("shapes", "make bench-shapes", ROOT / "benches" / "results-shapes.json", {PERFORMANCE: tables})
