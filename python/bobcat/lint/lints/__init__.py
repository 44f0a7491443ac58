"""Lints, one per file: `CODES`, and `check(subject)`, `check_tools(subject, tools)` or `report(span, **facts)`.

`lint.registry` finds them.
"""
