"""The figures about stores and workers on the pages are those that were measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def measured(name: str) -> Any:
    return json.loads((ROOT / "benches" / name).read_text(encoding="utf-8"))


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_figures_of_stores_are_those_of_the_artefact() -> None:
    results, text = measured("stores_results.json"), page("reference/stores.md")
    assert set(results["stores"]) == {"memory", "sqlite", "file", "redis", "postgres"}
    for name, seen in results["stores"].items():
        row = (
            f"| {name} | {seen['appends_per_second_1']:,.0f} | {seen['appends_per_second_16']:,.0f} "
            f"| {seen['microseconds_per_step']:,.0f} | {seen['resume_seconds']:.2f} |"
        )
        assert row in text
    assert f"load average of {results['load_average']:.0f}" in text
    assert f"took {results['fsync_microseconds'] / 1000:.2f} ms" in text


def test_the_figures_of_workers_are_those_of_the_artefact() -> None:
    results, text = measured("workers_results.json"), page("how-to/run-workers.md")
    rates, takeovers = results["runs_per_second"], results["takeover_seconds"]
    for what, name in (
        ("SQLite, one worker, the store as the queue", "sqlite_in_process"),
        ("PostgreSQL and procrastinate, one worker", "postgres_1_worker"),
        ("PostgreSQL and procrastinate, two workers", "postgres_2_workers"),
    ):
        assert f"| {what} | {rates[name]:,.0f} |" in text
    for what, name in (("SQLite", "sqlite"), ("PostgreSQL", "postgres")):
        row = f"| {what} | {takeovers[name]['median']:.1f} s | {takeovers[name]['longest']:.1f} s |"
        assert row in text
    assert f"leases of {results['lease_seconds']:.0f} s" in text
    assert f"{results['runs']} short runs, {results['concurrency']} at once in each worker" in text
    assert f"load average of {results['load_average']:.0f}" in text
