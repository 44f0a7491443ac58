"""`bobcat inspect`: show the content of a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.inputs import PolicySource, policy_command
from bobcat.cli.output import PIPE_WIDTH, VERDICT_COLOURS, console, write_json
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from bobcat.bundle.model import Policy


@policy_command(
    "inspect", click.option("--ir", "show_ir", is_flag=True, help="Show the normal form of every rule instead.")
)
def inspect(source: PolicySource, *, show_ir: bool, output_format: str) -> None:
    """Show the content of POLICY, a bundle or a source: manifest, defaults, and the rules in evaluation order."""
    bundle = source.open(shown_only=True)
    if output_format == "json":
        write_json(_to_json(bundle, with_ir=show_ir))
    elif show_ir:
        from bobcat.ir.pretty import policy_text

        places = bundle.source_map
        names = [rule.names for rule in places.rules] if places is not None else []
        click.echo(safe_text(policy_text(bundle.ir, names), multiline=True), nl=False)
    else:
        _show(bundle)


def layers_json(bundle: Policy) -> list[dict[str, Any]]:  # Any: JSON
    """Return the layers of a policy as JSON data, from the highest to the lowest."""
    return [
        {
            "name": layer.name,
            "digest": layer.digest,
            "rules": layer.policy.rule_count,
            "limits": layer.limits,
            "signed_by": list(layer.signed_by),
        }
        for layer in bundle.layers
    ]


def _rules(bundle: Policy) -> list[dict[str, Any]]:  # Any: JSON
    """Return every rule in evaluation order, including Python rules."""
    from bobcat.bundle.explanation import KINDS
    from bobcat.ir.schema import FunctionRule, HostRule

    views = iter(bundle.rules)
    rows: list[dict[str, Any]] = []  # Any: JSON
    places = bundle.source_map
    for index, (rule, digest) in enumerate(zip(bundle.ir.rules, bundle.rule_digests, strict=True)):
        if isinstance(rule, HostRule):
            place = f"{rule.module}:{rule.qualname}"
            row = {"id": rule.name, "priority": rule.priority, "verdict": None, "source": place, "description": ""}
        elif isinstance(rule, FunctionRule):
            span = places.rule_span(index) if places is not None else None
            row = {
                "id": rule.name,
                "priority": rule.priority,
                "verdict": None,
                "source": f"{span.file}:{span.line}:{span.column}" if span is not None else "<unknown>",
                "description": places.rules[index].description if places is not None else "",
            }
        else:
            view = next(views)
            span = view.span
            place = f"{span.file}:{span.line}:{span.column}" if span is not None and span.line else view.source_location
            row = {
                "id": view.id,
                "priority": view.priority,
                "verdict": str(view.verdict),
                "source": place,
                "description": view.description,
            }
            if view.monitored:
                row["mode"] = "monitor"
        rows.append({**row, "kind": KINDS[type(rule)], "digest": digest})
    return rows


def _to_json(bundle: Policy, *, with_ir: bool) -> dict[str, Any]:  # Any: JSON
    import json

    import msgspec

    shown: dict[str, Any] = {"manifest": msgspec.to_builtins(bundle.manifest), "rules": _rules(bundle)}  # Any: JSON
    if bundle.combine is not None:
        shown |= {"combine": bundle.combine, "layers": layers_json(bundle)}
    return {**shown, "ir": json.loads(bundle.ir_bytes)} if with_ir else shown


def _show(bundle: Policy) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from bobcat.bundle.explanation import KIND_WORDS

    out = console()
    manifest, defaults = bundle.manifest, bundle.defaults
    facts = {
        "id": manifest.digest,
        "lynx id": manifest.lynx_id,
        "epoch": bundle.epoch,
        "expires": bundle.expires,
        "profile": f"{bundle.profile}, policy language {manifest.language_version}",
        "sources": ", ".join(manifest.source_files) or "none",
        "on_no_match": str(defaults.on_no_match),
        "on_missing_shadow": str(defaults.on_missing_shadow),
        "on_rule_error": defaults.on_rule_error,
    }
    for name, fact in facts.items():
        if fact is not None:
            click.echo(f"{name:<17}  {safe_text(fact)}")  # not wrapped: an id is printed to be copied
    if bundle.combine is not None:
        click.echo(f"{'combine':<17}  {bundle.combine}")
    for layer in layers_json(bundle):
        kind = "limits" if layer["limits"] else "layer"
        signed = "".join(f", signed by {key}" for key in layer["signed_by"])
        click.echo(f"{kind:<17}  {layer['name']}, {layer['rules']} rules, digest {layer['digest']}{safe_text(signed)}")
    rows = [(row, row["verdict"] or KIND_WORDS[row["kind"]]) for row in _rules(bundle)]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("rule", "priority", "decision", "digest", "source"):
        table.add_column(column, no_wrap=True, justify="right" if column == "priority" else "left")
    for row, verdict in rows:
        decision = Text(verdict, style=VERDICT_COLOURS.get(verdict, "blue"))
        if "mode" in row:
            decision.append(" (monitored)", style="dim")
        place = Text(safe_text(row["source"]), style="dim")
        table.add_row(Text(safe_name(row["id"])), str(row["priority"]), decision, row["digest"][:16], place)
    out.print()
    if out.measure(table, options=out.options.update(width=PIPE_WIDTH)).maximum <= out.width:
        out.print(table)
        return
    for row, verdict in rows:  # too narrow for columns: two lines a rule, nothing truncated
        line = Text(verdict, style=VERDICT_COLOURS.get(verdict, "blue"))
        line.append(f"  priority {row['priority']}  {row['digest'][:16]}  {safe_text(row['source'])}", style="dim")
        out.print(Text(safe_name(row["id"]), style="bold"))
        out.print(Padding(line, (0, 0, 0, 4)))
