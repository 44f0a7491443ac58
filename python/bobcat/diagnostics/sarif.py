"""Findings as a SARIF 2.1.0 log, for code scanning.

A fingerprint identifies a finding across revisions: its code, its file and its message, without line numbers. Findings
that have these in common are numbered.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from bobcat.diagnostics.catalogue import CODES
from bobcat.diagnostics.model import Diagnostic, Span

FINGERPRINT = "bobcat/v1"
"""Name of the fingerprint; another way to compute it gets another name."""
_DIGITS = 32


def render_sarif(diagnostics: Iterable[Diagnostic]) -> str:
    """Return a SARIF 2.1.0 log with one run."""
    found = list(diagnostics)
    used = sorted({item.code for item in found})
    return sarif_log(found, {code: CODES[code].name for code in used if code in CODES})


def sarif_log(findings: Iterable[Diagnostic], names: Mapping[str, str]) -> str:
    """Return a SARIF 2.1.0 log of findings; `names` are the names of their codes, in words with dashes."""
    rules = [
        {"id": code, "name": name, "shortDescription": {"text": name.replace("-", " ")}} for code, name in names.items()
    ]
    seen: Counter[str] = Counter()
    run = {
        "tool": {"driver": {"name": "bobcat", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, seen) for item in findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _fingerprint(item: Diagnostic, seen: Counter[str]) -> str:
    """Return the fingerprint of a finding; a repeated one has its number behind it."""
    parts = (item.code, "" if item.span is None else item.span.file.replace("\\", "/"), item.message)
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_DIGITS]
    seen[digest] += 1
    return f"{digest}:{seen[digest]}"


def _result(item: Diagnostic, seen: Counter[str]) -> dict[str, Any]:  # Any: JSON
    text = item.message if item.help is None else f"{item.message}. Help: {item.help}"
    result: dict[str, Any] = {
        "ruleId": item.code,
        "level": str(item.severity),
        "message": {"text": text},
        "partialFingerprints": {FINGERPRINT: _fingerprint(item, seen)},
    }
    if item.suppressed is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": item.suppressed}]
    if item.span is not None:
        result["locations"] = [_location(item.span)]
    if item.related:
        result["relatedLocations"] = [
            {**_location(other.span), "message": {"text": other.message}} for other in item.related
        ]
    return result


def _location(span: Span) -> dict[str, Any]:  # Any: JSON
    path = span.file.replace("\\", "/")
    uri = f"file://{quote(path)}" if path.startswith("/") else quote(path)
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if not span.line:
        return {"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": span.path or "$"}]}
    physical["region"] = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": max(span.end_column, 1),
    }
    return {"physicalLocation": physical}
