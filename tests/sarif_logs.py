"""The rules of SARIF 2.1.0 that code hosts rely on, as assertions about a log."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

LEVELS = ("none", "note", "warning", "error")


class Place(NamedTuple):
    """A place of a result; `line` and `column` are None for a whole file."""

    file: str
    line: int | None
    column: int | None


class Result(NamedTuple):
    """One result: the rule, its level, its text, its place, and the places that explain it."""

    rule: str
    level: str
    text: str
    place: Place
    related: tuple[Place, ...]


def results_of(log: dict[str, Any]) -> list[Result]:
    """Check a log, and return its results. Each must have a place: GitHub refuses the upload otherwise."""
    assert log["version"] == "2.1.0"
    assert urlsplit(log["$schema"]).scheme == "https"
    (run,) = log["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "bobcat"
    known = [rule["id"] for rule in rules]
    assert len(set(known)) == len(known)
    assert all(rule["shortDescription"]["text"] and " " not in rule["name"] for rule in rules)
    found = []
    for item in run["results"]:
        assert item["ruleId"] in known
        assert item["level"] in LEVELS
        assert item["message"]["text"]
        (own,) = map(_place, item["locations"])
        related = tuple(map(_place, item.get("relatedLocations", ())))
        found.append(Result(item["ruleId"], item["level"], item["message"]["text"], own, related))
    fingerprints = [str(item["partialFingerprints"]) for item in run["results"]]
    assert len(set(fingerprints)) == len(fingerprints)
    return found


def _place(location: dict[str, Any]) -> Place:
    physical = location["physicalLocation"]
    uri = urlsplit(physical["artifactLocation"]["uri"])
    assert uri.scheme in ("", "file")
    assert uri.scheme == "file" or not uri.path.startswith("/")
    assert uri.path
    region = physical.get("region")
    if region is None:
        return Place(unquote(uri.path), None, None)
    start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
    assert (1, 1) <= start <= end
    return Place(unquote(uri.path), *start)
