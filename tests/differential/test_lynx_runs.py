"""Whole runs of `bobcat.lynx` beside lynx-agent 2.5: results, event streams, conversations, executions and journals.

Nothing is left out but durations, time stamps, random ids and the text of tracebacks.
"""

from __future__ import annotations

import lynx
import lynx.durability
import lynx.policy
import pytest
from hypothesis import given, settings

import campaign
from bobcat import lynx as ours
from lynx_runs import SCRIPTS, Death, Script, comparable, play


def both(script: Script) -> tuple[object, object]:
    """The run under either package."""
    theirs = play(lynx, script, lynx.policy.compile_policy, lynx.durability.DuplicateRecord)
    mine = play(ours, script, ours.compile_policy, ours.DuplicateRecord)
    return comparable(mine), comparable(theirs)


@settings(max_examples=campaign.examples(150), deadline=None)
@given(SCRIPTS)
def test_a_run_is_the_same_run(script: Script) -> None:
    mine, theirs = both(script)
    assert mine == theirs


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("second", range(1, 9))
@pytest.mark.parametrize("first", range(1, 12))
def test_a_run_that_dies_twice_is_the_same_run(first: int, second: int, kept: bool) -> None:
    calls = (("echo", "a", 1), ("deploy", "b", 0), ("query", "c", 7))
    script = Script(
        calls, policies=("plain", "uncertain-denied"), approver="alice", journaled=True,
        deaths=(Death(first, kept), Death(second, not kept)),
    )  # fmt: skip
    mine, theirs = both(script)
    assert mine == theirs


@pytest.mark.parametrize("end", ["answer", "raise", "late", "hang"])
def test_a_step_with_a_time_limit_ends_the_same_way(end: str) -> None:
    mine, theirs = both(Script((("echo", "a", 0),), end=end, budget={"step_timeout_seconds": 0.02}))
    assert mine == theirs
