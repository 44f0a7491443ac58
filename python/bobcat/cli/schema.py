"""`bobcat schema`: the JSON Schemas of the policy language, of suites and of invariants, for editors."""

from __future__ import annotations

import json
from typing import Any

import click

from bobcat.cli.output import write_file


@click.command()
@click.option("--tests", "tests", is_flag=True, help="The schema of suites of policy tests, in place of policies.")
@click.option("--invariants", "invariants", is_flag=True, help="The schema of files of invariants, for `prove`.")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to FILE instead of standard output."
)
def schema(tests: bool, invariants: bool, output: str | None) -> None:
    """Print the JSON Schema (2020-12) of the policy language, for completion and checks in editors."""
    if tests and invariants:
        raise click.UsageError("`--tests` and `--invariants` do not go together")
    text = json.dumps(_schema(tests=tests, invariants=invariants), indent=2)
    if output is None:
        click.echo(text)
    else:
        write_file(output, text + "\n")


def _schema(*, tests: bool, invariants: bool) -> dict[str, Any]:  # Any: JSON
    from bobcat.analysis.invariants_schema import invariants_schema
    from bobcat.frontend.strict.json_schema import policy_schema
    from bobcat.testing.suites.json_schema import suite_schema

    return suite_schema() if tests else invariants_schema() if invariants else policy_schema()
