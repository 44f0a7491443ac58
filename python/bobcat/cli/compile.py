"""`bobcat compile`: a policy source into a bundle file."""

from __future__ import annotations

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import Profile, open_policy, read_private_key
from bobcat.cli.options import format_option, policy_argument, profile_option, python_rule_option
from bobcat.cli.output import write_json


@click.command("compile")
@policy_argument
@click.option(
    "-o", "--output", required=True, metavar="BUNDLE", type=click.Path(dir_okay=False), help="The bundle file to write."
)
@click.option("--with-sources", is_flag=True, help="Put the text of the policy into the bundle, for explanations.")
@click.option("--sign-key", metavar="FILE", type=click.Path(dir_okay=False), help="Sign with the Ed25519 key in FILE.")
@profile_option
@python_rule_option
@format_option
def compile_(
    policy: str,
    output: str,
    *,
    with_sources: bool,
    sign_key: str | None,
    profile: Profile,
    python_rules: tuple[str, ...],
    output_format: str,
) -> None:
    """Compile POLICY into a bundle file. Nothing is written when the policy has errors."""
    bundle = open_policy(policy, profile, python_rules)
    key = read_private_key(sign_key) if sign_key is not None else None
    try:
        bundle.save(output, sources=with_sources, private_key=key)
    except OSError as error:
        raise InputError(f"cannot write `{output}`: {reason_of(error)}") from error
    rules = len(bundle.rules) + len(bundle.python_rules)
    if output_format == "json":
        write_json({"bundle": output, "id": bundle.id, "profile": bundle.profile, "rules": rules})
    else:
        click.echo(f"{output}: {rules} rule{'s' * (rules != 1)}, id {bundle.id}")
