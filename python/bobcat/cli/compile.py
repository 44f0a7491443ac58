"""`bobcat compile`: compile a policy source to a bundle file."""

from __future__ import annotations

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import Profile, compile_sources, import_rule, open_policy, read_modules, read_private_key
from bobcat.cli.options import format_option, profile_option, python_rule_option
from bobcat.cli.output import write_json
from bobcat.text.display import safe_text


@click.command("compile")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option(
    "-o", "--output", required=True, metavar="BUNDLE", type=click.Path(dir_okay=False), help="The bundle file to write."
)
@click.option("--with-sources", is_flag=True, help="Include the text of the policy in the bundle, for explanations.")
@click.option("--sign-key", metavar="FILE", type=click.Path(dir_okay=False), help="Sign with the Ed25519 key in FILE.")
@click.option("--epoch", type=click.IntRange(0), metavar="N", help="The number of this release, for `--min-epoch`.")
@profile_option
@python_rule_option
@format_option
def compile_(
    sources: tuple[str, ...],
    output: str,
    *,
    with_sources: bool,
    sign_key: str | None,
    epoch: int | None,
    profile: Profile,
    python_rules: tuple[str, ...],
    output_format: str,
) -> None:
    """Compile SOURCE into a bundle file: a policy, modules of rules (`.py`), or both.

    A module is imported, and every function in it with `@rule` is a rule. Its imports are listed on stderr.
    Nothing is written if there are errors.
    """
    modules = read_modules(sources)
    if modules or len(sources) > 1:
        bundle = compile_sources(sources, profile, [import_rule(spec) for spec in python_rules], modules)
    else:
        bundle = open_policy(sources[0], profile, python_rules)
    imported = sorted({name for module in modules for name in module.imported})
    key = read_private_key(sign_key) if sign_key is not None else None
    try:
        bundle.save(output, sources=with_sources, private_key=key, epoch=epoch)
    except OSError as error:
        raise InputError(f"cannot write `{output}`: {reason_of(error)}") from error
    rules = bundle.rule_count
    if output_format == "json":
        write_json({"bundle": output, "id": bundle.id, "profile": bundle.profile, "rules": rules, "imported": imported})
    else:
        click.echo(f"{safe_text(output)}: {rules} rule{'s' * (rules != 1)}, id {bundle.id}")
