"""`bobcat usage`: what recorded calls use of a policy, and tighter rules for what they do not use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.exit_codes import USAGE
from bobcat.cli.log import TimeParam
from bobcat.cli.options import format_option, profile_option, python_rule_option
from bobcat.cli.output import write_json
from bobcat.cli.recorded_input import (
    exits_with_usage,
    log_argument,
    open_logs,
    parse_map,
    progress_of,
    show_damage,
    tools_of,
)
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from bobcat.bundle import Policy
    from bobcat.traffic.changes import Tally
    from bobcat.traffic.replaying import Options
    from bobcat.traffic.sources import Log

MAX_SUGGESTIONS = 5
"""Rules that are tightened without `--tighten`."""


@click.command()
@log_argument
@click.option("--policy", "policy_path", metavar="POLICY", required=True, type=click.Path(),
              help="The policy that decides the recorded calls, a source or a bundle.")  # fmt: skip
@click.option("--since", type=TimeParam(), metavar="TIME", help="Decisions at this time or later.")
@click.option("--until", type=TimeParam(), metavar="TIME", help="Decisions before this time.")
@click.option("--tighten", "chosen", multiple=True, metavar="RULE",
              help="Suggest a tighter form of this rule; repeatable. Default: rules that test no args.")  # fmt: skip
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, metavar="N",
              help="Show the N rules that decided most.")  # fmt: skip
@click.option("--map", "mapped", multiple=True, metavar="FIELD=PATH",
              help="Read a field of a log like OPA's from this path; repeatable.")  # fmt: skip
@click.option("--tools", metavar="MODULE:NAME",
              help="Declarations of tools for records that lack them, from a `ToolSet`.")  # fmt: skip
@python_rule_option
@profile_option
@format_option
@exits_with_usage
def usage(
    logs: tuple[str, ...],
    *,
    policy_path: str,
    since: datetime | None,
    until: datetime | None,
    chosen: tuple[str, ...],
    top: int,
    mapped: tuple[str, ...],
    tools: str | None,
    python_rules: tuple[str, ...],
    profile: Any,  # Any: one of the choices
    output_format: str,
) -> int:
    """Show which rules of POLICY the calls recorded in LOG... use, and tighter forms of rules that allow more.

    The logs are those of `replay`. Every call is decided by POLICY, and again with each suggestion.

    \b
    Example: bobcat usage decisions.jsonl --policy policy.yaml --since 30d
    """
    from bobcat.cli.inputs import open_policy
    from bobcat.threads.journal import earlier_turns
    from bobcat.traffic.replaying import Options, Replay

    options = Options(
        0, since, until, usage=True, paths=parse_map(mapped), tools=tools_of(tools), earlier_runs=earlier_turns
    )
    sources = open_logs(logs, maps=bool(mapped))
    policy = open_policy(policy_path, profile, python_rules)
    with progress_of(sources) as progress:
        tally = Replay(policy, None, options).run(sources, progress=progress)
    show_damage(tally)
    suggested = list(_suggestions(policy, policy_path, chosen, tally, sources, options))
    report = _report(policy, tally, suggested, top)
    if output_format == "json":
        write_json(report)
    else:
        for line in _lines(report):
            click.echo(line)
    return USAGE if tally.damaged else 0


def _suggestions(
    policy: Policy, path: str, chosen: Sequence[str], tally: Tally, sources: list[Log], options: Options
) -> Iterator[dict[str, Any]]:  # Any: JSON
    """Yield tighter forms of rules, each checked on the same logs."""
    from bobcat.bundle import is_bundle
    from bobcat.cli.inputs import read_bytes
    from bobcat.compiler import compile_policy
    from bobcat.ir.schema import IrRule
    from bobcat.traffic.replaying import Replay
    from bobcat.traffic.tighten import policy_data, tightened
    from bobcat.traffic.usage import is_broad, rule_ids

    known = rule_ids(policy)
    for rule_id in chosen:
        if rule_id not in known:
            raise click.UsageError(f"`--tighten {rule_id}`: the policy has no such rule")
    broad = [str(rule.id) for rule in policy.ir.rules if isinstance(rule, IrRule) and is_broad(rule)]
    ids = chosen or tuple(id for id in broad if tally.usage.rules[id])[:MAX_SUGGESTIONS]
    data = None
    if ids and not path.endswith(".py") and path != "-" and not policy.manifest.host_rules:
        text, _ = read_bytes(path)
        data = None if is_bundle(text) else policy_data(text.decode())
        if data is not None and "include" in data:
            data = None  # the rule may be one of an included file
    for rule_id in ids:
        found = None if data is None else tightened(data, rule_id, tally.usage)
        if found is None:
            yield {"rule": rule_id, "suggestion": None, "covered": None, "calls": tally.usage.rules[rule_id]}
            continue
        rule, whole = found
        tighter = compile_policy(whole, profile=policy.manifest.profile)
        covered = Replay(tighter, None, options).run(sources).usage.rules[rule_id]
        calls = tally.usage.rules[rule_id]
        yield {"rule": rule_id, "suggestion": rule, "covered": covered, "calls": calls}


def _report(policy: Policy, tally: Tally, suggested: list[dict[str, Any]], top: int) -> dict[str, Any]:
    from bobcat.traffic.recorded import REASONS
    from bobcat.traffic.usage import rule_ids, unused

    counts = tally.usage.rules
    hottest = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:top]
    return {
        "decided": tally.decided,
        "hottest": [{"rule": rule, "count": count} for rule, count in hottest],
        "never_fired": [rule for rule in rule_ids(policy) if not counts[rule]],
        "never_used": [each._asdict() for each in unused(policy, tally.usage)],
        "suggestions": suggested,
        "not_decided": [
            {"code": code, "reason": REASONS[code], "count": count, "first": tally.first_undecided[code]}
            for code, count in sorted(tally.undecided.items())
        ],
        "damaged": tally.damaged,
    }


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['decided']:,} decisions"
    for each in report["hottest"]:
        share = each["count"] / report["decided"]
        yield f"  {each['count']:>12,}  {share:>6.1%}  {safe_name(each['rule'])}"
    if report["never_fired"]:
        yield f"{_counted(len(report['never_fired']), 'rule')} never fired:"
        yield from (f"  {safe_name(rule)}" for rule in report["never_fired"])
    if report["never_used"]:
        count = len(report["never_used"])
        yield f"{_counted(count, 'permission')} {'was' if count == 1 else 'were'} never used:"
        for each in report["never_used"]:
            yield f"  {safe_name(each['rule'])}: {safe_text(each['path'])} {safe_name(each['value'])}"
    for each in report["suggestions"]:
        yield from _suggestion_lines(each)
    for each in report["not_decided"]:
        first = safe_text(each["first"])
        yield f"{each['count']:,} not decided ({each['code']}): {each['reason']}; the first is {first}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _suggestion_lines(each: Mapping[str, Any]) -> Iterator[str]:
    import yaml

    head = f"{safe_name(each['rule'])} can allow more than its {_counted(each['calls'], 'call')};"
    if each["suggestion"] is None:
        yield f"{head} no tighter form is known for this source"
        return
    yield f"{head} this form covers {each['covered']:,} of them:"
    text = yaml.safe_dump([each["suggestion"]], sort_keys=False, default_flow_style=None, width=110)
    yield from (f"  {line}" for line in safe_text(text, multiline=True).splitlines())
