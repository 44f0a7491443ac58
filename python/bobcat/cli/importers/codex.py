"""Rules of Codex (`*.rules`): calls of `prefix_rule` with literals, read without executing the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bobcat.cli.importers.model import Decision, Imported, ImportedRule, ImportFailed, Note
from bobcat.cli.importers.shell_patterns import NARROWED, WIDENED, permitted_words, restricted_words

_DECISIONS: Mapping[str, Decision] = {"allow": "allow", "prompt": "approve_required", "forbidden": "deny"}
_ORDER: tuple[Decision, ...] = ("deny", "approve_required", "allow")
_OTHERS = {
    "host_executable": "programs are recognized by their names, wherever they are",
    "network_rule": "rules of the network stay with Codex",
}
_KEYS = frozenset(("pattern", "decision", "justification", "match", "not_match"))


def import_codex(sources: Sequence[tuple[str, str]]) -> Imported:
    """Import rule files, given as name and text. Raises `ImportFailed`."""
    rules: list[ImportedRule] = []
    notes: list[Note] = []
    for name, text in sources:
        for item in _read(name, text):
            (rules if isinstance(item, ImportedRule) else notes).append(item)  # type: ignore[arg-type]  # by its class
    rules.sort(key=lambda rule: _ORDER.index(rule.decision))
    if any(rule.decision == "approve_required" for rule in rules):
        notes.append(Note("", "prompt", "Codex's hook cannot ask: the call is denied, with the reason"))
    notes.append(Note("", "a command without a rule", "needs an approval, where Codex would use its sandbox"))
    return Imported(tuple(rules), tuple(notes))


def _read(name: str, text: str) -> Iterator[ImportedRule | Note]:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ImportFailed(f"{name}:{line}: not a rule file: {error}") from error
    known: dict[str, Any] = {}  # Any: literals
    for statement in module.body:
        place = f"{name}:{statement.lineno}"
        match statement:
            case ast.Expr(ast.Constant(str())):
                continue
            case ast.Assign([ast.Name(variable)], value):
                known[variable] = _literal(value, known, place)
            case ast.Expr(ast.Call(ast.Name("prefix_rule"), positional, keywords)) if not positional:
                given = {str(word.arg): _literal(word.value, known, place) for word in keywords}
                yield from _prefix_rule(given, place)
            case ast.Expr(ast.Call(ast.Name(function))) if function in _OTHERS:
                yield Note(place, function, _OTHERS[function])
            case _:
                raise ImportFailed(f"{place}: only calls of `prefix_rule` with literals can be imported")


def _literal(node: ast.expr, known: Mapping[str, Any], place: str) -> Any:  # Any: a literal
    match node:
        case ast.Constant(str() as text):
            return text
        case ast.List(items) | ast.Tuple(items):
            return [_literal(item, known, place) for item in items]
        case ast.Name(name) if name in known:
            return known[name]
        case ast.BinOp(left, ast.Add(), right):
            first, second = _literal(left, known, place), _literal(right, known, place)
            if type(first) is type(second):
                return first + second
    raise ImportFailed(f"{place}: `{ast.unparse(node)}` is not a literal")


def _prefix_rule(given: Mapping[str, Any], place: str) -> Iterator[ImportedRule | Note]:  # Any: literals
    unknown = given.keys() - _KEYS
    pattern: Any = given.get("pattern")  # Any: a literal
    decision = given.get("decision", "allow")
    if unknown or not _is_pattern(pattern) or not isinstance(decision, str) or decision not in _DECISIONS:
        what = f"the argument `{min(unknown)}`" if unknown else "this pattern or decision"
        raise ImportFailed(f"{place}: `prefix_rule` with {what} cannot be imported")
    source = " ".join(word if isinstance(word, str) else f"[{'|'.join(word)}]" for word in pattern)
    reason = given.get("justification")
    if _DECISIONS[decision] == "allow":
        match = permitted_words(pattern)
        if match is None:
            yield Note(place, source, "left out: a word needs quotes")
            return
        yield Note(place, source, f"allowed {NARROWED}")
    else:
        match = restricted_words(pattern)
        yield Note(place, source, f"restricted {WIDENED}")
    yield ImportedRule(
        _DECISIONS[decision],
        {"tool": "Bash", **match},
        place,
        f"{decision} {source}",
        reason,
        wider=decision != "allow",
    )


def _is_pattern(pattern: object) -> bool:
    if not isinstance(pattern, list) or not pattern:
        return False
    return all(
        bool(word) if isinstance(word, str) else bool(word) and all(isinstance(each, str) and each for each in word)
        for word in pattern
    )
