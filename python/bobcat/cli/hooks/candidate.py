"""Candidates and monitored rules in a hook: the log has the calls that they would decide otherwise.

INVARIANT: nothing of a candidate reaches an answer. One that cannot be used is a line on stderr. The native hook does
the same in `rust/hook/src/candidate.rs`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bobcat._core import RunState
from bobcat.bundle import Policy
from bobcat.bundle.load import is_bundle, load_bundle
from bobcat.errors import BundleError
from bobcat.model.decision import ActionRequest, Decision
from bobcat.runtime.candidate import Candidate, beside


def divergences(
    path: Path | None, policy: Policy, asked: tuple[ActionRequest, Decision], state: RunState | None
) -> list[dict[str, Any]]:  # Any: JSON
    """The divergences from a decision of `policy`: those of the candidate at `path`, and of its own monitored rules.

    `state` is that of the session, before the call is on its record.
    """
    request, decision = asked
    found = []
    if path is not None:
        try:
            candidate = load_candidate(path, policy)
            found.append(candidate.divergence(request, decision, None, state))
        except ValueError as error:
            text = f"the candidate is not compared: {error}; the call is decided without it"
            click.echo(f"bobcat-hook: {text}".replace("\n", " "), err=True)
    monitored = beside(policy, None, request.context.task)
    if monitored is not None:
        found.append(monitored.divergence(request, decision, None, state))
    return [each for each in found if each is not None]


def load_candidate(path: Path, policy: Policy) -> Candidate:
    """Read a candidate. Raises `ValueError` for one that a hook cannot compare with `policy`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read the policy `{path}`: {error.strerror}") from error
    if not is_bundle(data):
        raise ValueError(f"the policy `{path}` is not a bundle")
    try:
        found = load_bundle(data)
    except BundleError as error:
        raise ValueError(f"the bundle `{path}` is refused: {error}") from error
    if found.remembers and found.ir.memory != policy.ir.memory:
        raise ValueError(f"the bundle `{path}` has rules that remember otherwise than the policy")
    return Candidate(found).for_run(policy, None)
