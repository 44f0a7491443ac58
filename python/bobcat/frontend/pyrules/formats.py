"""Texts made of values in older ways: `"{} of {}".format(a, b)` and `"%s of %d" % (a, b)`, with constant texts.

Unlike an f-string, both evaluate all values before they make text of any.
"""

from __future__ import annotations

import ast
import re
import string
from typing import TYPE_CHECKING, Any

from bobcat.frontend.pyrules.methods import type_error
from bobcat.frontend.pyrules.texts import check_spec
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_PLACE = re.compile(
    r"%(?:%|(?:\((?P<key>[^()%]*)\))?"
    r"(?P<how>(?P<flag>[-+ 0]?)(?P<width>[1-9][0-9]{0,2})?(?P<precision>\.[0-9]{1,2})?[srdf])|)"
)
_INSTEAD = "write an f-string"


def of_method(node: ast.Call, text: str, f: Function) -> ir.Code:
    """`text.format(...)`."""
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError as error:
        raise f.cannot(node, f"formats with a text that Python refuses: {error}", _INSTEAD) from error
    given: dict[str, ast.expr] = {str(index): item for index, item in enumerate(node.args)}
    given.update((keyword.arg or "", keyword.value) for keyword in node.keywords)
    slots = {name: f.temporary() for name in given}
    parts: list[str | ir.Shown] = []
    automatic = 0
    for literal, name, spec, conversion in fields:
        if literal:
            parts.append(literal)
        if name is None:
            continue
        if name == "":
            name, automatic = str(automatic), automatic + 1
        elif automatic and name.isascii() and name.isdecimal():
            raise f.cannot(node, "numbers some fields and not others", _INSTEAD)
        if name not in given or "{" in (spec or ""):
            raise f.cannot(node, f"formats with the field `{name}`", _INSTEAD)
        f.check_shown(given[name])
        how: Any = conversion or ""
        parts.append(ir.Shown(slots[name][1], how, check_spec(node, spec or "", f)))
    bound = [ir.Bind(slots[name][0], f.value(item)) for name, item in given.items()]
    return _after(bound, ir.Text(tuple(parts)))


def of_operator(node: ast.BinOp, text: str, f: Function) -> ir.Code:
    """`text % values`."""
    places = [found for found in _PLACE.finditer(text) if found.group() != "%%"]
    if any(found["how"] is None or not _is_known(found) for found in places):
        raise f.cannot(node, "formats text with `%` in a way that has no lowered form", _INSTEAD)
    right = node.right
    if any(found["key"] is not None for found in places):
        return _of_keys(node, text, places, f)
    if isinstance(right, ast.Tuple):
        items = right.elts
        if len(items) != len(places) or any(isinstance(item, ast.Starred) for item in items):
            raise f.cannot(node, f"formats {len(items)} values into {len(places)} places", _INSTEAD)
    elif len(places) == 1:
        items = [right]
    else:
        raise f.cannot(node, "formats text with `%` and no tuple of values", _INSTEAD)
    slots = [f.temporary() for _ in items]
    for item in items:
        f.check_shown(item)
    bound = [ir.Bind(slot, f.value(item)) for (slot, _), item in zip(slots, items, strict=True)]
    values: list[ir.Code] = [local for _, local in slots]
    if not isinstance(right, ast.Tuple):
        values = [_one(values[0])]
    return _after(bound, _filled(text, places, values))


def _filled(text: str, places: list[re.Match[str]], values: list[ir.Code]) -> ir.Text:
    parts: list[str | ir.Shown] = []
    end = 0
    for found, value in zip(places, values, strict=True):
        parts.append(text[end : found.start()].replace("%%", "%"))
        parts.append(_shown(found, value))
        end = found.end()
    parts.append(text[end:].replace("%%", "%"))
    return ir.Text(tuple(part for part in parts if part != ""))


def _of_keys(node: ast.BinOp, text: str, places: list[re.Match[str]], f: Function) -> ir.Code:
    """`"%(name)s" % {"name": value}`."""
    right = node.right
    if not isinstance(right, ast.Dict):
        raise f.cannot(node, "formats text with `%` and the keys of a dict that is not written there", _INSTEAD)
    keys = [key.value if isinstance(key, ast.Constant) else None for key in right.keys]
    if None in keys or any(found["key"] not in keys for found in places):
        raise f.cannot(node, "formats text with `%` and the keys of a dict that is not written there", _INSTEAD)
    slots = [f.temporary() for _ in keys]
    for item in right.values:
        f.check_shown(item)
    bound = [ir.Bind(slot, f.value(item)) for (slot, _), item in zip(slots, right.values, strict=True)]
    held = {key: local for key, (_, local) in zip(keys, slots, strict=True)}
    return _after(bound, _filled(text, places, [held[found["key"]] for found in places]))


def _one(value: ir.Code) -> ir.Code:
    """The only value for the only place; a tuple is the values, and has to have one."""
    length = ir.Compare(ir.Call("len", (value,)), ("eq",), (ir.Constant(1),))
    inner = ir.IfElse(length, ir.Item(value, ir.Constant(0)), type_error())
    return ir.IfElse(ir.IsInstance(value, ("tuple",)), inner, value)


def _is_known(found: re.Match[str]) -> bool:
    """Whether a place means the same in the words of f-strings."""
    how = found["how"][-1]
    if how in "sr":
        return found["flag"] in ("", "-")
    return not (found["flag"] == "0" and how == "f") and (how == "f" or found["precision"] is None)


def _shown(found: re.Match[str], value: ir.Code) -> ir.Shown:
    how, flag, width, precision = found["how"][-1], found["flag"], found["width"] or "", found["precision"] or ""
    if how in ("s", "r"):
        aligned = f"{'<' if flag else '>'}{width}" if width else ""
        return ir.Shown(value, "s" if how == "s" else "r", aligned + precision)
    # A place for a number takes nothing else, not even a text with one.
    number = ir.Call("int" if how == "d" else "float", (value,))
    spec = ("<" if flag == "-" and width else "" if flag == "-" else flag) + width + precision
    if flag == "0" and not width:
        spec = precision
    return ir.Shown(ir.IfElse(ir.IsInstance(value, ("int", "float")), number, type_error()), "", spec + how)


def _after(bound: list[ir.Bind], text: ir.Code) -> ir.Code:
    """A text, once everything that stands in it has been evaluated."""
    return ir.Item(ir.Display("tuple", (*bound, text)), ir.Constant(-1)) if bound else text
