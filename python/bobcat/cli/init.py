"""`bobcat init`: write a starter policy with passing tests."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.output import write_file
from bobcat.text.display import safe_text

STARTER = (
    "policy.yaml",
    "policy_tools.py",
    "policy.policytest.yaml",
    "programs.policytest.yaml",
    "test_policy.py",
)


@click.command()
@click.option(
    "--dir",
    "directory",
    default=".",
    show_default=True,
    type=click.Path(),
    help="The directory to write to; created if missing.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init(directory: str, force: bool) -> None:
    """Write a starter policy (policy.yaml), its tools (policy_tools.py) and its tests.

    The tests are suites for `bobcat test` (*.policytest.yaml), and a program (test_policy.py).
    """
    target = Path(directory)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create `{target}`: {reason_of(error)}") from error
    present = [name for name in STARTER if (target / name).exists()]
    if present and not force:
        raise InputError(f"`{target / present[0]}` already exists; `--force` overwrites it")
    for name in STARTER:
        text = files("bobcat.cli").joinpath("starter", name).read_text(encoding="utf-8")
        write_file(str(target / name), text)
        click.echo(f"wrote {safe_text(target / name)}")
    click.echo(f"next: bobcat check {safe_text(target / 'policy.yaml')}")
