"""The API reference, made from docstrings: an overview, and a page for each group of public names of `bobcat`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any

import bobcat
from docs.api_groups import GROUPS, NOTES
from docs.signatures import shorter, signature

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = DOCS / "reference"

_HEAD = """# API reference

The public names of `bobcat`, each with the first paragraph of its docstring; the page of a group has signatures and all that the docstrings say, as
`help(bobcat.NAME)` shows it. `make docs-write` writes these pages.
"""  # noqa: E501


def pages() -> dict[Path, str]:
    """Render all pages, by file: `api.md` and one in `api/` for each group."""
    found = {REFERENCE / "api.md": _overview()}
    for title, names in GROUPS.items():
        entries = "".join(_entry(name, getattr(bobcat, name)) for name in names.split())
        text = _linked(f"# {title}\n{entries}", _page(title))
        found[REFERENCE / "api" / _page(title)] = text
    return found


def _page(title: str) -> str:
    return f"{title.lower().replace(' ', '-')}.md"


_PAGES = {name: _page(title) for title, names in GROUPS.items() for name in names.split()}
_ANCHOR = str.lower


def _overview() -> str:
    text = _HEAD
    for title, names in GROUPS.items():
        text += f"\n## {title}\n\n| name | |\n|---|---|\n"
        for name in names.split():
            summary = _cell(NOTES.get(name) or _summary(getattr(bobcat, name)))
            text += f"| [`{name}`](api/{_PAGES[name]}#{_ANCHOR(name)}) | {summary} |\n"
    return text


def _entry(name: str, value: Any) -> str:  # Any: every kind of public name, here and below
    text = f"\n## `{name}`\n"
    opaque = getattr(value, "_is_protocol", False) or value is bobcat.Policy or name in NOTES
    if not opaque and not (inspect.isclass(value) and issubclass(value, (Exception, Enum))):
        text += _code(signature(name, value))
    text += f"\n{NOTES.get(name) or _body(value)}\n"
    if inspect.isclass(value) and name not in NOTES:
        if issubclass(value, Enum):
            text += f"\nValues: {', '.join(f'`{each.value}`' for each in value)}.\n"
        text += _members(name, value)
    return text


def _members(owner: str, value: type) -> str:
    members = list(_documented(value))
    rows = "".join(
        f"| `{name}` | `{_cell(_returned(member))}` | {_cell(_paragraphs(member))} |\n"
        for name, member in members
        if isinstance(member, property)
    )
    text = f"\n| property | type | |\n|---|---|---|\n{rows}" if rows else ""
    for name, member in members:
        if not isinstance(member, property):
            inner = getattr(member, "__func__", member)
            call = signature(f"{owner}.{name}" if inner is not member else name, inner, method=_has_receiver(member))
            text += f"\n### `{owner}.{name}`\n{_code(call)}\n{_body(inner)}\n"
    return text


def _documented(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the documented public methods and properties of a class, inherited ones first."""
    members: dict[str, Any] = {}
    for each in reversed(owner.__mro__):
        members |= vars(each) if each is owner or each.__module__.startswith("bobcat.stores.") else {}
    for name, member in members.items():
        inner = getattr(member, "__func__", member)
        if not name.startswith("_") and isinstance(inner, (FunctionType, property)) and inner.__doc__:
            yield name, member


def _has_receiver(member: object) -> bool:
    return not isinstance(member, staticmethod)


def _returned(member: property) -> str:
    return shorter(inspect.signature(member.fget).return_annotation) if member.fget else ""


def _code(text: str) -> str:
    return f"\n```python no-run\n{text}\n```\n"


def _body(value: Any) -> str:
    """Return a docstring as Markdown: an example in it is a fenced block."""
    text = inspect.getdoc(value) or ""
    return re.sub(r"(?:^>>> .*(?:\n.+)*\n?)+", lambda found: _code(found[0].rstrip()).strip(), text, flags=re.MULTILINE)


def _summary(value: Any) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())


def _paragraphs(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _linked(text: str, page: str) -> str:
    """Link names of the API and pages of the documentation, outside of code blocks and headings."""

    def name(found: re.Match[str]) -> str:
        target = _PAGES.get(found[1])
        if target is None:
            return found[0]
        return f"[{found[0]}]({'' if target == page else target}#{_ANCHOR(found[1])})"

    def document(found: re.Match[str]) -> str:
        path = DOCS / f"{found[1]}.md"
        return f"[{path.read_text(encoding='utf-8').partition(chr(10))[0].removeprefix('# ')}](../../{found[1]}.md)"

    def line(text: str) -> str:
        return text if text.startswith("#") else re.sub(r"`docs/([\w/-]+)\.md`", document, _NAME.sub(name, text))

    return _outside_fences(text, line)


_NAME = re.compile(r"(?<![\[`\w])`(\w+)`(?![\]`\w])")


def _outside_fences(text: str, rewrite: Callable[[str], str]) -> str:
    lines, fenced = [], False
    for line in text.splitlines():
        fence = line.startswith("```")
        lines.append(line if fenced or fence else rewrite(line))
        fenced ^= fence
    return "\n".join(lines) + "\n"
