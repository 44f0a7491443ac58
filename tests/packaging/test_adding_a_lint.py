"""The list "Add a lint" of CONTRIBUTING, followed in a copy of the package: it names every file that a lint needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests/unit/test_diagnostics_catalogue.py", "tests/packaging/test_lints.py")
CODE, NAME = "W0199", "long-reason"
LINT = '''"""A reason that is too long for a screen.

What it does: finds reasons of more than 200 characters.
Why: people who approve calls read the beginning only.
Example: a reason of several sentences.
Use instead: one sentence.
Fix: by hand.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.lint.subject import LintContext

CODES = ("W0199",)


def check(subject: LintContext) -> Findings:
    """Find these rules."""
    for facts in subject.rules:
        if len(facts.rule.reason) > 200:
            yield subject.at_rule("W0199", facts, size=len(facts.rule.reason))
'''
ROW = '    ("W0199", "long-reason", "the reason of the rule `{id}` has {size} characters", "write one sentence"),\n'
SECTION = f"""
### {CODE} {NAME}

The reason of a rule has more than 200 characters. People who approve calls read its beginning only.

```yaml
rules: [{{id: a, match: {{tool: shell}}, decision: deny, reason: {"long" * 60}}}]
```

Use instead:

```yaml
rules: [{{id: a, match: {{tool: shell}}, decision: deny, reason: short}}]
```
"""


def listed() -> list[str]:
    """The files that the list names, in its order."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("\n## Add a lint\n")[1].split("\n## ")[0]
    paths = re.findall(r"^\d\. `(.+?)`", section, re.MULTILINE)
    return [path.replace("NAME", NAME.replace("-", "_")).replace("CODE", CODE) for path in paths]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    for part in ("python/bobcat", "docs/reference", "tests/snapshots"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignored)
    for name in ("tests/diagnostic_examples.py", *TESTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(copy: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(copy / "python"), str(copy / "tests")])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        f"{CODE} or {NAME} or every",
        *TESTS,
    ]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_listed_files_are_all_that_a_lint_needs(copy: Path) -> None:
    lint, catalogue, page, snapshot = listed()
    before = contents(copy)
    (copy / lint).write_text(LINT, encoding="utf-8")
    refused = run(copy)
    assert refused.returncode == 1
    assert "test_every_warning_belongs_to_one_lint" in refused.stdout
    rows = (copy / catalogue).read_text(encoding="utf-8")
    (copy / catalogue).write_text(rows.replace('    ("N0101",', f'{ROW}    ("N0101",'), encoding="utf-8")
    with (copy / page).open("a", encoding="utf-8") as file:
        file.write(SECTION)
    run(copy, BOBCAT_UPDATE_SNAPSHOTS="1")
    done = run(copy)
    assert done.returncode == 0, done.stdout
    after = contents(copy)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {lint, catalogue, page, snapshot}
