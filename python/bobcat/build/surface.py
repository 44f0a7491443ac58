"""Built rules to the surface that the front end of YAML reads: plain data, every part with its place in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bobcat.build.conditions import All, AnyOf, Comparison, Condition, Not, Operand, Tests
from bobcat.build.paths import Edit, Path
from bobcat.frontend.key_syntax import written
from bobcat.frontend.placed import Placed, lower_built
from bobcat.frontend.pyrules.built import BuiltRule

if TYPE_CHECKING:
    from bobcat.build.places import Place, Positions
    from bobcat.build.rules import Rule


def built(rule: Rule, index: int | None, positions: Positions) -> BuiltRule:
    """A rule in the IR, or why there is none."""
    surface = _Surface(rule.place.file, positions)
    data: dict[str, Any] = {}  # Any: a rule as YAML has it
    for name, value in rule.options:
        data[name] = _edit(value) if isinstance(value, Edit) else value
    data["decision"] = rule.decision
    conditions = [surface.condition(item) for item in rule.conditions]
    data["match"] = conditions[0] if len(conditions) == 1 else {"all_of": conditions} if conditions else {}
    return lower_built(surface.placed(data, rule.place), rule.place.file, index)


class _Surface:
    def __init__(self, file: str, positions: Positions) -> None:
        self._file = file
        self._positions = positions

    def placed(self, data: Any, place: Place) -> Placed:  # Any: plain data
        """Data with their place, where that is in the file of the rule."""
        return Placed(data, self._positions.of(place) if place.file == self._file else None)

    def condition(self, condition: Condition) -> Placed:
        """A condition as the entries of a match."""
        match condition:
            case All(_, items):
                return self.placed({"all_of": [self.condition(item) for item in items]}, condition.place)
            case AnyOf(_, items):
                return self.placed({"any_of": [self.condition(item) for item in items]}, condition.place)
            case Not(_, item):
                return self.placed({"not": self.condition(item)}, condition.place)
            case Comparison(_, path, operators, operand):
                key = written(path.head, path.steps, ".".join(operators))
                return self.placed({key: _operand(operand)}, condition.place)
            case _:
                raise TypeError(f"a condition of an unknown kind: `{type(condition).__name__}`")


def _operand(operand: Operand) -> Any:  # Any: plain data
    match operand:
        case Path():
            if operand.chain:
                raise TypeError(f"`{operand!r}` cannot be an operand: only paths as they stand are compared with")
            return {"ref": written(operand.head, operand.steps)}
        case Tests(items):
            return {name: _operand(item) for name, item in items}
        case dict():
            return {name: _operand(item) for name, item in operand.items()}
        case _:
            return operand


def _edit(edit: Edit) -> dict[str, Any]:  # Any: plain data
    return {"jsonpath": f"$.{written(edit.path.head, edit.path.steps)}", edit.operation: edit.value}
