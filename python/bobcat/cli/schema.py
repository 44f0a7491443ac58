"""`bobcat schema`: the JSON Schemas of the policy language and of suites, for editors."""

from __future__ import annotations

import json

import click

from bobcat.cli.output import write_file


@click.command()
@click.option("--tests", "tests", is_flag=True, help="The schema of suites of policy tests, in place of policies.")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to FILE instead of standard output."
)
def schema(tests: bool, output: str | None) -> None:
    """Print the JSON Schema (2020-12) of the policy language, for completion and checks in editors."""
    from bobcat.frontend.strict.json_schema import policy_schema
    from bobcat.testing.suites.json_schema import suite_schema

    text = json.dumps(suite_schema() if tests else policy_schema(), indent=2)
    if output is None:
        click.echo(text)
    else:
        write_file(output, text + "\n")
