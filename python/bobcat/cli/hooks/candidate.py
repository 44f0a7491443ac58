"""A candidate policy beside the one that decides in a hook: the calls that it would decide otherwise are in the log.

INVARIANT: nothing of a candidate reaches an answer. One that cannot be used is a line on stderr. The native hook does
the same in `rust/hook/src/candidate.rs`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bobcat.bundle.load import is_bundle, load_bundle
from bobcat.errors import BundleError
from bobcat.model.decision import ActionRequest, Decision
from bobcat.runtime.candidate import Candidate


def divergence(path: Path, request: ActionRequest, decision: Decision) -> dict[str, Any] | None:  # Any: JSON
    """The divergence of the candidate at `path` from `decision`; None if it decides alike, or cannot be used."""
    try:
        return load_candidate(path).divergence(request, decision)
    except ValueError as error:
        click.echo(
            f"bobcat-hook: the candidate is not compared: {error}; the call is decided without it".replace("\n", " "),
            err=True,
        )
        return None


def load_candidate(path: Path) -> Candidate:
    """Read a candidate. Raises `ValueError` for one that a hook cannot compare with."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read the policy `{path}`: {error.strerror}") from error
    if not is_bundle(data):
        raise ValueError(f"the policy `{path}` is not a bundle")
    try:
        policy = load_bundle(data)
    except BundleError as error:
        raise ValueError(f"the bundle `{path}` is refused: {error}") from error
    if policy.remembers:
        raise ValueError(f"the bundle `{path}` has rules that remember")
    return Candidate(policy)
