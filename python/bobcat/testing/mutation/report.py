"""The report of a campaign: safe lines for a terminal, and JSON."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from bobcat.testing.mutation.campaign import CampaignResult, MutantResult
from bobcat.testing.mutation.missing import MissingCase
from bobcat.text.display import safe_text

_WORDS = {
    "killed": "killed",
    "survived": "SURVIVED",
    "equivalent": "equivalent",
    "no_difference": "no difference",
    "not_run": "not run",
}


def mutant_line(item: MutantResult) -> str:
    """Describe one mutant: its place, its rule and its change."""
    span = item.mutant.span
    place = f"{_source(item)}:{span.line}:{span.column}" if span is not None and span.line else item.file
    by = "" if item.outcome.killed_by is None else f"  by {item.outcome.killed_by}"
    rule = item.mutant.rule or "policy"
    return safe_text(f"{_WORDS[item.outcome.kind]}  {place}  {rule}  {item.mutant.mutation}: {item.mutant.change}{by}")


def _source(item: MutantResult) -> str:
    """The file of the changed text: the policy's, an included one, or that of a layer of a bundle."""
    span = item.mutant.span
    other = span is not None and span.line > 0 and PurePath(span.file).name != PurePath(item.file).name
    return span.file if other and span is not None else item.file


def missing_cases(result: CampaignResult) -> list[tuple[MissingCase, list[MutantResult]]]:
    """Return the distinct missing cases, each with the survivors that it kills."""
    found: dict[tuple[str, str], tuple[MissingCase, list[MutantResult]]] = {}
    for item in result.results:
        missing = item.outcome.missing
        if missing is not None:
            body = missing.text.partition("\n")[2]
            found.setdefault((missing.file, body), (missing, []))[1].append(item)
    return list(found.values())


def summary(result: CampaignResult) -> str:
    """Return the last line of the report."""
    parts = [f"{result.count('killed'):,} killed", f"{result.count('survived'):,} survived"]
    equivalent, without, not_run = result.count("equivalent"), result.count("no_difference"), result.count("not_run")
    parts += [f"{equivalent:,} proved equivalent"] if equivalent else []
    parts += [f"{without:,} without a known difference"] if without else []
    parts += [f"{not_run:,} not run"] if not_run else []
    count, cases = len(result.results), len(missing_cases(result))
    parts += [f"{cases:,} missing case{'s' * (cases != 1)}"] if cases else []
    return (
        f"{count:,} mutant{'s' * (count != 1)}: {', '.join(parts)}; score {result.score:g}% in {result.seconds:.2f} s"
    )


def campaign_json(result: CampaignResult) -> dict[str, Any]:  # Any: JSON
    """Return the results as plain JSON data."""
    return {
        "version": 1,
        "score": result.score,
        "killed": result.count("killed"),
        "survived": result.count("survived"),
        "equivalent": result.count("equivalent"),
        "no_difference": result.count("no_difference"),
        "not_run": result.count("not_run"),
        "only_dropped": list(result.callables),
        "seconds": round(result.seconds, 6),
        "mutants": [_mutant_json(item) for item in result.results],
    }


def _mutant_json(item: MutantResult) -> dict[str, Any]:  # Any: JSON
    span, missing = item.mutant.span, item.outcome.missing
    known = span is not None and span.line > 0
    return {
        "file": item.file,
        "source": _source(item),
        "line": span.line if known and span is not None else None,
        "column": span.column if known and span is not None else None,
        "rule": item.mutant.rule,
        "mutation": item.mutant.mutation,
        "change": item.mutant.change,
        "outcome": item.outcome.kind,
        "killed_by": item.outcome.killed_by,
        "missing": None if missing is None else {"file": missing.file, "name": missing.name, "case": missing.text},
    }
