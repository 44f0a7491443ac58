"""The policies below a directory: every `*.yaml` and `*.yml` that looks like one, in the order of their paths.

Hidden directories and links to directories are not entered. Suites of policy tests are left out. Modules of rules are
skipped: checking one runs it, so the user must name it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

ENDINGS = (".yaml", ".yml")
_KEY = re.compile(r"""^(?:\{\s*)?["']?(rules|capabilities|predicates|defaults|apiVersion)["']?\s*:""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Found:
    """The files below a directory: those to check, and the skipped ones with the reason."""

    policies: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]


def policies_below(directory: str) -> Found:
    """Return the policies below a directory, and the YAML files that are not policies. Raises `OSError` for an
    unreadable file.
    """
    policies: list[str] = []
    skipped: list[tuple[str, str]] = []
    for path in _files(directory):
        problem = _problem(Path(path).read_bytes().decode("utf-8", "replace"))
        if problem is None:
            policies.append(path)
        else:
            skipped.append((path, problem))
    return Found(tuple(policies), tuple(skipped))


def _files(directory: str) -> list[str]:
    def closed(error: OSError) -> None:
        raise error

    found: list[str] = []
    for here, below, names in os.walk(directory, onerror=closed):
        below[:] = sorted(name for name in below if not name.startswith("."))
        found += (os.path.join(here, name) for name in names if _may_be_policy(name))
    return sorted(found)


def _may_be_policy(name: str) -> bool:
    from bobcat.testing.suites.model import SUFFIXES  # PERF: only directories have suites to leave out

    return name.endswith(ENDINGS) and not name.endswith(SUFFIXES)


def _problem(text: str) -> str | None:
    """Return the reason that a text is not a policy, based on its top-level keys; None for one to check."""
    keys = {found[1] for found in _KEY.finditer(text.removeprefix("\ufeff"))}
    if "apiVersion" in keys:
        return "its `apiVersion` marks a Kubernetes manifest"
    return None if keys else "it has none of the keys `rules`, `capabilities`, `predicates` and `defaults`"
