"""Sequences of calls, for rules that remember: a search over the states of a run, decided by the evaluator.

`search` walks over the states that permitted calls lead to. In each one, `fixed` replaces what rules read of the run by
its value, so that `analysis.engine` answers exactly which calls are permitted there. `kinds` divides the calls by what
the memory takes of them: calls of one kind lead to the same state.
"""
