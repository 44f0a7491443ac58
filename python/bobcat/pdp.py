"""The decision point: a bundle and a request in, a decision out.

`evaluate` and `evaluate_many` are the functions of the Rust core themselves, with no Python call around them. Nothing
here, and nothing it imports, can compile a policy.
"""

from bobcat._core import evaluate, evaluate_json, evaluate_many
from bobcat.bundle.explain import explain
from bobcat.bundle.explanation import Clause, Connective, ExplainedComparison, Explanation, RuleExplanation
from bobcat.model.constructors import allow, approve_required, deny, dry_run, transform

__all__ = [
    "Clause",
    "Connective",
    "ExplainedComparison",
    "Explanation",
    "RuleExplanation",
    "allow",
    "approve_required",
    "deny",
    "dry_run",
    "evaluate",
    "evaluate_json",
    "evaluate_many",
    "explain",
    "transform",
]
