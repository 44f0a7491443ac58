"""A scratch project for each host, with its policy compiled and its hook installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import Policy
from bobcat.cli.hooks.call import Host
from hooks.real.programs import HOSTS, PLACE, PROGRAMS, Scratch, new_scratch

POLICY = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - id: shell
    match: {tool.in: [Bash, run_shell_command], args.command.matches: "^touch (allowed|ran|many[0-9]+)(; : x*)?$"}
    decision: allow
  - id: asks
    match: {tool.in: [Bash, run_shell_command], args.command: touch asked}
    decision: approve_required
    reason: a person looks
  - id: moves
    match: {tool.in: [Bash, run_shell_command], args.command: touch moved}
    decision: transform
    reason: elsewhere
    transform: {jsonpath: $.args.command, set: touch changed}
"""


@pytest.fixture(scope="session", autouse=True)
def _programs() -> None:
    if PLACE is None:
        pytest.skip("needs the programs of the hosts: runs in `make check-hooks`")
    missing = [program for program in PROGRAMS.values() if not (Path(PLACE) / program).exists()]
    if missing:
        pytest.fail(f"missing in {PLACE}: {', '.join(missing)}; `.ci/hosts` installs them")


@pytest.fixture(params=HOSTS)
def scratch(request: pytest.FixtureRequest, tmp_path: Path) -> Scratch:
    """A project without a hook."""
    return make(request.param, tmp_path)


def make(host: Host, place: Path) -> Scratch:
    """Make a project with the policy of these tests."""
    made = new_scratch(host, place)
    Policy.compile(POLICY).save(made.project / "policy.bobcat")
    return made
