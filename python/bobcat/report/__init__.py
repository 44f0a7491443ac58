"""The report on a policy: its rules, who may do what, coverage, traffic and findings, as one page or as JSON.

`outcomes` and `code_outcomes` bound what rules do when only a part of a request is known, `access` makes the table of
them, `model` has the facts, `page` the HTML. Nothing here reads a file.
"""
