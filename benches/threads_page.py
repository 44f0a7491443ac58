"""The figures of threads as the page has them, made from `benches/threads_results.json` and from nothing else."""

from __future__ import annotations

from page_figures import PERFORMANCE, ROOT, Figures, Results


def tables(results: Results) -> str:
    """The Markdown of the parts that were measured."""
    parts = {"latency": _latency, "events": _stores, "long": _long, "ledger": _ledger, "soak": _soak}
    shown = [line for name, part in parts.items() if name in results for line in (*part(results[name]), "")]
    there = results["machine"]
    where = f"CPython {there['python']}, {there['cpu']}, {there['cores']} cores, "
    measured = f"Measured by `make bench-threads`: {where}a load average of up to {there['load_average']:.1f}."
    return "\n".join([*shown, measured, ""])


def _latency(part: Results) -> list[str]:
    head = ["| first delta | median | p99 | added to the median | added to the p99 |", "|---|---:|---:|---:|---:|"]
    rows = [
        f"| {row['vendor']}, {row['side']} | {row['median_ms']:.1f} ms | {row['p99_ms']:.1f} ms | {_added(row)} |"
        for row in part["sides"]
    ]
    return [f"The first delta of a reply, {part['rounds']} replies of each, in turn:", "", *head, *rows]


def _added(row: Results) -> str:
    if row["added_median_ms"] in (0, row["median_ms"]):
        return "– | –"
    return f"{row['added_median_ms']:.1f} ms | {row['added_p99_ms']:.1f} ms"


def _stores(part: Results) -> list[str]:
    events = next(iter(part.values()))["events_of_a_turn"]
    head = ["| store | events per second |", "|---|---:|"]
    rows = [f"| {name} | {found['events_per_second']:,.0f} |" for name, found in part.items()]
    return [f"Events through `thread.send`, a turn of 45 calls and {events:,.0f} events:", "", *head, *rows]


def _long(part: Results) -> list[str]:
    head = [
        "| store | 100 messages | 10,000 messages | ratio | opened anew: 100 | 10,000 | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    rows = [
        f"| {name} | {each['short']:,.1f} ms | {each['long']:,.1f} ms | {each['ratio']:.2f} "
        f"| {each['short_opened']:,.1f} ms | {each['long_opened']:,.1f} ms | {each['ratio_opened']:.2f} |"
        for name, each in part.items()
    ]
    return ["A turn of 20 messages, nine calls among them, in a short and in a long thread, in turn:", "", *head, *rows]


def _ledger(part: Results) -> list[str]:
    head = ["| ledger | 1 process | 4 processes together |", "|---|---:|---:|"]
    rows = [f"| {name} | {each['1']:,.0f} | {each['4']:,.0f} |" for name, each in part.items()]
    return ["Operations of the ledger per second, each a durable transaction:", "", *head, *rows]


def _soak(part: Results) -> list[str]:
    head = ["| turns | " + " | ".join(f"{int(number):,}" for number in part) + " |", "|---|" + "---:|" * len(part)]
    sizes = "| resident MiB | " + " | ".join(f"{size / 1024:.1f}" for size in part.values()) + " |"
    return ["The memory of a process that takes turns in one thread on SQLite:", "", *head, sizes]


FIGURES = Figures("threads", "make bench-threads", ROOT / "benches" / "threads_results.json", {PERFORMANCE: tables})
