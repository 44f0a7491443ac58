"""`bobcat schema`: the JSON Schema of the policy language, for editors."""

from __future__ import annotations

import json

import click

from bobcat.cli.output import write_file


@click.command()
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write to FILE instead of standard output."
)
def schema(output: str | None) -> None:
    """Print the JSON Schema (2020-12) of the policy language, for completion and checks in editors."""
    from bobcat.frontend.strict.json_schema import policy_schema

    text = json.dumps(policy_schema(), indent=2)
    if output is None:
        click.echo(text)
    else:
        write_file(output, text + "\n")
