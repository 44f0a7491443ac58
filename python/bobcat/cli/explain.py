"""`bobcat explain`: explain the decision on a tool call, rule by rule and clause by clause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from bobcat.cli.analysis_options import budget_option
from bobcat.cli.calls import CallOptions, call_options, read_call
from bobcat.cli.failures import InputError
from bobcat.cli.inputs import PolicySource, asking, policy_command
from bobcat.cli.output import VERDICT_COLOURS, console, echo_line, hanging, write_json
from bobcat.cli.store import records_in_store, store_option_of
from bobcat.language.operators import SIGNS
from bobcat.model.markers import default_of
from bobcat.text.display import safe_name, safe_text

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from bobcat.bundle import Policy
    from bobcat.bundle.explanation import Clause, Explanation, RuleExplanation
    from bobcat.diagnostics.model import Span
    from bobcat.model.decision import Decision

OUTCOME_COLOURS = {"true": "green", "false": "dim", "absent": "dim", "error": "red", "monitored": "cyan"}
SOURCE_LINES = 12
WORDS = {"all": "all of", "any": "any of", "not": "not"}


@policy_command(
    "explain",
    call_options,
    click.option("--all", "show_all", is_flag=True, help="Also show the clauses of rules that did not fire."),
    click.option(
        "--flip", "flips", is_flag=True, help="Show the smallest change of the call that changes its verdict."
    ),
    budget_option,
    click.option("--run", "run_id", metavar="ID", help="Explain a step of this run, from its journal."),
    click.option("--step", type=click.IntRange(0), help="The step of the run; the first one is 0."),
    store_option_of(required=False, help="The store of the run's journal."),
)
def explain(
    source: PolicySource,
    *,
    call: CallOptions,
    show_all: bool,
    flips: bool,
    budget: float | None,
    run_id: str | None,
    step: int | None,
    store_url: str | None,
    output_format: str,
) -> None:
    """Explain the decision of POLICY, a source or a bundle, on a tool call.

    The call is given as for `eval`, or is a step of a recorded run. Rules are listed in evaluation order. For a call
    that is not allowed, the rule nearest to allowing it follows, with the clauses that it lacks.

    \b
    Example: bobcat explain policy.yaml --tool shell --args '{"cmd": "ls"}'
             bobcat explain policy.bobcat --store sqlite:///runs.db --run r1 --step 3
    """
    from bobcat.bundle.explanation import Explanation
    from bobcat.cli.explain_changes import changes_of

    recorded = run_id is not None or step is not None
    if recorded and flips:
        raise click.UsageError("`--flip` is about a call, not about a step of a run")
    given = None if recorded else read_call(source.path, call)
    bundle = source.open()
    with asking():
        if given is None:
            explanation = _explain_step(bundle, call, run_id, step, store_url)
        elif given.refusal is None:
            explanation = bundle.explain(given.request)
        else:
            explanation = Explanation(given.refusal, (), bundle.id)
    request = None if given is None or given.refusal is not None else given.request
    changes = None if request is None else changes_of(bundle, request, flips=flips, budget=budget)
    if output_format == "json":
        write_json(explanation.to_json() | ({} if changes is None else changes.to_json()))
    else:
        out = console()
        head = hanging(out, _head(explanation.decision))
        out.print(_tree(head, explanation, bundle.sources, show_all=show_all))
        for line in () if changes is None else changes.lines():
            echo_line(line)


def _explain_step(
    bundle: Policy, call: CallOptions, run_id: str | None, step: int | None, store_url: str | None
) -> Explanation:
    """Explain a step of a recorded run."""
    from bobcat.errors import AuditError
    from bobcat.runtime.recorded_step import explain_step, recorded_step, session_of
    from bobcat.threads.journal import earlier_turns
    from bobcat.tools.named_object import load_tools

    if run_id is None or step is None or store_url is None:
        raise click.UsageError("`--run`, `--step` and `--store` go together")
    if call.tool is not None or call.request_file is not None:
        raise click.UsageError("give a call or `--run`, not both")
    tools = None if call.tools is None else load_tools(call.tools)
    try:
        earlier = [records_in_store(store_url, each) for each in earlier_turns(run_id)]
        records = records_in_store(store_url, run_id)
        journal = session_of(records, step)
        session = () if journal is None else records_in_store(store_url, journal, may_lack=True)
        return explain_step(bundle, recorded_step(records, bundle, step, tools, earlier, session))
    except AuditError as error:
        raise InputError(f"{error} ({error.code})") from error


def _head(decision: Decision) -> Text:
    from rich.text import Text

    head = Text(str(decision.verdict), style=f"bold {VERDICT_COLOURS[decision.verdict]}")
    head.append(f": {safe_text(decision.reason)}" if decision.reason else "", style="not bold default")
    return head


def _tree(head: Text, explanation: Explanation, sources: Mapping[str, str], *, show_all: bool) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    from bobcat.runtime.uncertainty import UNCERTAIN_MARKER

    decision = explanation.decision
    tree = Tree(head, guide_style="dim")
    waiting = 0
    for rule in explanation.rules:
        if rule.outcome == "not_reached":
            waiting += 1
            continue
        branch = tree.add(_rule_line(rule))
        if rule.clause is not None and (show_all or rule.outcome in ("true", "error", "monitored")):
            _add_source(branch, rule.span, sources)
            _add_clause(branch, rule.clause)
        if rule.function is not None and (show_all or rule.outcome in ("true", "error")):
            _add_function(branch, rule)
    if waiting:
        tree.add(Text(f"{waiting} more rule{'s' * (waiting != 1)} not reached", style="dim"))
    if not explanation.rules and decision.matched_rules:
        tree.add(
            Text(f"refused before any rule: {safe_text(decision.matched_rules[0])}", style=VERDICT_COLOURS["deny"])
        )
        return tree
    deciders = [name for name in decision.matched_rules if default_of(name) and name != UNCERTAIN_MARKER]
    for name in deciders:
        tree.add(Text(f"no rule fired: {safe_text(name)}", style=VERDICT_COLOURS[decision.verdict]))
    return tree


def _rule_line(rule: RuleExplanation) -> Text:
    from rich.text import Text

    from bobcat.bundle.explanation import KIND_WORDS

    fired = rule.outcome == "true"
    line = Text(safe_name(rule.id), style="bold" if fired or rule.outcome == "error" else "dim")
    line.append(f" ({rule.verdict or KIND_WORDS[rule.kind]})", style="dim not bold")
    words = {
        "monitored": _monitored(rule),
        "true": "fires",
        "false": "does not fire",
        "absent": "does not fire: absent",
    }
    status = words.get(rule.outcome, f"error: {safe_text(rule.error)}")
    line.append(f"  {status}", style=f"not bold {OUTCOME_COLOURS[rule.outcome]}")
    line.append(_place(rule.span), style="dim not bold")
    return line


def _monitored(rule: RuleExplanation) -> str:
    fires = rule.clause is not None and rule.clause.outcome == "true"
    return f"is monitored: it would {'fire' if fires else 'not fire'}"


def _add_source(branch: Tree, span: Span | None, sources: Mapping[str, str]) -> None:
    """Add the rule's source text, if it is available."""
    from rich.text import Text

    from bobcat.diagnostics.render import lines_of

    if span is None or not span.line:
        return
    last = span.end_line - (span.end_column == 1)
    numbered = list(enumerate(lines_of(sources.get(span.file, "")), 1))[span.line - 1 : last]
    if numbered:
        width = len(str(last))
        shown = [f"{number:>{width}} | {safe_text(line)}" for number, line in numbered[:SOURCE_LINES]]
        if len(numbered) > SOURCE_LINES:
            shown.append(f"{' ' * width} | ... [{len(numbered) - SOURCE_LINES:,} more lines]")
        branch.add(Text("\n".join(shown), style="dim"))


