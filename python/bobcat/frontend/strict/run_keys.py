"""Keys that read the run: `run.count.NAME.lt`, `run.sum.NAME.FIELD.with_this.le`, `run.formerly`.

`run.count` and `run.sum` are numbers and take operators. The other words are conditions, whose operand is a match or
a formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from bobcat.frontend.strict.key_syntax import KeySyntaxError, Segment, segment_text, split
from bobcat.frontend.strict.keys import KeyProblem
from bobcat.frontend.strict.vocabulary import not_an_operator
from bobcat.frontend.suggest import closest, listed, synonyms
from bobcat.language.kinds import OperandForm, OperandKind
from bobcat.language.operators import OPERATORS, ROWS

Sequence: TypeAlias = Literal["after", "last", "formerly", "previous", "since", "never"]
Measure: TypeAlias = Literal["count", "sum"]
SEQUENCES: tuple[Sequence, ...] = get_args(Sequence)
MEASURES: tuple[Measure, ...] = get_args(Measure)
WORDS = (*MEASURES, *SEQUENCES)
WITH_THIS = "with_this"
"""The step that counts or adds the proposed call, too."""
COMPARISONS = tuple(
    row.name
    for row in ROWS
    if OperandKind.NUMBER in row.kinds
    and row.operand in (OperandForm.VALUE, OperandForm.SCALARS, OperandForm.BOUND, OperandForm.BOUNDS)
)
"""The operators that compare a measure."""
_SYNONYMS = synonyms(
    {
        "count": "counts number calls",
        "sum": "total sums add",
        "after": "once happened seen",
        "last": "latest",
        "formerly": "ever before sometime",
        "previous": "previously prev",
        "since": "until",
        "never": "not_since",
    }
)


@dataclass(frozen=True, slots=True)
class MeasureKey:
    """A count or a sum. `tool` is None if the operand says which calls are counted, `op` is empty without an operator.

    `field` holds the steps below the arguments, of a sum only; `this`: the proposed call is counted, too.
    """

    text: str
    measure: Measure
    tool: str | None
    field: tuple[str, ...]
    this: bool
    op: str


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """A condition on the sequence of events of the run."""

    text: str
    word: Sequence


RunKey: TypeAlias = MeasureKey | SequenceKey


def reads_run(text: str) -> bool:
    """Return true if a key begins with `run`."""
    return text == "run" or text.startswith(("run.", "run["))


def parse_run_key(text: str) -> RunKey | KeyProblem:
    """Parse a key that begins with `run`, or return the reason that it is invalid."""
    try:
        rest = split(text)[1:]
    except KeySyntaxError as problem:
        return KeyProblem("E0305", {"key": text, "problem": str(problem)})
    if not rest:
        return KeyProblem("E0309", {"base": "run", "known": listed(f"run.{word}" for word in WORDS)})
    word = rest[0].text
    if rest[0].quoted or word not in WORDS:
        near = _SYNONYMS.get(word.lower()) or closest(word, WORDS)
        tail = text[4 + len(word) :] if text.startswith(f"run.{word}") else ""
        help = f"did you mean `run.{near}{tail}`?" if near else None
        return KeyProblem("E0302", {"base": "run", "field": word, "known": listed(WORDS)}, help)
    if word in SEQUENCES:
        if len(rest) == 1:
            return SequenceKey(text, word)
        return _problem(
            text, f"`run.{word}` is a condition, without steps and operators", f"write `run.{word}: {{...}}`"
        )
    return _measure(text, "sum" if word == "sum" else "count", rest[1:])


def _measure(text: str, measure: Measure, rest: list[Segment]) -> MeasureKey | KeyProblem:
    steps = list(rest)
    op, this = "", False
    if steps and not steps[-1].quoted and steps[-1].text in OPERATORS:
        op = steps.pop().text
    if steps and not steps[-1].quoted and steps[-1].text == WITH_THIS:
        this = bool(steps.pop())
    if not steps:
        if not op and not this:
            return MeasureKey(text, measure, None, (), False, "")
        example = f"run.{measure}.send_money" + (".amount" if measure == "sum" else "")
        named = "with_this" if this else op
        return _problem(
            text,
            "it names no tool",
            f"write `{example}.{op or 'with_this.le'}`; the tool `{named}` is `run.{measure}{segment_text(named)}`",
        )
    if op and op not in COMPARISONS:
        return KeyProblem(
            "E0406",
            {"op": op, "path": text[: -len(op) - 1], "has": OperandKind.NUMBER.value, "known": listed(COMPARISONS)},
        )
    name, field = steps[0].text, tuple(step.text for step in steps[1:])
    last = steps[-1]
    if len(steps) > 1 and not op and not last.quoted:
        wrong = _wrong_operator(text, last.text)
        if wrong is not None:
            return wrong
    if measure == "count" and field:
        dotted = ".".join(step.text for step in steps)
        end = (".with_this" if this else "") + (f".{op}" if op else "")
        help = f"write `run.count{segment_text(dotted)}{end}` for the tool `{dotted}`"
        return _problem(text, "a count has one name, that of the tool", help)
    if measure == "sum" and not field:
        end = (".with_this" if this else "") + f".{op or 'le'}"
        help = f"write `run.sum.{name}.amount{end}` for the argument `amount`"
        if "." in name:
            help = f"write `run.sum{segment_text(name)}.amount{end}` for the argument `amount`"
        return _problem(text, "a sum names the argument whose values are added", help)
    return MeasureKey(text, measure, name, field, this, op)


def _wrong_operator(text: str, last: str) -> KeyProblem | None:
    near = not_an_operator(last)
    if near is None or "." in near:
        return None
    base = text[: -len(last) - 1]
    return KeyProblem(
        "E0303", {"operator": last, "quoted": f"{base}{segment_text(last)}"}, f"did you mean `{base}.{near}`?"
    )


def _problem(text: str, problem: str, help: str | None = None) -> KeyProblem:
    return KeyProblem("E1005", {"key": text, "problem": problem}, help)
