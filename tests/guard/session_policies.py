"""Policies that remember, for the tests of sessions."""

from __future__ import annotations

from bobcat import Policy

CAPPED = Policy.compile("""
rules:
  - {id: pay, match: {tool: pay, run.count.pay.lt: 10}, decision: allow}
""")
ASKED = Policy.compile("""
rules:
  - {id: ask, match: {tool: pay, run.count.pay.lt: 1}, decision: approve_required}
""")
SOURCED = Policy.compile("""
sources:
  directory: {tool: search, fields: [email], asked_with: task}
rules:
  - {id: search, match: {tool: search}, decision: allow}
  - {id: mail, match: {tool: mail, args.to.from: [task, directory]}, decision: allow}
""")
