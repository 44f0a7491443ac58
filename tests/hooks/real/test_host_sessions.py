"""A session in the real hosts: the hook counts calls, sees their results, and reads what the user wrote."""

from __future__ import annotations

from bobcat import Policy
from hooks.real.programs import Scratch

POLICY = """
defaults: {on_missing_shadow: deny, on_no_match: deny}
rules:
  - id: once
    match: {args.command: echo x >> first, context.task: go, run.count: {of: {args.command: echo x >> first}, lt: 1}}
    decision: allow
  - {id: task, match: {args.command: touch other, context.task: other}, decision: allow}
  - id: then
    match: {args.command: touch then, run.formerly: {result: {args.command: echo x >> first}}}
    decision: allow
  - id: moves
    match: {args.command: touch moved}
    decision: transform
    transform: {jsonpath: $.args.command, set: touch changed}
  - id: after
    match: {args.command: touch after, run.formerly: {result: {args.command: touch changed}}}
    decision: allow
"""


def test_a_session_is_remembered(scratch: Scratch) -> None:
    Policy.compile(POLICY).save(scratch.project / "policy.bobcat")
    scratch.install()
    report = scratch.gate()
    assert (report["gate"], report["clean"]) == ("on", True), report
    ran = scratch.run("touch then", "echo x >> first", "echo x >> first", "touch other")
    assert ran.finished, ran
    assert scratch.files() == {"first"}
    assert (scratch.project / "first").read_text() == "x\n"
    ran = scratch.run("echo x >> first", "touch then")  # another session
    assert ran.finished, ran
    assert scratch.files() == {"first", "then"}
    assert (scratch.project / "first").read_text() == "x\nx\n"
    assert len(list((scratch.home / ".local/state/bobcat/hooks").glob("*.session"))) >= 2


def test_the_result_of_a_rewritten_call_is_seen(scratch: Scratch) -> None:
    Policy.compile(POLICY).save(scratch.project / "policy.bobcat")
    scratch.install()
    ran = scratch.run("touch after", "touch moved", "touch after")
    assert ran.finished, ran
    assert scratch.files() == {"changed", "after"}
