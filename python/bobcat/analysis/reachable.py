"""`can`: is there a call with a verdict, of a tool, that matches."""

from __future__ import annotations

from collections.abc import Iterable

from bobcat.analysis.engine import Constraint, Effort, Progress, Questions
from bobcat.analysis.inputs import MatchInput, PolicyInput, policy_of
from bobcat.analysis.model import ORDER, Answer, Witness


def can(
    policy: PolicyInput,
    *,
    tool: str | None = None,
    when: MatchInput | None = None,
    verdict: str | Iterable[str] = "allow",
    budget: float | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Return a call of `tool` that matches `when` and gets the verdict, or one of several.

    A `Proof`: no such call exists.

    `when` is read as a rule reads it that restricts: a missing path is false. Raises `PolicyCompileError` for a match
    or a policy that does not compile, and `ValueError` for an unknown verdict.
    """
    verdicts = [verdict] if isinstance(verdict, str) else list(verdict)
    for name in verdicts:
        if name not in ORDER:
            raise ValueError(f"`{name}` is not a verdict; the verdicts are {', '.join(ORDER)}")
    where: list[Constraint] = [{"policy": 0, "verdicts": verdicts}]
    policies = [policy_of(policy)]
    if when is not None:
        from bobcat.analysis.matches import match_policy  # PERF: other questions need no front end

        policies.append(match_policy(when, name="when"))
        where.append({"match": 1, "is": ["true"]})
    if tool is not None:
        where.append({"tool": tool})
    found = Questions(policies, Effort.within(budget, progress)).find(*where)
    return Witness(found.request, found.decisions[:1]) if isinstance(found, Witness) else found
