"""Reader of the policies and traces of Dogwood, as far as the corpus uses them.

A formula is a tuple with its kind first: `pred`, `cmp`, `not`, `and`, `formerly`, `previous`, `since`, `exists`, `tp`.
A term is `lit`, `ctx`, `scope`, `var`, `any` or `agg`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

TOKEN = re.compile(r'\s+|//[^\n]*|("(?:\\.|[^"\\])*"|-?\d+\.\d+|\d+|[A-Za-z_]\w*|::|&&|\|\||[<>=!]=|.)', re.DOTALL)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

Node = Any  # Any: a formula or a term, a tuple of its kind and its parts


class Unreadable(Exception):
    """A construct outside of this reader; the argument names its class."""


@dataclass(frozen=True)
class Rule:
    """A policy: its effect, its action, or an empty one, and its conditions, each with true for `unless`."""

    effect: str
    action: str
    conditions: tuple[tuple[bool, Node], ...]


@dataclass(frozen=True)
class Point:
    """One time point of a trace."""

    at: int
    principal: Any
    resource: Any
    context: dict[str, Any]
    action: str
    kind: str
    fields: dict[str, Any]


class Reader:
    """Tokens of one text, with the position."""

    def __init__(self, text: str) -> None:
        self.tokens = [found[1] for found in TOKEN.finditer(text) if found[1] is not None]
        self.at = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = self.next
        if wanted and token not in wanted:
            raise Unreadable(f"syntax: `{token}` where `{wanted[0]}` is expected")
        self.at += 1
        return token

    def took(self, token: str) -> bool:
        if self.next == token:
            self.at += 1
            return True
        return False

    def looks(self, *tokens: str) -> bool:
        return self.tokens[self.at : self.at + len(tokens)] == list(tokens)

    def text(self) -> str:
        return unescaped(self.take())

    def name(self) -> str:
        """A qualified name, with the quoted id at its end if it has one."""
        parts = [self.take()]
        while self.next == "::":
            self.take()
            parts.append(self.take())
            if parts[-1].startswith('"'):
                parts[-1] = f'"{unescaped(parts[-1])}"'
                break
        return "::".join(parts)

    # --- policies ---

    def rules(self) -> list[Rule]:
        found = []
        while self.next:
            if self.next in ("def", "@"):
                raise Unreadable("macros and annotations")
            found.append(self.rule())
        return found

    def rule(self) -> Rule:
        effect = self.take("permit", "forbid")
        self.take("(")
        self.plain("principal")
        self.take(",")
        self.take("action")
        action = ""
        if self.took("=="):
            action = self.name()
        elif self.next != ",":
            raise Unreadable("groups of actions")
        self.take(",")
        self.plain("resource")
        self.took(",")
        self.take(")")
        conditions = []
        while not self.took(";"):
            unless = self.take("when", "unless") == "unless"
            if not self.took("temporal"):
                raise Unreadable("conditions of Cedar beside temporal ones")
            self.take("{")
            conditions.append((unless, self.formula()))
            self.take("}")
        return Rule(effect, action, tuple(conditions))

    def plain(self, word: str) -> None:
        self.take(word)
        if self.next not in (",", ")"):
            raise Unreadable("scopes of principals and resources")

    # --- formulas ---

    def formula(self) -> Node:
        items = [self.since()]
        while self.took("&&"):
            items.append(self.since())
        return items[0] if len(items) == 1 else ("and", *items)

    def since(self) -> Node:
        negations = 0
        while self.took("!"):
            negations += 1
        left = self.conjunct()
        left = ("not", left) if negations % 2 else left
        if self.took("since"):
            window = self.window()
            return ("since", window, left, self.conjunct())
        return left

    def window(self) -> int:
        self.take("within")
        return int(self.take()) * UNITS[self.take()]

    def conjunct(self) -> Node:
        word = self.next
        if word in ("formerly", "previous"):
            self.take()
            return (word, self.window(), self.conjunct())
        if word == "exists":
            self.take()
            variable = self.binder()
            self.take(".")
            return ("exists", variable[0], self.formula())
        if self.looks("tp", "("):
            self.at += 2
            variable = self.take()
            self.take(")")
            return ("tp", variable)
        start = self.at
        if word == "(":
            try:
                self.take()
                inner = self.formula()
                self.take(")")
                if self.next not in COMPARISONS:
                    return inner
            except Unreadable:
                pass
            self.at = start
        left = self.term()
        if left[0] == "lit" and self.looks("::"):
            return self.predicate(str(left[1]))
        operator = self.take(*COMPARISONS)
        return ("cmp", left, COMPARISONS[operator], self.term())

    def predicate(self, action: str) -> Node:
        self.take("::")
        kind = self.take()
        fields = []
        while self.took("{"):
            while not self.took("}"):
                path = [self.take()]
                while self.took("."):
                    path.append(self.take())
                self.take(":")
                fields.append((tuple(path), self.term()))
                self.took(",")
        return ("pred", action, kind, tuple(fields))

    def binder(self) -> tuple[str, str]:
        self.take("(")
        variable = self.take()
        self.take(":")
        kind = self.name()
        self.take(")")
        return variable, kind

    def term(self) -> Node:
        word = self.next
        if word == "(":
            self.take()
            found = self.term()
            self.take(")")
            return found
        if self.looks("count", "for") or (word == "sum" and self.tokens[self.at + 2 : self.at + 3] == ["for"]):
            return self.aggregate()
        if word == "context":
            return ("ctx", self.path())
        if word in ("principal", "resource"):
            return ("scope", self.path())
        if word in ("_", "*"):
            self.take()
            return ("any",)
        if word == "decimal":
            self.take()
            self.take("(")
            number = Decimal(self.text())
            self.take(")")
            return ("lit", number)
        if word == "[" or word == "?":
            raise Unreadable("arrays and parameters")
        if word == "-" or re.fullmatch(r"-?\d+(\.\d+)?|true|false|\".*\"", word, re.DOTALL):
            return ("lit", self.value())
        if self.tokens[self.at + 1 : self.at + 2] == ["::"]:
            return ("lit", self.name())
        return ("var", self.take())

    def path(self) -> tuple[str, ...]:
        path = [self.take()]
        while self.took("."):
            path.append(self.take())
        return tuple(path)

    def aggregate(self) -> Node:
        kind = self.take("count", "sum")
        summed = "" if kind == "count" else self.take()
        self.take("for")
        binders = [self.binder()]
        while self.took(","):
            binders.append(self.binder())
        self.take(".")
        self.take("where")
        return ("agg", kind, summed, tuple(binders), self.formula())

    # --- values and traces ---

    def value(self) -> Any:
        word = self.next
        if word == "-":
            self.take()
            return -self.value()
        if word == "{":
            return self.fields("{", "}")
        if word == "[":
            self.take()
            items = []
            while not self.took("]"):
                items.append(self.value())
                self.took(",")
            return items
        if word.startswith('"'):
            return self.text()
        if re.fullmatch(r"-?\d+\.\d+", word):
            return Decimal(self.take())
        if word.isdigit():
            return int(self.take())
        if word in ("true", "false"):
            return self.take() == "true"
        if word == "decimal":
            return self.term()[1]
        return self.name()

    def fields(self, opening: str, closing: str) -> dict[str, Any]:
        self.take(opening)
        found: dict[str, Any] = {}
        while not self.took(closing):
            name = self.take()
            self.take(":")
            found[unescaped(name) if name.startswith('"') else name] = self.value()
            self.took(",")
        return found

    def point(self) -> Point:
        self.take("@")
        at = int(self.take())
        scope: dict[str, Any] = {}
        context: dict[str, Any] = {}
        if self.took("scope"):
            scope = self.fields("(", ")")
        if self.next == "entities":
            raise Unreadable("attributes of entities")
        if self.took("request_context"):
            context = self.fields("(", ")")
        action = self.name()
        self.take("::")
        kind = self.take()
        return Point(at, scope.get("principal"), scope.get("resource"), context, action, kind, self.fields("(", ")"))


def unescaped(quoted: str) -> str:
    """The text of a quoted string."""
    simple = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

    def decode(found: re.Match[str]) -> str:
        if found[1] is not None:
            return chr(int(found[1].replace("_", ""), 16))
        if found[2] is not None:
            return chr(int(found[2], 16))
        return simple.get(found[3], found[3])

    return re.sub(r"\\(?:u\{([0-9a-fA-F_]+)\}|x([0-9a-fA-F]{2})|(.))", decode, quoted[1:-1], flags=re.DOTALL)


def trace_of(text: str) -> list[Point]:
    """The time points of a trace."""
    return [Reader(line).point() for line in text.splitlines() if line.strip()]
