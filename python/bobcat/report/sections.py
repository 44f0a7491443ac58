"""The sections of a report beside the table of access: summary, rules, findings, coverage and traffic."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from bobcat.bundle.explanation import KIND_WORDS
from bobcat.pages.html import cell, code, facts, lines, section, table, text
from bobcat.report.access_html import WORDS
from bobcat.report.model import PolicyReport, RuleFact
from bobcat.testing.suites.coverage import percent
from bobcat.testing.suites.coverage_page import coverage_parts
from bobcat.testing.suites.coverage_reports import total_percent
from bobcat.traffic.recorded import REASONS
from bobcat.traffic.usage import unused

HOTTEST = 20
"""Rules in the table of those that decided most."""
MAX_LINES = 200
"""Lines of one rule on the page."""


def summary_section(report: PolicyReport) -> str:
    """The identity of the policy, its defaults and the numbers of the other sections."""
    policy, defaults = report.policy, report.policy.ir.defaults
    signed = [
        f"{code(each.key)} ({'verified' if each.verified else 'not verified: give <code>--trusted-key</code>'})"
        for each in report.signatures
    ]
    kinds = [f"{sum(fact.verdict == verdict for fact in report.rules):,} {verdict}" for verdict in WORDS]
    python = sum(fact.verdict is None for fact in report.rules)
    rows = [
        ("digest", code(policy.id)),
        ("profile", f"{text(policy.profile)}, policy language {policy.manifest.language_version}"),
        ("sources", ", ".join(map(code, policy.source_files))),
        ("epoch", "" if policy.epoch is None else str(policy.epoch)),
        ("signed by", "<br>".join(signed)),
        ("rules", f"{len(report.rules):,}: {', '.join(kinds)}" + (f", {python:,} in Python" if python else "")),
        ("without a match", f"<code>{defaults.on_no_match}</code>"),
        ("irreversible, no shadow", f"<code>{defaults.on_missing_shadow}</code>"),
        ("rule in error", f"<code>{defaults.on_rule_error}</code>"),
        ("findings", _finding_counts(report)),
        ("tests", _tests(report)),
        ("traffic", "" if report.traffic is None else f"{report.traffic.decided:,} recorded calls decided"),
    ]
    return section("summary", "Summary", [facts(rows)])


def _finding_counts(report: PolicyReport) -> str:
    if report.findings is None:
        return ""
    shown = [item for item in report.findings if item.suppressed is None]
    return f"{len(shown):,}, and {len(report.findings) - len(shown):,} ignored in the source"


def _tests(report: PolicyReport) -> str:
    if report.cases is None:
        return ""
    passed, failed = report.cases
    fails = f", <b class=bad>{failed:,} failed</b>" if failed else ""
    return f"{passed:,} cases passed{fails}; coverage {total_percent(report.coverage):g}%"


def rules_section(report: PolicyReport) -> str:
    """Every rule in evaluation order, with what tests and logs say of it."""
    columns = [("rule", ""), ("priority", "n"), ("verdict", ""), ("match", ""), ("place", "")]
    columns += [("coverage", "n")] if report.coverage else []
    columns += [("fired", "n"), ("last", "")] if report.traffic is not None else []
    by_rule: dict[int, list[str]] = {}
    for number, item in enumerate(report.findings or ()):
        index = report.rule_at(item.span)
        if index is not None and item.suppressed is None:
            by_rule.setdefault(index, []).append(f'<a href="#finding-{number}">{text(item.code)}</a>')
    rows = (_rule_row(report, fact, by_rule.get(fact.index, [])) for fact in report.rules)
    parts = ["<p class=quiet>In evaluation order: the first rule that matches decides.</p>"]
    parts.append(table(columns, rows, id="rules-table"))
    if report.definitions:
        memory = (f'<tr><th scope="row">{code(name)}</th>{cell(lines(body))}</tr>' for name, body in report.definitions)
        parts += ["<h3>What the policy remembers</h3>", table((("name", ""), ("definition", "")), memory)]
    return section("rules", "Rules", parts)


def _rule_row(report: PolicyReport, fact: RuleFact, findings: list[str]) -> str:
    words, kind = (fact.verdict, WORDS[fact.verdict][1]) if fact.verdict else (KIND_WORDS[fact.kind], "note")
    shown = fact.lines[:MAX_LINES]
    more = [f"... {len(fact.lines) - MAX_LINES:,} more lines"] if len(fact.lines) > MAX_LINES else []
    about = f"<br><span class=quiet>{text(fact.description)}</span>" if fact.description else ""
    noted = f"<br>{', '.join(findings)}" if findings else ""
    cells = [
        cell(f"{fact.priority}", "n"),
        cell(f'<b class="{kind}">{words}</b>' + ("<br>monitored: decides nothing" if fact.monitored else "")),
        cell(lines([*shown, *more])),
        cell(f"<span class=quiet>{text(fact.place)}</span>"),
    ]
    if report.coverage:
        found = report.coverage_of.get(fact.id)
        share = "" if found is None else f"{percent(found.covered, found.total):g}%"
        cells.append(cell(share or "-", "n"))
    if report.traffic is not None:
        usage = report.traffic.usage
        last = usage.last.get(fact.id)
        cells += [cell(f"{usage.rules[fact.id]:,}", "n"), cell("never" if last is None else time_text(last))]
    return f'<tr id="rule-{fact.index}"><th scope="row">{text(fact.id)}{about}{noted}</th>{"".join(cells)}</tr>'


def findings_section(report: PolicyReport) -> str:
    """The findings of the check, with links to the rules."""
    if report.findings is None:
        return section("findings", "Findings", ["<p>The policy has no source map, so it was not checked.</p>"])
    if not report.findings:
        return section("findings", "Findings", ["<p>The check has no findings.</p>"])
    rows = []
    for number, item in enumerate(report.findings):
        place = "" if item.span is None else f"{item.span.file}:{item.span.line}:{item.span.column}"
        index = report.rule_at(item.span)
        where = text(place) if index is None else f'<a href="#rule-{index}">{text(place)}</a>'
        help = f"<br><span class=quiet>{text(item.help)}</span>" if item.help else ""
        ignored = f"<br><span class=quiet>ignored: {text(item.suppressed)}</span>" if item.suppressed else ""
        kind = {"error": "bad", "warning": "part"}.get(str(item.severity), "note")
        rows.append(
            f'<tr id="finding-{number}"><th scope="row"><span class="{kind}">{item.severity} {text(item.code)}</span>'
            f"</th>{cell(text(item.message) + help + ignored)}{cell(where)}</tr>"
        )
    return section("findings", "Findings", [table((("finding", ""), ("message", ""), ("place", "")), rows)])


def coverage_section(report: PolicyReport) -> str:
    """The coverage of the policy by its tests."""
    return section("coverage", "Coverage", coverage_parts(report.coverage, 3))


def traffic_section(report: PolicyReport) -> str:
    """The use of the policy by recorded calls."""
    return section("traffic", "Traffic", _traffic(report))


def _traffic(report: PolicyReport) -> Iterator[str]:
    tally = report.traffic
    if tally is None:
        return
    usage = tally.usage
    yield f"<p>{tally.decided:,} recorded calls, decided by this policy.</p>"
    for reason, count in sorted(tally.undecided.items()):
        yield f'<p class="notice">{count:,} calls were not decided: {text(REASONS[reason])}.</p>'
    if tally.damaged:
        lines = "line was" if tally.damaged == 1 else "lines were"
        yield f'<p class="notice">{tally.damaged:,} damaged {lines} left out.</p>'
    hottest = sorted(usage.rules.items(), key=lambda each: (-each[1], each[0]))[:HOTTEST]
    if hottest:
        index = {fact.id: fact.index for fact in report.rules}
        rows = (
            f'<tr><th scope="row">{_link(rule, index.get(rule))}</th>{cell(f"{count:,}", "n")}'
            f"{cell(f'{count / tally.decided:.1%}', 'n')}</tr>"
            for rule, count in hottest
        )
        yield "<h3>Rules that decided most</h3>"
        yield table((("rule", ""), ("decisions", "n"), ("share", "n")), rows)
    if usage.verdicts:
        yield "<h3>Verdicts by tool</h3>"
        yield _verdicts(report)
    never = list(unused(report.policy, usage))
    if never:
        rows = (
            f'<tr><th scope="row">{text(each.rule)}</th>{cell(text(each.path))}{cell(code(each.value))}</tr>'
            for each in never
        )
        yield "<h3>Permissions that no call used</h3>"
        yield table((("rule", ""), ("path", ""), ("value", "")), rows)


def _verdicts(report: PolicyReport) -> str:
    counts = report.traffic.usage.verdicts if report.traffic is not None else {}
    tools = sorted({tool for tool, _ in counts})
    used = [verdict for verdict in WORDS if any(found == verdict for _, found in counts)]
    rows = (
        f'<tr><th scope="row">{code(tool)}</th>'
        + "".join(cell(f"{counts.get((tool, verdict), 0):,}", "n") for verdict in used)
        + "</tr>"
        for tool in tools
    )
    return table([("tool", ""), *((WORDS[verdict][0], "n") for verdict in used)], rows)


def _link(rule: str, index: int | None) -> str:
    return text(rule) if index is None else f'<a href="#rule-{index}">{text(rule)}</a>'


def time_text(moment: datetime) -> str:
    """A time in UTC, to the second."""
    shown = moment.astimezone(UTC)
    return f'<time datetime="{shown.isoformat()}">{shown:%Y-%m-%d %H:%M:%S}</time>'
