"""The links in a text, for the reference evaluator: the rules of `docs/reference/facets.md` as expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oracle.values import CannotEvaluate

FILES = frozenset(
    "avi bak bmp cfg class cpp css csv dat db dll doc docm docx env exe gif gz htm html ico ini ipynb jar java jpeg jpg"
    " js json jsonl lock log mkv mp odt ods pdf png ppt pptx rar rst rtf sql svg tar tex tgz tif tiff tmp toml tsv txt"
    " wav xls xlsx xml".split()
)
ATTRIBUTES = "action|background|cite|codebase|content|data|formaction|href|longdesc|manifest|ping|poster|src|srcset|url"
DOTS = "。．｡"
LABEL = rf"(?:[A-Za-z0-9_-]|(?![\s{DOTS}])[^\x00-\x7f])"
END = re.compile(r'[\s<>"\x00-\x1f\x7f]')
SCHEME = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?=[/\\])|(?:[A-Za-z][A-Za-z0-9+.-]*[+.-])?(?<![A-Za-z0-9])"
    r"(?:https?|ftp|wss?|javascript|data|vbscript|file|blob):",
    re.IGNORECASE,
)
RELATIVE = re.compile(rf"(?<!{LABEL})(?<![:/\\.])[/\\][/\\](?={LABEL})")
# Elsewhere an ideographic dot ends a sentence.
HOST = re.compile(rf"{LABEL}(?:{LABEL}|\.|(?<=[A-Za-z0-9])[{DOTS}](?=[A-Za-z0-9]))*")
MARKDOWN = re.compile(r"\]\(\s*(?:<([^>\n]*)|\"([^\"\n]*)|'([^'\n]*)|([^)\s]*))")
STYLE = re.compile(r"(?<![A-Za-z0-9])url\(\s*(?:<([^>\n]*)|\"([^\"\n]*)|'([^'\n]*)|([^)\s]*))", re.IGNORECASE)
DEFINITION = re.compile(r"\]:\s*(?:<([^>\n]*)|(\S*))")
ATTRIBUTE = re.compile(
    rf"(?<![A-Za-z0-9])(?:{ATTRIBUTES})\s{{0,8}}=\s*(?:\"([^\">]*)|'([^'>]*)|([^\"'>\s][^>\s]*))", re.IGNORECASE
)


def links(text: str) -> list[str]:
    if len(text.encode()) > 1024 * 1024:
        raise CannotEvaluate("undecidable")
    runs: list[tuple[int, str]] = []
    begins = {found.start() for found in RELATIVE.finditer(text)}
    for found in SCHEME.finditer(text):
        if found.end() < len(text) and not END.match(text, found.end()):
            begins.add(found.start())
    ends: dict[int, int] = {}

    def end(at: int) -> int:
        found = END.search(text, at)
        return found.start() if found else len(text)

    for found in HOST.finditer(text):
        at, labels = found.start(), found[0]
        before = text[at - 1 : at]
        inside = any(begin < at < end(begin) for begin in begins)
        if before and inside and before not in ",;|()[]{}'*!`@":
            continue
        name = labels.rstrip(".")
        after = text[at + len(labels) :][:1]
        if after == "@" and name == labels:
            continue
        if before == "@" and after not in ("/", "?", "#", ":"):
            continue
        if is_host(name):
            begins.add(at)
    for at in sorted(begins):
        ends[at] = end(at)
        runs.append((at, trimmed(text[at : ends[at]])))
    for pattern in (MARKDOWN, STYLE, DEFINITION, ATTRIBUTE):
        for found in overlapping(pattern, text):
            group = next((number for number, part in enumerate(found.groups(), 1) if part is not None), None)
            if group is not None:
                target = found[group].strip()
                if re.search(r"[:&\\]", target) or target.startswith("//"):
                    runs.append((found.start(group), target))
    if len(runs) > 1000:
        raise CannotEvaluate("undecidable")
    return list(dict.fromkeys(link for _, link in sorted(runs, key=lambda run: run[0]) if link))


def overlapping(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """All matches, also those that begin inside another."""
    found = pattern.search(text)
    while found:
        yield found
        found = pattern.search(text, found.start() + 1)


def is_host(name: str) -> bool:
    labels = re.split(f"[.{DOTS}]", name)
    if len(labels) < 2 or not labels[-1]:
        return False
    if name[:4].lower() == "www.":
        return True
    if not labels[-2]:
        return False
    if name.count(".") == 3 and all(re.fullmatch("0*[0-9]{1,3}", part) and int(part) < 256 for part in name.split(".")):
        return True
    last = labels[-1]
    top = len(last) >= 2 and (all(not char.isascii() or char.isalpha() for char in last) or last[:4].lower() == "xn--")
    return top and last.lower() not in FILES


def trimmed(link: str) -> str:
    surplus = {close: max(0, link.count(close) - link.count(open)) for open, close in ("()", "[]", "{}")}
    while link:
        last = link[-1]
        if last in surplus:
            if not surplus[last]:
                break
            surplus[last] -= 1
        elif last not in ".,;:!?'`*_~|…”’»。，":
            break
        link = link[:-1]
    return link
