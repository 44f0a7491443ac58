"""Older string formatting: `"{} of {}".format(a, b)` and `"%s of %d" % (a, b)`, with constant texts.

Unlike an f-string, both evaluate all values before they format any of them.
"""

from __future__ import annotations

import ast
import re
import string
from typing import Any

from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering.operators import after
from bobcat.frontend.python.lowering.raising import type_error
from bobcat.frontend.python.lowering.texts import check_spec
from bobcat.ir import code as ir

_PLACE = re.compile(
    r"%(?:%|(?:\((?P<key>[^()%]*)\))?"
    r"(?P<how>(?P<flag>[-+ 0]?)(?P<width>[1-9][0-9]{0,2})?(?P<precision>\.[0-9]{1,2})?[srdf])|)"
)
_INSTEAD = "write an f-string"


def of_method(node: ast.Call, text: str, f: Scope) -> ir.Code:
    """`text.format(...)`."""
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError as error:
        raise f.error_at(node, f"uses a format that Python rejects: {error}", _INSTEAD) from error
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
            raise f.error_at(node, "mixes numbered and unnumbered fields", _INSTEAD)
        if name not in given or "{" in (spec or ""):
            raise f.error_at(node, f"uses the format field `{name}`", _INSTEAD)
        f.check_shown(given[name])
        how: Any = conversion or ""
        parts.append(ir.Shown(slots[name][1], how, check_spec(node, spec or "", f)))
    bound = [ir.Bind(slots[name][0], f.value(item)) for name, item in given.items()]
    text_of_parts = ir.Text(tuple(parts))
    return after(bound, text_of_parts) if bound else text_of_parts


def of_operator(node: ast.BinOp, text: str, f: Scope) -> ir.Code:
    """Lower `text % values`."""
    places = [found for found in _PLACE.finditer(text) if found.group() != "%%"]
    if any(found["how"] is None or not _is_known(found) for found in places):
        raise f.error_at(node, "formats text with `%` with a format that cannot be compiled", _INSTEAD)
    right = node.right
    if any(found["key"] is not None for found in places):
        return _of_keys(node, text, places, f)
    if isinstance(right, ast.Tuple):
        items = right.elts
        if len(items) != len(places) or any(isinstance(item, ast.Starred) for item in items):
            raise f.error_at(node, f"formats {len(items)} values into {len(places)} places", _INSTEAD)
    elif len(places) == 1:
        items = [right]
    else:
        raise f.error_at(node, "formats text with `%` and no tuple of values", _INSTEAD)
    bound, values = _bind(items, f)
    if not isinstance(right, ast.Tuple):
        values = [_one(values[0])]
    filled = _filled(text, places, values)
    return after(bound, filled) if bound else filled


def _bind(items: list[ast.expr], f: Scope) -> tuple[list[ir.Bind], list[ir.Code]]:
    """Return the bindings of values to temporaries, and reads of these."""
    slots = [f.temporary() for _ in items]
    for item in items:
        f.check_shown(item)
    bound = [ir.Bind(slot, f.value(item)) for (slot, _), item in zip(slots, items, strict=True)]
    return bound, [local for _, local in slots]


def _filled(text: str, places: list[re.Match[str]], values: list[ir.Code]) -> ir.Text:
    parts: list[str | ir.Shown] = []
    end = 0
    for found, value in zip(places, values, strict=True):
        parts.append(text[end : found.start()].replace("%%", "%"))
        parts.append(_shown(found, value))
        end = found.end()
    parts.append(text[end:].replace("%%", "%"))
    return ir.Text(tuple(part for part in parts if part != ""))


def _of_keys(node: ast.BinOp, text: str, places: list[re.Match[str]], f: Scope) -> ir.Code:
    """Lower `"%(name)s" % {"name": value}`."""
    right = node.right
    if not isinstance(right, ast.Dict):
        raise f.error_at(node, "formats text with `%` and a dict that is not a literal", _INSTEAD)
    keys = [key.value if isinstance(key, ast.Constant) else None for key in right.keys]
    if None in keys or any(found["key"] not in keys for found in places):
        raise f.error_at(node, "formats text with `%` and a dict that is not a literal", _INSTEAD)
    bound, values = _bind(right.values, f)
    held = dict(zip(keys, values, strict=True))
    return after(bound, _filled(text, places, [held[found["key"]] for found in places]))


def _one(value: ir.Code) -> ir.Code:
    """Return the only value for the only place; a tuple must have exactly one item."""
    length = ir.Compare(ir.CallFunction("len", (value,)), ("eq",), (ir.Constant(1),))
    inner = ir.IfElse(length, ir.Item(value, ir.Constant(0)), type_error())
    return ir.IfElse(ir.IsInstance(value, ("tuple",)), inner, value)


def _is_known(found: re.Match[str]) -> bool:
    """Return true if an f-string supports the place with the same meaning."""
    how = found["how"][-1]
    if how in "sr":
        return found["flag"] in ("", "-")
    return not (found["flag"] == "0" and how == "f") and (how == "f" or found["precision"] is None)


def _shown(found: re.Match[str], value: ir.Code) -> ir.Shown:
    how, flag, width, precision = found["how"][-1], found["flag"], found["width"] or "", found["precision"] or ""
    if how in ("s", "r"):
        aligned = f"{'<' if flag else '>'}{width}" if width else ""
        return ir.Shown(value, "s" if how == "s" else "r", aligned + precision)
    # A numeric place accepts only numbers, not numeric text.
    number = ir.CallFunction("int" if how == "d" else "float", (value,))
    spec = ("<" if flag == "-" and width else "" if flag == "-" else flag) + width + precision
    if flag == "0" and not width:
        spec = precision
    return ir.Shown(ir.IfElse(ir.IsInstance(value, ("int", "float")), number, type_error()), "", spec + how)
