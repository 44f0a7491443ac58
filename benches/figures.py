"""The figures of the README, made from `benches/results.json` and from nothing else."""

from __future__ import annotations

from typing import Any

from page_figures import ROOT, Figures, Results


def table(results: Results) -> str:
    """The Markdown of the figures."""
    compiled, loaded = results["compile"], results["load"]
    machine, versions = results["machine"], results["versions"]
    return "\n".join(
        (
            "| one decision, at | Bobcat | lynx-agent | times faster |",
            "|---:|---:|---:|---:|",
            *map(_row, results["evaluate"]),
            "",
            f"Compiling {compiled['rules']:,} rules from YAML takes {compiled['bobcat_s']:.2f} s, "
            f"{compiled['ratio']:.1f} times less than lynx-agent's {compiled['lynx_s']:.2f} s. Loading them from a "
            f"bundle takes {loaded['ms']:.0f} ms. "
            "[Start-up](docs/explanation/performance.md#start-up) is measured apart.",
            "",
            f"Measured by `{results['command']}` against lynx-agent {versions['lynx-agent']} in one run: "
            f"CPython {machine['python']}, {machine['cpu']}, {machine['cores']} cores. "
            "Times are medians; for loading, the best of 15. "
            "The workload is in `benches/corpora`.",
            "",
        )
    )


def _row(row: dict[str, Any]) -> str:  # Any: JSON
    rules = f"{row['rules']:,} rule{'s' * (row['rules'] != 1)}"
    return f"| {rules} | {_us(row['bobcat_us'])} | {_us(row['lynx_us'])} | {_ratio(row['ratio'])} |"


def _us(microseconds: float) -> str:
    return f"{microseconds:,.2f} µs" if microseconds < 100 else f"{microseconds:,.0f} µs"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.1f}" if ratio < 100 else f"{ratio:,.0f}"


FIGURES = Figures("figures", "make bench", ROOT / "benches" / "results.json", {ROOT / "README.md": table})
