"""Bounds of decisions: the verdicts that calls can get when only a part of a request is known.

`known` is such a part, `outcomes` bounds the match of a rule, `code_outcomes` a compiled Python function, `decisions` a
whole policy. `bobcat report` shows them as a table, `bobcat proxy` hides tools that no call can use.
"""
