"""Random code, and random requests for it: what `frontend.pyrules` could make, and more.

Expressions have a kind that they mostly have to be of, so that functions get somewhere before they raise.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

from msgspec import UNSET

from bobcat.ir import code
from bobcat.ir.obligation import Obligation
from bobcat.model.decision import ActionRequest, ExecutionContext, Principal, ToolMetadata

TEXTS = [
    *("", "a", "ab", "rm -rf /", "a/b/../c", "x@example.com", "Ünïcode ß", "ΑΣ", "10", " 7 ", "-3", "1.5", "nan"),
    *("tab\tnl\n", "A B", "it's", 'say "hi"', "naïve café", "日本", "😀", "\u2028", "ab,cd,,ef", "١", "ǆ", "\x1c."),
    *("TRUE", "a" * 40),
]
NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 3, 7, 10, 100, -5, 2**31, 2**63 - 1, -(2**63), 2**64, 10**30, 0.0, -0.0, 0.5, 1.0, 2.5, -1.5),
    *(1e16, 1e-7, 0.1, 3.0, 1e300, True, False),
]
KEYS = ["a", "b", "n", "s", "items", "user"]
FIELDS = [
    "tool",
    "environment",
    "kind",
    "cost",
    "reversible",
    "scope",
    "step_seq",
    "extra",
    "args",
    "id",
    "name",
    "workspace",
]
SPECS = [
    "",
    "",
    "d",
    ",",
    ".2f",
    ",.1f",
    "5",
    ">6",
    "<6",
    "^7",
    "05",
    "+d",
    ".0f",
    "s",
    ".3",
    "*>8",
    "%",
    ".1%",
    "e",
    ".2e",
]
PATTERNS = [
    "a",
    "^a",
    "a$",
    r"\d+",
    r"^\w+@\w+",
    "(?i)RM",
    r"[a-z]+",
    "",
    r"\s",
    "(a|ab)(c|bcd)?",
    r"^[^/]+$",
    r"\bb\b",
    "a+?",
    "(x)?a",
]
GROUPED = [
    *(
        r"(\w+)@(\w+)\.com",
        r"(a|ab)(c|bcd)?",
        r"(x)?(a)",
        r"(?P<n>\d+)",
        r"([^/]*)/(.*)",
        r"(\w+?)(\w*)$",
        r"(a+?)(a*)",
    ),
    *(
        r"\b(\w)(\w)?",
        r"(?:(a)|(b)|(é))+",
        r"^\s*(\S+)",
        r"((.)(.))",
        r"(-?\d+)(?:\.(\d+))?$",
        r"(.{2,4}?)(.*)",
        r"(?s)(.)\n(.*)",
    ),
]
EXCEPTIONS = [
    "KeyError",
    "TypeError",
    "ValueError",
    "LookupError",
    "Exception",
    "AttributeError",
    "IndexError",
    "ArithmeticError",
]
TYPES = sorted(code.TYPES - {"bytes"})
ASKED = "isdigit isalpha isalnum isspace isupper islower isnumeric isdecimal isascii isprintable istitle isidentifier"
MADE = "lower upper casefold title capitalize swapcase strip lstrip rstrip"
PARTS = "find rfind index rindex count startswith endswith partition rpartition removeprefix removesuffix"
TEXT_METHODS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(f"{ASKED} {MADE} splitlines".split(), ()),
    **dict.fromkeys(f"{PARTS} split rsplit lstrip rstrip".split(), ("text",)),
    "replace": ("text", "text"),
    "zfill": ("small",),
    "join": ("texts",),
}
TEXT_RESULTS = {*MADE.split(), "removeprefix", "removesuffix", "replace", "zfill", "join"}


class Functions:
    """Makes functions out of one source of chance."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.slots = 0
        self.scope: list[int] = []
        self.lists: list[int] = []
        self.in_loop = False

    def function(self) -> tuple[tuple[code.Statement, ...], int]:
        """The body of a function, and how many slots it has."""
        body = self.body(3, 4)
        return (*body, code.Return(self.decide(2))) if self.chance(60) else body, self.slots

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def pick(self, items: Any) -> Any:
        return self.random.choice(items)

    def fresh(self) -> int:
        self.slots += 1
        return self.slots - 1

    # --- statements ---

    def body(self, depth: int, most: int) -> tuple[code.Statement, ...]:
        scope, lists = list(self.scope), list(self.lists)
        body = tuple(self.statement(depth) for _ in range(self.random.randint(1, most)))
        # What a branch assigned may have no value after it: it stays in reach now and then.
        if self.chance(80):
            self.scope, self.lists = scope, lists
        return body

    def statement(self, depth: int) -> code.Statement:
        roll = self.random.randrange(100)
        if depth <= 0 or roll < 30:
            return self.assignment(2)
        if roll < 60:
            return code.If(
                self.code("any", 3), self.body(depth - 1, 2), self.body(depth - 1, 2) if self.chance(40) else ()
            )
        if roll < 70:
            over = self.code("list", 2)
            slot = self.fresh()
            target: code.Target = code.SlotTarget(slot)
            self.scope.append(slot)
            was, self.in_loop = self.in_loop, True
            body = self.body(depth - 1, 2)
            if self.chance(30):
                body += (code.If(self.code("any", 2), (self.pick([code.Break(), code.Continue()]),), ()),)
            self.in_loop = was
            return code.For(target, over, body, self.body(0, 1) if self.chance(20) else ())
        if roll < 78 and self.lists:
            return code.AppendItem(self.pick(self.lists), self.code("any", 2))
        if roll < 86:
            handlers = tuple(
                code.Handler((self.pick(EXCEPTIONS),), self.body(depth - 1, 1))
                for _ in range(self.random.randint(1, 2))
            )
            return code.Try(self.body(depth - 1, 2), handlers, self.body(depth - 1, 1) if self.chance(30) else ())
        if roll < 90:
            return code.Evaluate(self.code("any", 3))
        if roll < 92:
            return code.Raise(self.pick(["KeyError", "ValueError", "RuntimeError", "PermissionError"]))
        return code.Return(self.decide(2) if self.chance(80) else self.pick([code.Constant(None), self.code("any", 2)]))

    def assignment(self, depth: int) -> code.Statement:
        if self.chance(15):
            slot = self.fresh()
            self.lists.append(slot)
            return code.Assign(code.SlotTarget(slot), code.Display("list", ()))
        if self.chance(15):
            targets = (self.fresh(), self.fresh())
            value = self.code("list", depth)
            self.scope += targets
            return code.Assign(code.Unpack(tuple(map(code.SlotTarget, targets))), value)
        value = self.code(self.kind(), depth)
        slot = self.fresh()
        self.scope.append(slot)
        return code.Assign(code.SlotTarget(slot), value)

    def decide(self, depth: int) -> code.Code:
        verdict = self.pick(["allow", "deny", "dry_run", "approve_required", "transform"])
        reason = self.pick(
            [code.Constant("because"), self.text(depth), self.code("any" if self.chance(20) else "text", depth)]
        )
        args: list[tuple[str, code.Code]] = []
        if verdict == "transform":
            args.append(("transform_args", self.code("any" if self.chance(10) else "dict", depth)))
        if verdict == "deny" or self.chance(60):
            args.append(("reason", reason))
        if verdict == "approve_required":
            args.append(
                ("timeout_seconds", self.pick([code.Constant(60), code.Constant(None), self.code("number", 1)]))
            )
            if self.chance(50):
                args.append(("approvers", self.pick([code.Constant({"tuple": ["a", "b"]}), self.code("list", depth)])))
        if self.chance(10):
            args.append(
                ("matched_rules", self.pick([code.Constant({"tuple": ["f"]}), code.Constant({"tuple": ["x", "y"]})]))
            )
        duties = (Obligation("reserve", "before", [1]), Obligation("notify", "after", {"map": {"to": "ann"}}))
        return code.MakeDecision(verdict, tuple(args), duties[: self.pick([1, 2])] if self.chance(10) else UNSET)

    # --- expressions ---

    def few(self, count: int) -> tuple[code.Code, ...]:
        """Small constants: what is repeated, or raised to a power, by a number of a request takes CPython for ever."""
        return tuple(code.Constant(self.pick([0, 1, 2, 3, -1, -2, True])) for _ in range(count))

    def kind(self) -> str:
        return str(self.pick(["text", "text", "number", "bool", "list", "dict", "small"]))

    def code(self, kind: str, depth: int) -> code.Code:
        if self.chance(6):
            kind = "any"
        if kind == "any":
            kind = self.kind() if depth > 0 else "text"
            if self.chance(5):
                return code.Constant(None)
        if self.scope and self.chance(15):
            return code.Local(self.pick(self.scope))
        if depth <= 0:
            return self.leaf(kind)
        if self.chance(6):
            return code.IfElse(self.code("any", depth - 1), self.code(kind, depth - 1), self.code(kind, depth - 1))
        if self.chance(4):
            slot = self.fresh()
            bound = code.Bind(slot, self.code(kind, depth - 1))
            self.scope.append(slot)
            return bound
        if self.chance(4):
            return self.pick([code.And, code.Or])((self.code(kind, depth - 1), self.code(kind, depth - 1)))
        if self.chance(3):
            return self.inline(kind, depth)
        made: code.Code = getattr(self, f"{kind}_code")(depth - 1)
        return made

    def inline(self, kind: str, depth: int) -> code.Code:
        values = tuple(self.code(kind, depth - 1) for _ in range(self.random.randint(1, 2)))
        parameters = tuple((self.fresh(), value) for value in values)
        scope, lists = self.scope, self.lists
        self.scope, self.lists = [slot for slot, _ in parameters], []
        body: tuple[code.Statement, ...] = (
            code.If(self.closed("any", 2), (code.Return(self.closed(kind, 2)),), ()),
            code.Return(self.closed(kind, 1)),
        )
        self.scope, self.lists = scope, lists
        return code.Inline(parameters, body)

    def closed(self, kind: str, depth: int) -> code.Code:
        """Code that binds nothing: what it would bind has no value at the next call of an inlined function."""
        while True:
            slots = self.slots
            scope = list(self.scope)
            made = self.code(kind, depth)
            if self.slots == slots:
                return made
            self.scope = scope

    def leaf(self, kind: str) -> code.Code:
        if self.chance(50):
            return self.read(kind)
        match kind:
            case "text":
                return code.Constant(self.pick(TEXTS))
            case "number":
                return code.Constant(self.pick(NUMBERS))
            case "small":
                return code.Constant(self.pick([0, 1, 2, 3, -1, -2, 5]))
            case "bool":
                return code.Constant(self.pick([True, False]))
            case "list":
                items = [self.pick(TEXTS + NUMBERS) for _ in range(self.random.randint(0, 3))]
                return code.Constant(self.pick([items, {"tuple": items}]))
            case "texts":
                return code.Constant([self.pick(TEXTS) for _ in range(self.random.randint(0, 3))])
            case _:
                return code.Constant(
                    {"pairs": [[key, self.pick(TEXTS + NUMBERS)] for key in KEYS[: self.random.randint(0, 3)]]}
                )

    def read(self, kind: str) -> code.Code:
        args = code.Attribute(code.Root("request"), "args")
        key = code.Constant(
            {"text": "s", "number": "n", "small": "n", "list": "items", "texts": "items", "dict": "user"}.get(kind, "b")
        )
        if self.chance(25):
            key = code.Constant(self.pick(KEYS))
        if self.chance(25):
            return self.field(kind)
        if self.chance(40):
            return code.Item(args, key)
        default = () if self.chance(40) else (code.Constant(self.pick([None, "", 0, "x"])),)
        return code.Method(args, "get", (key, *default))

    def field(self, kind: str) -> code.Code:
        request, context = code.Root("request"), code.Root("context")
        if self.chance(30):
            context = code.Attribute(request, "context")  # type: ignore[assignment]
        fields = {
            "text": [("tool", request), ("environment", context), ("workspace", context)],
            "number": [("step_seq", context)],
            "small": [("step_seq", context)],
            "bool": [("reversible", code.Attribute(request, "declared"))],
            "list": [("scope", code.Attribute(request, "declared"))],
            "texts": [("scope", code.Attribute(request, "declared"))],
            "dict": [("args", request), ("extra", context)],
        }
        name, of = self.pick(fields[kind])
        if kind == "text" and self.chance(30):
            return code.Attribute(code.Attribute(context, "principal"), self.pick(["kind", "id", "name"]))
        if kind == "number" and self.chance(30):
            return code.Attribute(
                code.Attribute(context, "timestamp"), self.pick(["hour", "year", "minute", "day", "microsecond"])
            )
        return code.Attribute(of, name)

    def text(self, depth: int) -> code.Code:
        parts: list[str | code.Shown] = []
        for _ in range(self.random.randint(1, 3)):
            parts.append(self.pick(TEXTS))
            spec = self.pick(SPECS) if self.chance(50) else ""
            parts.append(code.Shown(self.code("any", depth - 1), self.pick(["", "", "", "r", "s", "a"]), spec))
        return code.Text(tuple(parts))

    def text_code(self, depth: int) -> code.Code:
        roll = self.random.randrange(100)
        if roll < 25:
            return self.text(depth)
        if roll < 35:
            return code.Binary("add", self.code("text", depth), self.code("text", depth))
        if roll < 45:
            return self.sliced("text", depth)
        if roll < 52:
            return code.Item(self.code(self.pick(["text", "texts"]), depth), self.code("small", depth))
        if roll < 58:
            return code.CallFunction(self.pick(["str", "repr"]), (self.code("any", depth),))
        if roll < 60:
            return code.Binary("mul", self.code("text", depth), *self.few(1))
        if roll < 82:
            return self.text_method(self.pick(sorted(TEXT_RESULTS)), depth)
        if roll < 88:
            return self.matched(depth, self.pick(["group", "group", "item"]))
        return self.leaf("text")

    def matched(self, depth: int, method: str) -> code.Code:
        """A part of what a pattern found, or nothing."""
        how = self.pick(["search", "match", "fullmatch"])
        slot = self.fresh()
        found = code.Bind(slot, code.Regex(how, self.pick(GROUPED), self.pick([0, 2]), self.code("text", depth)))
        group = code.Constant(self.pick([0, 1, 1, 2, "n", 5]))
        if method == "item":
            part: code.Code = code.Item(code.Local(slot), group)
        else:
            part = code.Method(code.Local(slot), method, (group,) if method == "group" and self.chance(70) else ())
        return code.IfElse(found, part, code.Constant("")) if self.chance(90) else part

    def sliced(self, kind: str, depth: int) -> code.Code:
        bounds = [self.code("small", depth) if self.chance(60) else None for _ in range(3)]
        return code.Slice(self.code(kind, depth), *bounds)

    def text_method(self, name: str, depth: int) -> code.Code:
        args = [*self.few(1)] if name == "zfill" else [self.code(kind, depth) for kind in TEXT_METHODS[name]]
        if name in {"find", "count", "startswith", "endswith", "index", "rfind"} and self.chance(30):
            args += [self.code("small", depth) for _ in range(self.random.randint(1, 2))]
        if name in {"split", "rsplit", "replace"} and args and self.chance(30):
            args.append(self.code("small", depth))
        return code.Method(self.code("text", depth), name, tuple(args))

    def number_code(self, depth: int) -> code.Code:
        roll = self.random.randrange(100)
        if roll < 45:
            operator = self.pick(["add", "sub", "mul", "div", "floordiv", "mod", "pow", "and", "or", "xor"])
            if operator == "pow":
                return code.Binary("pow", code.Constant(self.pick(NUMBERS)), *self.few(1))
            if operator == "mul":
                return code.Binary(
                    "mul", self.code("number", depth), code.Constant(self.pick([0, -1, 3, 7, 0.5, 1e300, True]))
                )
            right = self.code("number", depth)
            return code.Binary(operator, self.code("number", depth), right)
        if roll < 52:
            return code.Unary(self.pick(["neg", "pos", "invert"]), self.code("number", depth))
        if roll < 62:
            return code.CallFunction("len", (self.code(self.pick(["text", "list", "dict"]), depth),))
        if roll < 70:
            return code.CallFunction(
                self.pick(["int", "float", "abs", "round"]), (self.code(self.pick(["number", "text"]), depth),)
            )
        if roll < 74:
            return code.CallFunction("round", (self.code("number", depth), *self.few(1)))
        if roll < 80:
            return code.CallFunction(self.pick(["sum", "min", "max"]), (self.code("list", depth),))
        if roll < 84:
            return code.CallFunction(
                self.pick(["min", "max"]), (self.code("number", depth), self.code("number", depth))
            )
        if roll < 90:
            return self.text_method(self.pick(["find", "count", "rfind", "index", "rindex"]), depth)
        if roll < 94:
            return self.collected(self.pick(["sum", "min", "max", "first"]), depth)
        return self.leaf("number")

    small_code = number_code

    def bool_code(self, depth: int) -> code.Code:
        roll = self.random.randrange(100)
        if roll < 40:
            return self.comparison(depth)
        if roll < 50:
            return code.NotTrue(self.code("any", depth))
        if roll < 58:
            return code.IsInstance(self.code("any", depth), tuple(self.random.sample(TYPES, self.random.randint(1, 3))))
        if roll < 66:
            how, flags = self.pick(["search", "match", "fullmatch"]), self.pick([0, 0, 2, 8, 256])
            found = code.Regex(how, self.pick(PATTERNS), flags, self.code("text", depth))
            return code.Compare(found, ("is_not",), (code.Constant(None),)) if self.chance(50) else code.NotTrue(found)
        if roll < 84:
            return self.text_method(self.pick(sorted(set(TEXT_METHODS) - TEXT_RESULTS)), depth)
        if roll < 88:
            return code.CallFunction(self.pick(["bool", "any", "all"]), (self.code("list", depth),))
        if roll < 96:
            return self.collected(self.pick(["any", "all"]), depth)
        return self.leaf("bool")

    def comparison(self, depth: int) -> code.Code:
        operators = self.random.choices(
            ["eq", "ne", "lt", "le", "gt", "ge", "in", "not_in"], k=1 if self.chance(80) else 2
        )
        kind = self.pick(["text", "number", "number", "list", "dict", "any"])
        first = self.code(kind, depth)
        others = []
        for operator in operators:
            if operator in ("in", "not_in"):
                kind = self.pick(["text", "list", "dict"]) if kind == "text" else "list"
            others.append(self.code(kind, depth))
        if self.chance(10):
            return code.Compare(first, (self.pick(["is", "is_not"]),), (code.Constant(self.pick([None, True, False])),))
        return code.Compare(first, tuple(operators), tuple(others))

    def list_code(self, depth: int) -> code.Code:
        roll = self.random.randrange(100)
        if roll < 25:
            items = tuple(self.code("any", depth) for _ in range(self.random.randint(0, 3)))
            return code.Display(self.pick(["list", "tuple"]), items)
        if roll < 40:
            return self.text_method(self.pick(["split", "rsplit", "splitlines", "partition", "rpartition"]), depth)
        if roll < 50:
            return code.CallFunction(
                self.pick(["sorted", "list", "tuple"]), (self.code(self.pick(["list", "text"]), depth),)
            )
        if roll < 58:
            return code.CallFunction(
                "list", (code.Method(self.code("dict", depth), self.pick(["keys", "values", "items"]), ()),)
            )
        if roll < 64:
            return code.CallFunction(
                "list",
                (code.CallFunction("range", (code.CallFunction("len", (self.code("text", depth),)), *self.few(1))),),
            )
        if roll < 70:
            name = self.pick(["enumerate", "reversed"])
            return code.CallFunction("list", (code.CallFunction(name, (self.code("list", depth),)),))
        if roll < 74:
            return code.CallFunction(
                "list", (code.CallFunction("zip", (self.code("list", depth), self.code("text", depth))),)
            )
        if roll < 80:
            return self.sliced("list", depth)
        if roll < 84:
            if self.chance(50):
                return code.Binary("mul", self.code("list", depth), *self.few(1))
            return code.Binary("add", self.code("list", depth), self.code("list", depth))
        if roll < 92:
            return self.collected("list", depth)
        if roll < 96:
            return self.matched(depth, self.pick(["groups", "span"]))
        return self.leaf("list")

    texts_code = list_code

    def dict_code(self, depth: int) -> code.Code:
        roll = self.random.randrange(100)
        if roll < 55:
            entries = tuple(
                (None, self.code("dict", depth)) if self.chance(30) else (self.code("text", 0), self.code("any", depth))
                for _ in range(self.random.randint(0, 3))
            )
            return code.Mapping(entries)
        if roll < 75:
            return self.collected("dict", depth)
        if roll < 80:
            return code.CallFunction("dict", (self.code("dict", depth),))
        return self.leaf("dict")

    def collected(self, kind: Any, depth: int) -> code.Code:
        scope = list(self.scope)
        loops = []
        for _ in range(1 if self.chance(85) else 2):
            over = self.closed("list", depth)
            slot = self.fresh()
            self.scope = [*self.scope, slot]
            conditions = tuple(self.closed("any", depth) for _ in range(self.random.randint(0, 1)))
            loops.append(code.Loop(code.SlotTarget(slot), over, conditions))
        value = self.closed("number" if kind in ("sum", "min", "max") else "any", depth)
        key = self.closed("text", depth) if kind == "dict" else None
        self.scope = scope
        default = code.Constant(None) if kind == "first" or (kind in ("min", "max") and self.chance(50)) else None
        return code.Collect(kind, key, value, tuple(loops), default)


