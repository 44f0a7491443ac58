"""`trace_can`: is there a sequence of calls after which a call gets a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bobcat.analysis.engine import Effort, Progress, Questions
from bobcat.analysis.inputs import MatchInput, PolicyInput, policy_of
from bobcat.analysis.matches import RESTRICTS, match_policy, policy_of_match
from bobcat.analysis.model import ORDER, Reason, Unknown
from bobcat.analysis.sequences.drawn import reads_task, wanted
from bobcat.analysis.sequences.kinds import Atoms
from bobcat.analysis.sequences.memory import Memory, definitions_of
from bobcat.analysis.sequences.model import NoSequence, Sequence, SequenceAnswer
from bobcat.analysis.sequences.relevance import policies_rules, relevant, tools_of
from bobcat.analysis.sequences.search import Goal, Search, Subject
from bobcat.analysis.sequences.surroundings import Surroundings
from bobcat.bundle.model import Policy
from bobcat.ir import construct
from bobcat.ir.schema import CallEvent, Expr, Formerly, FormulaDefinition, IrRule
from bobcat.ir.visit import definition_exprs, leaves
from bobcat.model.decision import ExecutionContext
from bobcat.model.defaults import CONTEXT

STEPS = 4
"""Calls before the last one that are looked at by default."""
_AFTER = "after"


def trace_can(
    policy: PolicyInput,
    *,
    tool: str | None = None,
    when: MatchInput | None = None,
    after: Iterable[MatchInput] = (),
    verdict: str | Iterable[str] = "allow",
    steps: int = STEPS,
    unattended: bool = False,
    budget: float | None = None,
    progress: Progress | None = None,
) -> SequenceAnswer:
    """Return a shortest sequence of calls, the last of which is one of `tool` that matches `when` and gets the verdict.

    Before it are at most `steps` calls, each permitted by the policy in the state of the run at that time, one for each
    match of `after` among them. With `unattended`, no person approves a call. `when` can read the run:
    `run.count.pay.gt: 3`. `budget` is the limit in seconds. Raises `PolicyCompileError` for a match or a
    policy that does not compile, and `ValueError` for an unknown verdict or a negative number of steps.
    """
    verdicts = (verdict,) if isinstance(verdict, str) else tuple(verdict)
    for name in verdicts:
        if name not in ORDER:
            raise ValueError(f"`{name}` is not a verdict; the verdicts are {', '.join(ORDER)}")
    if steps < 0:
        raise ValueError(f"steps must be at least 0, got {steps}")
    subject = policy_of(policy)
    if subject.ir.profile != "strict":
        return Unknown((Reason("lynx_profile", "only the `strict` profile is analysed"),))
    asked = _asked(when, list(after))
    return _Question(subject, asked, verdicts, tool, Effort.within(budget, progress)).answer(steps, unattended)


def _asked(when: MatchInput | None, after: list[MatchInput]) -> Policy:
    """Return the match of the last call: `when`, after calls that match each of `after`."""
    policies = [match_policy(given, name=_AFTER) for given in after]
    if when is not None:
        policies.append(match_policy(when, name="when"))
    exprs: list[Expr] = []
    memory = definitions_of(policies)
    for number, policy in enumerate(policies):
        rule = policy.ir.rules[0]
        assert isinstance(rule, IrRule)
        if number < len(after):
            name = f"{_AFTER}-{number}"
            memory[name] = FormulaDefinition(Formerly(CallEvent(rule.match)))
            exprs.append(construct.leaf("run", (name,), "eq", True))
        else:
            exprs.append(rule.match)
    return policy_of_match(construct.all_(exprs), RESTRICTS, memory)


class _Question:
    def __init__(
        self, policy: Policy, when: Policy, verdicts: tuple[str, ...], tool: str | None, effort: Effort
    ) -> None:
        rules = policies_rules((policy, when))
        last = when.ir.rules[0]
        assert isinstance(last, IrRule)
        self._asked = last
        matches = [rule.match for rule in rules if isinstance(rule, IrRule)]
        given = definitions_of((policy, when))
        named = {name for expr in matches for name in tools_of(expr) or ()} | {tool}
        tools = [*sorted(name for name in named if name is not None), None]
        goal = Goal(verdicts, when, (tool,) if tool is not None else tuple(tools))
        definitions, about = relevant(rules, given, goal.tools)
        self._tools = [*sorted(name for name in about if name is not None), *([None] if None in about else [])]
        read = [*matches, *(expr for item in definitions.values() for expr in definition_exprs(item))]
        self._surroundings = Surroundings(read)
        self._subject = Subject(
            policy,
            goal,
            Memory(definitions),
            Atoms(definitions),
            [],
            matches,
            effort,
            any(isinstance(rule, IrRule) and rule.transform is not None for rule in rules),
            any(leaf.head == "context" and leaf.path == ("timestamp",) for expr in read for leaf in leaves(expr)),
        )

    def answer(self, steps: int, unattended: bool) -> SequenceAnswer:
        """Return a sequence, a proof, or what is not decided."""
        subject = self._subject
        unknown = self._find_kinds()
        if unknown is not None:
            return unknown
        asked = self._asked.match
        subject.pool = wanted([construct.all_([asked, expr]) for expr in subject.exprs] + subject.exprs)
        simple = subject.is_exact() and not self._surroundings.joined
        if not simple:
            over = Search(subject, _any_call(), CONTEXT, free=True, unattended=unattended).run(steps)
            if isinstance(over, NoSequence):
                return over
        reasons: dict[Reason, None] = {}
        closed = True
        for context in self._contexts():
            same = self._surroundings.match(context)
            found = Search(subject, same, context, free=False, unattended=unattended).run(steps)
            if isinstance(found, Sequence):
                return found
            if isinstance(found, NoSequence):
                closed = closed and found.steps is None
            else:
                reasons |= dict.fromkeys(found.reasons)
        if simple and self._surroundings.complete and not reasons:
            return NoSequence(None if closed else steps)
        other = Reason("memory", "runs of other principals, tasks or environments are not all tried")
        return Unknown(tuple(reasons) or (other,))

    def _find_kinds(self) -> Unknown | None:
        """Find the kinds of calls; return the reasons if one is unknown."""
        atoms = self._subject.atoms
        questions = Questions([atom.policy for atom in atoms.items] or [_any_call()], self._subject.effort)
        for kind in atoms.kinds(questions, self._tools, 0):
            if isinstance(kind, Unknown):
                return kind
            self._subject.kinds.append(kind)
        return None

    def _contexts(self) -> Iterable[ExecutionContext]:
        for context in self._surroundings.each():
            yield context
            if reads_task(self._subject.exprs) and context.task is None:
                yield replace(context, task=" ".join(self._subject.pool))


def _any_call() -> Policy:
    return policy_of_match(construct.TRUE, RESTRICTS, {})
