"""Suites of policy tests: `*.policytest.yaml` files, their reading, their run and their reports.

`bobcat test` and the pytest plugin use this package; `docs/reference/policytest.md` describes the files.
"""