# --- requests ---


def request(random: Random) -> ActionRequest:
    """A request, for the code that `Functions` makes."""

    def value(depth: int) -> Any:
        roll = random.randrange(100)
        if roll < 40:
            return random.choice(TEXTS)
        if roll < 70:
            return random.choice(NUMBERS)
        if roll < 75 or depth <= 0:
            return None
        if roll < 88:
            return [value(depth - 1) for _ in range(random.randint(0, 4))]
        return {random.choice(KEYS): value(depth - 1) for _ in range(random.randint(0, 3))}

    usual: dict[str, Any] = {
        "s": lambda: random.choice(TEXTS),
        "n": lambda: random.choice(NUMBERS),
        "items": lambda: [value(1) for _ in range(random.randint(0, 4))],
        "user": lambda: {random.choice(KEYS): value(1) for _ in range(random.randint(0, 3))},
    }
    args = {
        key: usual.get(key, lambda: value(2))() if random.randrange(5) else value(2)
        for key in KEYS
        if random.randrange(4)
    }
    return ActionRequest(
        random.choice(["a", "shell", "payments.refund"]),
        args,
        ToolMetadata(
            random.choice(["low", "high"]),
            random.choice([True, False]),
            tuple(random.sample(["fs", "net"], random.randint(0, 2))),
        ),
        ExecutionContext(
            Principal("user", random.choice(TEXTS), random.choice([None, "Ann"])),
            random.choice(["dev", "prod"]),
            "/w",
            "c",
            random.randint(0, 9),
            datetime(
                2026,
                random.randint(1, 12),
                random.randint(1, 28),
                random.randint(0, 23),
                30,
                tzinfo=timezone(timedelta(hours=2)),
            ),
            {"team": random.choice(TEXTS)},
        ),
    )
