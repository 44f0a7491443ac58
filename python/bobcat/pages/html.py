"""HTML of one page from its parts. Every text of others passes through `text`, `name` or `code`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape

from bobcat.pages.style import STYLE
from bobcat.text.display import safe_name, safe_text


def text(value: object, *, limit: int | None = None) -> str:
    """Escape untrusted text, invisible characters included, for HTML content and quoted attributes."""
    return escape(safe_text(value, limit=limit))


def name(value: object, *, limit: int | None = None) -> str:
    """Escape an identifier; lookalike words are marked."""
    return escape(safe_name(value, limit=limit))


def code(value: object, *, limit: int | None = None) -> str:
    """Escape an identifier as code."""
    return f"<code>{name(value, limit=limit)}</code>"


def lines(values: Iterable[object]) -> str:
    """Escape several lines, each separately: no text can forge a line."""
    return f"<pre>{chr(10).join(map(text, values))}</pre>"


def cell(content: str, kind: str = "", *, attributes: str = "") -> str:
    """A data cell of safe HTML with a class."""
    return f"<td{_class(kind)}{attributes}>{content}</td>"


def table(
    columns: Sequence[tuple[str, str]], rows: Iterable[str], *, caption: str = "", label: str = "", id: str = ""
) -> str:
    """A table from whole rows (`<tr>...`); a column is a head and a class. A wide table scrolls inside its frame."""
    head = "".join(f'<th scope="col"{_class(kind)}>{title}</th>' for title, kind in columns)
    about = f"<caption>{caption}</caption>" if caption else ""
    known = f' id="{id}"' if id else ""
    named = f' aria-label="{label}"' if label else ""
    body = "\n".join(rows)
    return (
        f'<div class="wide"><table{known}{named}>{about}<thead><tr>{head}</tr></thead><tbody>\n{body}\n'
        "</tbody></table></div>"
    )


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A list of names with safe HTML; rows without content are omitted."""
    return "<dl>" + "".join(f"<dt>{title}</dt><dd>{content}</dd>" for title, content in rows if content) + "</dl>"


def section(id: str, title: str, parts: Iterable[str]) -> str:
    """A landmark with a heading, to which `#id` leads."""
    return f'<section id="{id}" aria-labelledby="{id}-title"><h2 id="{id}-title">{title}</h2>\n' + (
        "\n".join(parts) + "</section>"
    )


def document(
    title: str,
    parts: Iterable[str],
    *,
    sections: Mapping[str, str] | None = None,
    script: str = "",
    styled: bool = False,
) -> str:
    """A self-contained page under a policy that lets it load nothing and run only `script`.

    `sections`: anchors with safe titles for the navigation. `styled`: the page has `style` attributes.
    """
    style = "'unsafe-inline'" if styled else _hash(STYLE)
    scripts = f"; script-src {_hash(script)}" if script else ""
    rules = f"default-src 'none'; style-src {style}{scripts}; base-uri 'none'; form-action 'none'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{rules}"><style>{STYLE}</style>'
    links = {f"#{id}": shown for id, shown in (sections or {}).items()}
    return _page(title, parts, head, navigation("Sections", links), f"<script>{script}</script>\n" if script else "")


def served_page(title: str, parts: Iterable[str], *, links: str, style: str, refresh: str = "") -> str:
    """A page of a server, which sends the policy of the page as a header. `style` is the path of `STYLE`.

    `refresh` is the `content` of a reload, such as `5`.
    """
    reload = f'<meta http-equiv="refresh" content="{refresh}">' if refresh else ""
    return _page(title, parts, f'{reload}<link rel="stylesheet" href="{style}">', links, "")


def navigation(label: str, links: Mapping[str, str], extra: str = "") -> str:
    """A navigation landmark: addresses with safe titles; nothing without links."""
    items = "".join(f'<li><a href="{to}">{shown}</a></li>' for to, shown in links.items())
    return f'<nav aria-label="{label}"><ul>{items}{extra}</ul></nav>\n' if items else ""


def _page(title: str, parts: Iterable[str], head: str, links: str, end: str) -> str:
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="referrer" content="same-origin">{head}<title>{text(title)}</title></head>\n<body>\n'
        f'<a class="skip" href="#main">Skip to the content</a>\n<header><h1>{text(title)}</h1></header>\n{links}'
        f'<main id="main" tabindex="-1">\n{body}\n</main>\n{end}</body></html>\n'
    )


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
