"""The lowest releases that `pyproject.toml` permits: what it says of the core's dependencies and of the extras is true.

The vendors' packages have sets of releases in `tests/adapters/test_other_sdks.py`.
"""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement

from other_releases import ROOT, run_with

SETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "commands and bundles": (
        ("postgres", "redis", "sign", "workers"),
        (
            "unit/test_bundle_*.py",
            "unit/test_cli_approvals.py",
            "unit/test_cli_bundle_conditions.py",
            "unit/test_cli_check_directories.py",
            "unit/test_cli_diff.py",
            "unit/test_cli_fmt.py",
            "unit/test_cli_init_and_run.py",
            "unit/test_cli_plain_eval.py",
            "unit/test_cli_policies.py",
            "unit/test_cli_runs.py",
            "unit/test_cli_trace.py",
            "unit/test_frontend_sources.py",
            "unit/test_ir_memory.py",
            "unit/test_policy_layers.py",
        ),
    ),
    "servers": (("http", "proxy", "serve", "sign"), ("server", "distribution")),
    "stores": (("http", "otel", "postgres", "redis", "serve", "sign", "undo"), ("stores", "undo")),
    "workers": (
        ("celery", "postgres", "redis", "workers"),
        ("workers/test_celery.py", "workers/test_procrastinate.py"),
    ),
}
"""Extras and tests by what needs them."""


def lowest(*extras: str) -> list[str]:
    """The lowest releases of the dependencies and of what the extras add."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *(line for name in extras for line in project["optional-dependencies"][name])]
    return sorted({_lowest(Requirement(line)) for line in declared})


def _lowest(declared: Requirement) -> str:
    (bound,) = (part.version for part in declared.specifier if part.operator == ">=")
    marker = f" ; {declared.marker}" if declared.marker else ""
    extras = f"[{','.join(sorted(declared.extras))}]" if declared.extras else ""
    return f"{declared.name}{extras}=={bound}{marker}"


def test_the_lowest_releases_are_those_of_the_project() -> None:
    assert {"click==8.1.2", "msgspec==0.21", "psycopg[binary]==3.2.1"} < set(lowest("postgres"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_tests_pass_with_the_lowest_releases(name: str) -> None:
    extras, tests = SETS[name]
    run_with(lowest(*extras), tests)
