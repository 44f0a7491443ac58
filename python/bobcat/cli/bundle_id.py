"""`bobcat bundle-id`: print the digest of a policy."""

from __future__ import annotations

import click

from bobcat.cli.failures import InputError
from bobcat.cli.inputs import DEFAULT_POLICY, Profile, open_policy
from bobcat.cli.options import bundle_options, format_option, profile_option, python_rule_option
from bobcat.cli.output import write_json


@click.command("bundle-id")
@click.argument("policy", metavar="[POLICY]", default=DEFAULT_POLICY, type=click.Path(allow_dash=True))
@profile_option
@python_rule_option
@bundle_options
@click.option("--lynx", is_flag=True, help="Print the 16-digit id that lynx-agent gives this policy instead.")
@format_option
def bundle_id(
    policy: str,
    profile: Profile,
    *,
    python_rules: tuple[str, ...],
    lynx: bool,
    output_format: str,
) -> None:
    """Print the id of POLICY, a source or a bundle (default: policy.yaml): the SHA-256 digest of its IR."""
    bundle = open_policy(policy, profile, python_rules, shown_only=True)
    try:
        identity = bundle.lynx_id if lynx else bundle.id
    except ValueError as error:
        raise InputError(f"this policy has no lynx id: {error}") from error
    if output_format == "json":
        write_json({"id": identity})
    else:
        click.echo(identity)
