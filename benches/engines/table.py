"""The tables of `docs/explanation/performance.md` and `docs/index.md`, from `benches/results-engines.json` alone."""

from __future__ import annotations

from typing import Any

from page_figures import PERFORMANCE, ROOT, Figures, Results

_LEFT_OUT = ("casbin",)  # of the landing page: it is measured up to 100 rules


def tables(results: Results) -> str:
    """The Markdown of the figures."""
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
            _origin(results),
            "",
        )
    )


def summary(results: Results) -> str:
    """The Markdown of the figures of the landing page: some sizes, and both workloads in one table."""
    whole = {row["rules"]: row["us"] for row in results["whole"]}
    part = {row["rules"]: row["us"] for row in results["part"]}
    sizes = [rules for rules in whole if rules >= 10]
    rows = {name: [whole[size].get(name) for size in sizes] for name in whole[sizes[0]] if name not in _LEFT_OUT}
    for name in results["part"][0]["us"]:
        rows[f"{name}, rules without patterns and order"] = [part.get(size, {}).get(name) for size in sizes]
    return "\n".join(
        (
            "| one decision, at | " + " | ".join(f"{size:,} rules" for size in sizes) + " |",
            "|---|" + "---:|" * len(sizes),
            *("| " + " | ".join([name, *map(_time, times)]) + " |" for name, times in rows.items()),
            "",
            _origin(results, _LEFT_OUT),
            "",
        )
    )


def _origin(results: Results, without: tuple[str, ...] = ()) -> str:
    machine, versions = results["machine"], results["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if name not in ("bobcat", *without))
    return (
        f"Measured by `{results['command']}` in one run: {machine['python']}, {machine['cpu']}, "
        f"{machine['cores']} cores; {named}."
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


FIGURES = Figures(
    "figures",
    "make bench-engines",
    ROOT / "benches" / "results-engines.json",
    {PERFORMANCE: tables, ROOT / "docs" / "index.md": summary},
)
