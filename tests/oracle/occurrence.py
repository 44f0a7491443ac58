"""Whole values in texts, for the reference evaluator: `docs/reference/occurrence.md`, tried at every place.

Slow and obvious; it shares no code with the core.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

QUOTES = "\"'`«»‹›“”„‘’‚"
OPENING = "([{¿¡" + QUOTES
CLOSING = ".,;:!?)]}>…。，、！？；：" + QUOTES
TWINS = "\u212a\u212b\u2126\u03f4"
CURRENCY = r"[$£¤¥฿\u20a0-\u20cf]"
LINE_ENDS = re.compile("[\n-\r\x1c-\x1e\x85\u2028\u2029]")
ADDRESS = re.compile(
    r"(?!\.)[A-Za-z0-9._%+-]+(?<!\.)@(?:(?!-)[A-Za-z0-9-]+(?<!-)\.)+(?!-)[A-Za-z0-9-]+(?<!-)", re.ASCII
)
GROUPED = re.compile(r"([1-9][0-9]{0,2})((?:,[0-9]{3})+|(?:'[0-9]{3})+|(?:’[0-9]{3})+)(?:\.([0-9]+))?")
DOTTED = re.compile(r"([1-9][0-9]{0,2})((?:\.[0-9]{3})+),([0-9]{1,2})")
PLAIN = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]+))?")


def occurs(needle: Any, haystack: str, *, lower: bool = False) -> bool:
    """Return true if a text or a number occurs in a text."""
    text = Haystack(haystack, lower)
    if not isinstance(needle, str):
        return written(needle) in text.numbers
    wanted = " ".join(cased(word, lower) for word in needle.split())
    value = number(wanted)
    if value is not None:
        return value in text.numbers
    if iban(wanted, lower) in text.ibans:
        return True
    return bool(wanted) and any(
        place in text.starts and place + len(wanted) in text.ends
        for place in range(len(text.text))
        if text.text.startswith(wanted, place)
    )


def is_made_of(text: str, others: str) -> bool:
    """Return true if a text has letters and some other characters only."""
    return text != "" and all(char.isalpha() or char in others for char in text)


def cased(word: str, lower: bool) -> str:
    if not lower:
        return word
    return "".join(part if part and part in TWINS else part.lower() for part in re.split(f"([{TWINS}])", word))


def written(value: float) -> Decimal | None:
    found = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    return found if found.is_finite() else None


def number(token: str, *, currency: bool = False) -> Decimal | None:
    """The number of a token; None without one, and where two readings differ."""
    if currency:
        signed = re.fullmatch(rf"(-?)({CURRENCY}?)(-?)(.*?)({CURRENCY}?)", token, re.DOTALL)
        if signed is None or (signed[1] and signed[3]) or (signed[2] and signed[5]) or (signed[3] and not signed[2]):
            return None
        sign, digits = signed[1] or signed[3], signed[4]
    else:
        sign, digits = ("-", token[1:]) if token.startswith("-") else ("", token)
    if found := PLAIN.fullmatch(digits):
        whole, fraction = found[1], found[2] or ""
        if fraction and len(fraction) == 3 and len(whole) <= 3 and whole != "0" and fraction.endswith("0"):
            return None
    elif found := DOTTED.fullmatch(digits):
        whole, fraction = found[1] + found[2].replace(".", ""), found[3]
    elif found := GROUPED.fullmatch(digits):
        whole, fraction = found[1] + re.sub("[^0-9]", "", found[2]), found[3] or ""
    else:
        return None
    return Decimal(f"{sign}{whole}.{fraction or '0'}") + 0


def iban(text: str, lower: bool) -> str | None:
    """The characters of an IBAN, from one without spaces or one in groups of four."""
    letter = "a-z" if lower else "A-Z"
    groups = text.split(" ")
    if len(groups) > 1 and (any(len(group) != 4 for group in groups[:-1]) or len(groups[-1]) > 4):
        return None
    joined = "".join(groups)
    return joined if re.fullmatch(rf"[{letter}]{{2}}[0-9]{{2}}[{letter}0-9]{{11,30}}", joined) else None


def is_right(joined: str) -> bool:
    return int("".join(str(int(char, 36)) for char in joined[4:] + joined[:4])) % 97 == 1


class Haystack:
    """The places at which tokens begin and end, the numbers and the IBANs of a text."""

    def __init__(self, given: str, lower: bool) -> None:
        self.starts: set[int] = set()
        self.ends: set[int] = set()
        self.text = ""
        self._lower = lower
        self._found: list[tuple[int, tuple[int, int], Decimal]] = []
        self.ibans: set[str | None] = set()
        self._chunks: list[tuple[int, int]] = []
        self._cores: list[list[tuple[int, int]]] = []
        breaks: list[bool] = []
        for space, word in re.findall(r"(\s*)(\S+)", given):
            if self.text:
                self.text += " "
            breaks.append(LINE_ENDS.search(space) is not None)
            begin = len(self.text)
            self.text += cased(word, lower)
            self._chunk(begin, len(self.text))
        joined, dropped = self._join_digits(breaks), self._join_ibans()
        self.numbers = {value for chunk, core, value in self._found if core not in joined and chunk not in dropped}
        self.ibans.discard(None)

    def _chunk(self, begin: int, end: int) -> None:
        self._chunks.append((begin, end))
        self._cores.append([])
        self.starts.add(begin)
        self.ends.add(end)
        chunk = self.text[begin:end]
        tail = len(chunk.rstrip(CLOSING))
        at = 0
        for found in re.finditer(r"<|>|\]\(", chunk):
            if found.start() >= at:
                closed = found[0] != ">" or found.end() >= tail or chunk[found.end() : found.end() + 1] == "<"
                self._segment(begin + at, begin + found.start(), closed)
                at = found.end()
        self._segment(begin + at, end, True)

    def _segment(self, begin: int, end: int, closed: bool) -> None:
        if begin == end:
            return
        self.starts.add(begin)
        while begin < end and self.text[begin] in OPENING:
            begin += 1
            self.starts.add(begin)
        if not closed:
            return
        self.ends.add(end)
        inner = self.text[begin:end]
        surplus = {close: max(0, inner.count(close) - inner.count(open)) for open, close in ("()", "[]", "{}")}
        while begin < end and self.text[end - 1] in CLOSING:
            last = self.text[end - 1]
            if last in surplus:
                if not surplus[last]:
                    break
                surplus[last] -= 1
            end -= 1
            self.ends.add(end)
        self._core(begin, end)

    def _core(self, begin: int, end: int) -> None:
        core = self.text[begin:end]
        self._cores[-1].append((begin, end))
        if re.fullmatch(r".+['’][sS]", core, re.DOTALL):
            self.ends.add(end - 2)
        if core.startswith("#") and core[1:2].isalpha() and is_made_of(core[1:], "0123456789_-"):
            self.starts.add(begin + 1)
        if core.startswith("mailto:") and ADDRESS.fullmatch(core[7:]):
            self.starts.add(begin + 7)
        items = re.split("[,;]", core)
        if len(items) > 1 and all(is_made_of(item, "'’-") or ADDRESS.fullmatch(item) for item in items):
            for found in re.finditer("[,;]", core):
                self.ends.add(begin + found.start())
                self.starts.add(begin + found.end())
        value = number(core, currency=True)
        if value is not None:
            self._found.append((len(self._chunks) - 1, (begin, end), value))
        if " " not in core:
            self.ibans.add(iban(core, self._lower))

    def _is_digits(self, core: str) -> bool:
        return re.fullmatch(rf"(?:[-+]|{CURRENCY})*[0-9][0-9.,']*(?:%|{CURRENCY})*", core) is not None

    def _join_digits(self, breaks: list[bool]) -> set[tuple[int, int]]:
        dropped: set[tuple[int, int]] = set()
        for index in range(1, len(self._chunks)):
            (_, end), (begin, _) = self._chunks[index - 1], self._chunks[index]
            before = [core for core in self._cores[index - 1] if core[1] == end]
            behind = [core for core in self._cores[index] if core[0] == begin]
            if breaks[index] or not before or not behind:
                continue
            left, right = (self.text[slice(*core)] for core in (before[0], behind[0]))
            if not (self._is_digits(left) and self._is_digits(right)):
                continue
            if left[-1:].isascii() and left[-1:].isdigit() and right[:1].isascii() and right[:1].isdigit():
                self.ends.discard(end)
                self.starts.discard(begin)
                dropped |= {before[0], behind[0]}
        return dropped

    def _join_ibans(self) -> set[int]:
        dropped: set[int] = set()
        index = 0
        while index < len(self._chunks):
            count = self._iban_at(index)
            for place in range(index, index + count - 1):
                self.ends.discard(self._chunks[place][1])
                self.starts.discard(self._chunks[place + 1][0])
            dropped |= set(range(index, index + count)) if count else set()
            index += count or 1
        return dropped

    def _iban_at(self, first: int) -> int:
        """The number of groups of the IBAN that begins with a chunk; 0 without one."""
        letter = "a-z" if self._lower else "A-Z"
        head = self._cores[first]
        if len(head) != 1 or head[0][1] != self._chunks[first][1]:
            return 0
        joined = self.text[slice(*head[0])]
        if not re.fullmatch(rf"[{letter}]{{2}}[0-9]{{2}}", joined):
            return 0
        right, plain, words = (0, ""), (0, ""), False
        for count, index in enumerate(range(first + 1, min(first + 9, len(self._chunks))), 2):
            cores = self._cores[index]
            if len(cores) != 1 or cores[0][0] != self._chunks[index][0]:
                break
            group = self.text[slice(*cores[0])]
            if not re.fullmatch(rf"[{letter}0-9]{{1,4}}", group):
                break
            joined += group
            words = words or (count > 2 and not re.search("[0-9]", group))
            if 15 <= len(joined) <= 34:
                right = (count, joined) if is_right(joined) else right
                plain = plain if words else (count, joined)
            if len(group) < 4 or cores[0][1] != self._chunks[index][1]:
                break
        count, joined = right if right[0] else plain
        if count:
            self.ibans.add(joined)
        return count