def _add_function(branch: Tree, rule: RuleExplanation) -> None:
    from rich.text import Text

    assert rule.function is not None
    for condition in rule.function.conditions:
        line = Text(f"{condition.outcome:<6} ", style=OUTCOME_COLOURS[condition.outcome])
        line.append(safe_text(condition.text), style="default")
        for read in condition.reads:
            status = "not there" if read.value is None else f"read {safe_text(read.value)}"
            line.append(f"   {safe_name(read.name)} {status}", style="cyan")
        line.append(f"   {condition.times} times" if condition.times > 1 else "", style="default")
        line.append(_place(condition.span), style="dim")
        branch.add(line)
    end = Text("decides" if rule.outcome == "true" else f"error {safe_text(rule.error)}" if rule.error else "abstains")
    end.append(_place(rule.function.decided_at) or " at its end", style="dim")
    branch.add(end)


def _add_clause(branch: Tree, clause: Clause) -> None:
    from rich.text import Text

    from bobcat.bundle.explanation import Connective

    line = Text(f"{clause.outcome:<6} ", style=OUTCOME_COLOURS.get(clause.outcome, "dim"))
    if isinstance(clause, Connective):
        line.append(WORDS[clause.kind], style="default")
        nested = branch.add(line)
        for child in clause.children:
            _add_clause(nested, child)
        return
    operator = SIGNS.get(clause.operator, clause.operator)
    line.append(f"{safe_text(clause.path)} {operator} {safe_text(clause.operand)}", style="default")
    line.append(f"   read {safe_text(clause.value)}" if clause.value is not None else "   not there", style="cyan")
    if clause.parsed is not None:
        line.append(f"   {safe_text(clause.parsed)}", style="cyan")
    if clause.error is not None:
        line.append(f"   error {safe_text(clause.error)}", style="red")
    line.append(_place(clause.span), style="dim")
    branch.add(line)


def _place(span: Span | None) -> str:
    if span is None:
        return ""
    file = safe_text(span.file)
    return f"   {file}:{span.line}:{span.column}" if span.line else f"   {file} {safe_text(span.path)}"
