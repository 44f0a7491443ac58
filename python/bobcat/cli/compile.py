"""`bobcat compile`: compile a policy source to a bundle file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bobcat.cli.failures import InputError, reason_of
from bobcat.cli.inputs import (
    Profile,
    compile_sources,
    import_rule,
    narrowed,
    open_policy,
    read_modules,
    read_narrowing,
    read_private_key,
)
from bobcat.cli.inspect import layers_json
from bobcat.cli.options import choice_option, format_option, narrow_option, profile_option, python_rule_option
from bobcat.cli.output import write_json
from bobcat.errors import BundleError
from bobcat.text.display import safe_text

if TYPE_CHECKING:
    from bobcat.bundle.model import Policy
    from bobcat.ir.schema import Combine


@click.command("compile")
@click.argument("sources", metavar="SOURCE...", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "-o", "--output", required=True, metavar="BUNDLE", type=click.Path(dir_okay=False), help="The bundle file to write."
)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    metavar="NAME=POLICY",
    help="A layer, instead of SOURCE; repeatable, from the highest to the lowest.",
)
@click.option(
    "--limits",
    multiple=True,
    metavar="NAME=POLICY",
    help="What no layer may exceed, by the layer NAME; repeatable.",
)
@choice_option(
    "--combine",
    choices=("strictest", "first", "last", "strict_overrides_loose"),
    help="What combines the verdicts of layers.",
)
@narrow_option
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
    layers: tuple[str, ...],
    limits: tuple[str, ...],
    combine: Combine,
    with_sources: bool,
    sign_key: str | None,
    epoch: int | None,
    profile: Profile,
    python_rules: tuple[str, ...],
    output_format: str,
) -> None:
    """Compile SOURCE into a bundle file: a policy, modules of rules (`.py`), or both; or policies as layers.

    A module is imported, and every function in it with `@rule` is a rule. Its imports are listed on stderr.
    Nothing is written if there are errors.
    """
    if bool(sources) == bool(layers):
        raise click.UsageError(
            "SOURCE or `--layer` is missing" if not sources else "SOURCE and `--layer` exclude each other"
        )
    if layers and python_rules:
        raise click.UsageError("`--python-rule` and `--layer` exclude each other; a layer may be a module of rules")
    if sources and (limits or combine != "strictest"):
        raise click.UsageError("`--limits` and `--combine` need `--layer`")
    modules = read_modules(sources)
    if layers:
        bundle = _layered(layers, limits, combine, profile)
    elif modules or len(sources) > 1:
        bundle = compile_sources(sources, profile, [import_rule(spec) for spec in python_rules], modules)
    else:
        bundle = open_policy(sources[0], profile, python_rules)
    narrowing = read_narrowing(sources[0] if sources else "")
    if narrowing is not None:
        bundle = narrowed(bundle, narrowing)
    imported = sorted({name for module in modules for name in module.imported})
    key = read_private_key(sign_key) if sign_key is not None else None
    try:
        bundle.save(output, sources=with_sources, private_key=key, epoch=epoch)
    except OSError as error:
        raise InputError(f"cannot write `{output}`: {reason_of(error)}") from error
    rules = bundle.rule_count
    if output_format == "json":
        shown = {"bundle": output, "id": bundle.id, "profile": bundle.profile, "rules": rules, "imported": imported}
        write_json({**shown, **({"layers": layers_json(bundle)} if bundle.layers else {})})
    else:
        click.echo(f"{safe_text(output)}: {rules} rule{'s' * (rules != 1)}, id {bundle.id}")


def _layered(layers: tuple[str, ...], limits: tuple[str, ...], combine: Combine, profile: Profile) -> Policy:
    """Compile each layer and combine them."""
    from bobcat.bundle import Policy as Compiled

    policies, bounds = (
        {name: open_policy(path, profile, ()) for name, path in _named(given, option)}
        for given, option in ((layers, "--layer"), (limits, "--limits"))
    )
    try:
        return Compiled.layered(policies, combine=combine, limits=bounds)
    except BundleError as error:
        raise InputError(str(error)) from error


def _named(given: tuple[str, ...], option: str) -> list[tuple[str, str]]:
    """Read `NAME=POLICY` arguments."""
    pairs = [value.partition("=") for value in given]
    for name, sign, path in pairs:
        if not (name and sign and path):
            raise click.UsageError(f"`{option}` is NAME=POLICY, such as `{option} org=org.yaml`")
    names = [name for name, _, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"`{option}` names `{name}` twice")
    return [(name, path) for name, _, path in pairs]
