"""Python rules made up from a grammar of the subset that is lowered: text of modules, from seeds.

Expressions are made for a type, and now and then for another one, so that exceptions happen too.
"""

from __future__ import annotations

import linecache
import types
import warnings
from random import Random
from typing import Any

HEADER = """\
import math
import re
from bobcat import allow, approve_required, deny, dry_run, transform

WORDS = ("rm", "ls", "a", "\U0001f600")
LIMITS = {"low": 1, "high": 500, 5: 2.5}
ALLOWED = frozenset({"a", "b", "ls", 5})
PATTERN = re.compile(r"(\\w+)[ /](\\w+)?")
FLAG = True
BIG = 10**30


def plus(x, y=1):
    return x + y


def shorten(text, *, most=4):
    if len(text) > most:
        return text[:most] + "..."
    return text


def total(xs):
    made = 0
    for x in xs:
        if isinstance(x, bool):
            continue
        if not isinstance(x, (int, float)):
            break
        made += x
    else:
        made = made + 1
    return made


"""

ARGS = ["path", "cmd", "to", "amount", "size", "items", "ids", "xs", "customer", "lines", "missing", "n", "total"]
STR_METHODS = ["lower()", "upper()", "strip()", "title()", "swapcase()", "casefold()", "capitalize()", "lstrip('/ ')",
               "removeprefix('a')", "removesuffix('s')", "replace('a', 'bb')", "zfill(6)", "rstrip('x')"]  # fmt: skip
STR_TESTS = ["isdigit()", "isalpha()", "isupper()", "isspace()", "startswith('/')", "endswith(('a', 's'))",
             "istitle()", "isascii()", "startswith(WORDS)"]  # fmt: skip
PATTERNS = [r"a+", r"^\w", r"(?i)RM", r"\d{2,}", r"[^a-z]$", r"(\w)(\w)?", r"x|y$"]
SPECS = ["", "", ":>8", ":.2f", ":d", ":,", "!r", "!s", ":05d", "!r:>10", ":e", "!s:.3"]


class _Writer:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.names: list[str] = []
        self.lists: list[str] = []
        self.dicts: list[str] = []
        self.count = 0
        self.in_loop = 0

    def pick(self, *choices: Any) -> Any:
        """One of the choices; those that take work are functions, and only the chosen one does the work."""
        chosen = self.rng.choice(choices)
        return chosen() if callable(chosen) else chosen

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    # --- expressions ---

    def any(self, depth: int) -> str:
        kind = self.pick("num", "str", "list", "dict", "bool", "arg", "arg", "name")
        return self.of(kind, depth)

    def of(self, kind: str, depth: int) -> str:
        if self.rng.random() < 0.07 and depth > 0:
            kind = self.pick("num", "str", "list", "dict", "bool", "arg")
        if kind == "name":
            return self.rng.choice(self.names) if self.names else self.of("arg", depth)
        text: str = getattr(self, f"_{kind}")(depth)
        return text

    def _arg(self, depth: int) -> str:
        key = self.rng.choice(ARGS)
        return self.pick(
            lambda: f"req.args.get({key!r})",
            lambda: f"req.args.get({key!r}, {self.of(self.pick('num', 'str', 'list'), 0)})",
            lambda: f"req.args[{key!r}]",
            "req.tool",
            "ctx.environment",
            "ctx.step_seq",
            "ctx.timestamp.hour",
            "ctx.principal.name",
            "req.declared.scope",
            "ctx.extra.get('scopes', [])",
        )

    def _num(self, depth: int) -> str:
        if depth <= 0:
            return str(self.pick("0", "1", "2", "-1", "7", "0.5", "1e3", "BIG", "True", "2.0", "-3", "ctx.step_seq"))
        one, other = self.of("num", depth - 1), self.of("num", depth - 1)
        return self.pick(
            lambda: f"({one} + {other})",
            lambda: f"({one} - {other})",
            lambda: f"({one} * {other})",
            lambda: f"({one} // {other})",
            lambda: f"({one} / {other})",
            lambda: f"(len({self.of('str', depth - 1)}) % {other})",
            lambda: f"-{one}",
            lambda: f"abs({one})",
            lambda: f"len({self.of(self.pick('str', 'list', 'dict', 'arg'), depth - 1)})",
            lambda: f"int({self.of(self.pick('num', 'str'), depth - 1)})",
            lambda: f"float({one})",
            lambda: f"round({one}, 2)",
            lambda: f"round({one})",
            lambda: f"sum({self.of('list', depth - 1)})",
            lambda: f"min({one}, {other})",
            lambda: f"max({self.of('list', depth - 1)}, default=0)",
            lambda: f"({one} if {self.of('bool', depth - 1)} else {other})",
            lambda: f"{self.of('str', depth - 1)}.find('a')",
            lambda: f"{self.of('str', depth - 1)}.count('a')",
            lambda: f"plus({one})",
            lambda: f"plus({one}, {other})",
            lambda: f"plus(y={one}, x={other})",
            lambda: f"total({self.of('list', depth - 1)})",
            lambda: f"LIMITS[{self.pick(repr('low'), repr('high'), '5', self.of('str', depth - 1))}]",
            lambda: f"({one} & 7)",
            lambda: f"({one} | {other})",
            lambda: f"({one} ** 2)",
            lambda: f"sum(x for x in {self.of('list', depth - 1)} if x)",
            lambda: f"({one} % {self.pick('2', '0', '-3', '0.5')})",
            lambda: f"divmod({one}, {other})[{self.pick('0', '1')}]",
            lambda: f"pow({one}, {self.pick('2', '0', '-1')})",
            lambda: f"math.{self.pick('floor', 'ceil', 'isnan', 'isinf', 'isfinite')}({one})",
            lambda: f"{self.pick('max', 'min')}({self.of('list', depth - 1)}, key={self.of_key(depth)})",
        )

    def _str(self, depth: int) -> str:
        if depth <= 0:
            return str(self.pick("''", "'a'", "'rm -rf'", "'/srv/x'", "'é\U0001f600'", "'12'", "req.tool", "'A b'",
                                 "ctx.environment", "'a,b,,c'"))  # fmt: skip
        one = self.of("str", depth - 1)
        index = self.pick("0", "-1", "1", self.of("num", 0))
        return self.pick(
            lambda: f"{one}.{self.rng.choice(STR_METHODS)}",
            lambda: f"({one} + {self.of('str', depth - 1)})",
            lambda: f"({one} * {self.pick('2', '0', self.of('num', 0))})"[:60],
            lambda: f"{one}[{index}]",
            lambda: f"{one}[{self.pick('', '1', '-3')}:{self.pick('', '2', '-1')}]",
            lambda: f"{one}[::-1]",
            lambda: f"str({self.any(depth - 1)})",
            lambda: f"repr({self.any(depth - 1)})",
            lambda: f"', '.join({self.of('list', depth - 1)})",
            lambda: f"'-'.join(str(x) for x in {self.of('list', depth - 1)})",
            lambda: self._text(depth),
            lambda: self._text(depth),
            lambda: f"shorten({one})",
            lambda: f"shorten({one}, most={self.of('num', 0)})",
            lambda: f"{one}.partition('/')[2]",
            lambda: f"({one} or {self.of('str', depth - 1)})",
            lambda: f"({one} if {self.of('bool', depth - 1)} else {self.of('str', depth - 1)})",
            lambda: f"next((x for x in {self.of('list', depth - 1)} if x), 'none')",
            lambda: f"next(iter({self.of('list', depth - 1)}), 'none')",
            lambda: f"'{{}} of {{1:>4}}'.format({one}, {self.any(depth - 1)})".replace("{}", "{0!r:<5}"),
            lambda: f"'{{}}{{x!s:.3}}'.format({one}, x={self.any(depth - 1)})",
            lambda: f"'%s/%r%%' % ({one}, {self.any(depth - 1)})",
            lambda: f"'%s' % {self.of(self.pick('str', 'arg', 'num'), 0)}",
            lambda: f"'%d.%.1f' % ({self.of('num', depth - 1)}, {self.of('num', depth - 1)})",
            lambda: f"ascii({one})",
            lambda: f"str.upper({self.any(depth - 1)})",
        )

    def _text(self, depth: int) -> str:
        parts = [
            "{" + self.any(depth - 1).replace('"', "'") + self.rng.choice(SPECS) + "}"
            for _ in range(self.rng.randrange(1, 3))
        ]
        text = "is ".join(["", *parts])
        written = f'f"{text}"'
        return written if _compiles(written) else repr("text")

    def _list(self, depth: int) -> str:
        if depth <= 0:
            return str(self.pick("[]", "[1, 2]", "['a', 'b']", "WORDS", "[1, 'a', None]", "(1, 2.5)", "['ls', 5]"))
        one = self.of("list", depth - 1)
        return self.pick(
            lambda: f"[{self.any(depth - 1)}, {self.any(depth - 1)}]",
            lambda: f"({self.any(depth - 1)}, {self.any(depth - 1)})",
            lambda: f"[x for x in {one}]",
            lambda: f"[x for x in {one} if isinstance(x, (int, str))]",
            lambda: f"[(i, x) for i, x in enumerate({one})]",
            lambda: f"[len(x) for x in {one} if x is not None]",
            lambda: f"sorted({one})",
            lambda: f"sorted({one}, reverse=True)",
            lambda: f"list(reversed({one}))",
            lambda: f"list({self.of(self.pick('str', 'dict'), depth - 1)})",
            lambda: f"({one} + {self.of('list', depth - 1)})",
            lambda: f"{self.of('str', depth - 1)}.split({self.pick('', repr(' '), repr('/'), repr(',') + ', 1')})",
            lambda: f"{one}[{self.pick('1:', ':1', '::2', ':-1')}]",
            lambda: f"[*{one}, {self.any(depth - 1)}]",
            lambda: f"list({self.of('dict', depth - 1)}.values())",
            lambda: f"[k for k, v in {self.of('dict', depth - 1)}.items() if v]",
            lambda: f"list(zip({one}, {self.of('list', depth - 1)}))",
            lambda: f"sorted({{x for x in {one}}})",
            lambda: f"[a for b in {one} for a in (b, 1)]",
            lambda: f"list(range({self.pick('3', self.of('num', 0) if self.rng.random() < 0.1 else '2')}))",
            lambda: f"list(map(str, {one}))",
            lambda: f"list(map(str.strip, {one}))",
            lambda: f"sorted({one}, key={self.of_key(depth)})",
            lambda: f"sorted({one}, key={self.of_key(depth)}, reverse=True)",
            lambda: f"sorted({self.of('dict', depth - 1)}.keys() {self.pick('-', '&', '|', '^')} {one})",
        )

    def of_key(self, depth: int) -> str:
        return str(self.pick("str", "len", "shorten", "lambda x: -x", "lambda x: (str(x), x)",
                             f"lambda x: x == {self.any(0)}", "lambda x: x[0]"))  # fmt: skip

    def _dict(self, depth: int) -> str:
        if depth <= 0:
            return str(self.pick("{}", "{'a': 1}", "LIMITS", "req.args", "ctx.extra", "{'x': 'y', 'z': None}"))
        return self.pick(
            lambda: f"{{{self.of('str', 0)}: {self.any(depth - 1)}}}",
            lambda: f"{{**{self.of('dict', depth - 1)}, 'k': {self.any(depth - 1)}}}",
            lambda: f"{{k: v for k, v in {self.of('dict', depth - 1)}.items() if v}}",
            lambda: f"{{x: 1 for x in {self.of('list', depth - 1)}}}",
            lambda: f"dict(a={self.any(depth - 1)})",
            lambda: f"({self.of('dict', depth - 1)} | {{'z': 1}})",
        )

    def _bool(self, depth: int) -> str:
        if depth <= 0:
            return str(self.pick("True", "False", "FLAG", "req.declared.reversible", "req.tool", "None", "[]"))
        one = self.any(depth - 1)
        return self.pick(
            lambda: f"({self.of('bool', depth - 1)} and {self.of('bool', depth - 1)})",
            lambda: f"({self.of('bool', depth - 1)} or {self.of('bool', depth - 1)})",
            lambda: f"not {self.of('bool', depth - 1)}",
            lambda: (
                f"({self.of('num', depth - 1)} {self.pick('<', '<=', '>', '>=', '==', '!=')} "
                f"{self.of('num', depth - 1)})"
            ),
            lambda: f"({self.of('str', depth - 1)} {self.pick('<', '>', '==', '!=')} {self.of('str', depth - 1)})",
            lambda: f"({self.of('num', 0)} <= {self.of('num', depth - 1)} < {self.of('num', 0)})",
            lambda: f"({one} == {self.any(depth - 1)})",
            lambda: f"({one} in {self.of(self.pick('list', 'dict', 'str'), depth - 1)})",
            lambda: f"({one} not in {self.of('list', depth - 1)})",
            lambda: f"({self.of('str', depth - 1)} in ALLOWED)",
            lambda: f"({one} is {self.pick('', 'not ')}None)",
            lambda: (
                f"isinstance({one}, {self.pick('str', 'int', '(int, float)', 'bool', 'list', 'dict', 'str | None')})"
            ),
            lambda: f"{self.of('str', depth - 1)}.{self.rng.choice(STR_TESTS)}",
            lambda: f"any(x == {self.any(0)} for x in {self.of('list', depth - 1)})",
            lambda: f"all(isinstance(x, str) for x in {self.of('list', depth - 1)})",
            lambda: f"any({self.of('list', depth - 1)})",
            lambda: f"bool({one})",
            lambda: (
                f"(type({one}) {self.pick('is', 'is not', '==')} "
                f"{self.pick('int', 'str', 'float', 'bool', 'type(None)')})"
            ),
            lambda: f"(type({one}) in (int, str))",
            lambda: f"hasattr(ctx, {self.pick(repr('environment'), repr('nothing'))})",
            lambda: f"(getattr(req, {self.pick(repr('tool'), repr('nothing'))}, 'q') == 't')",
            lambda: self._searched(depth),
            lambda: f"((m := PATTERN.search({self.of('str', depth - 1)})) is not None and m.group(1) > 'a')",
            lambda: f"(m.group(2) if (m := PATTERN.match({self.of('str', depth - 1)})) else False)",
            lambda: f"({{*{self.of('list', depth - 1)}}} <= ALLOWED)",
            lambda: f"any(k in {self.of('dict', depth - 1)} for k in ('a', 'x', 'path'))",
            lambda: f"(lambda x: x == {self.any(0)})({one})",
        )

    def _searched(self, depth: int) -> str:
        how, pattern = self.pick("search", "match", "fullmatch"), self.rng.choice(PATTERNS)
        return f"(re.{how}(r'{pattern}', {self.of('str', depth - 1)}) is not None)"

    def decision(self) -> str:
        reason = self.of("str", 2)
        return self.pick(
            lambda: f"deny({reason})",
            lambda: f"deny({reason})",
            lambda: f"allow({reason})",
            lambda: f"allow(reason={reason}, matched_rules=('mine', {self.pick(repr('x'), reason)}))",
            lambda: f"dry_run({reason})",
            lambda: f"approve_required(('ops', {self.pick(repr('a'), reason)}), reason={reason})",
            lambda: f"approve_required(timeout_seconds={self.of('num', 1)})",
            lambda: f"transform({self.of('dict', 1)}, {reason})",
            lambda: f"(deny({reason}) if {self.of('bool', 2)} else None)",
            lambda: self.any(1),
        )

    # --- statements ---

    def line(self, text: str, indent: int) -> None:
        self.lines.append("    " * indent + text)

    def block(self, indent: int, depth: int) -> None:
        known = (list(self.names), list(self.lists), list(self.dicts))
        for _ in range(self.rng.randrange(1, 3)):
            self.statement(indent, depth)
        self.names, self.lists, self.dicts = known

    def statement(self, indent: int, depth: int) -> None:
        if depth <= 0:
            self.simple(indent)
            return
        roll = self.rng.randrange(14)
        if roll < 4:
            self.simple(indent)
        elif roll < 7:
            self.line(f"if {self.of('bool', 2)}:", indent)
            self.block(indent + 1, depth - 1)
            if self.rng.random() < 0.3:
                self.line(f"elif {self.of('bool', 2)}:", indent)
                self.block(indent + 1, depth - 1)
            if self.rng.random() < 0.4:
                self.line("else:", indent)
                self.block(indent + 1, depth - 1)
        elif roll < 9:
            self.loop(indent, depth)
        elif roll == 9:
            self.attempt(indent, depth)
        elif roll == 10:
            self.matching(indent, depth)
        elif roll == 11:
            name = self.name()
            self.line(f"if ({name} := {self.any(2)}) {self.pick('is not None', '', '== 5')}:", indent)
            self.names.append(name)
            self.block(indent + 1, depth - 1)
        else:
            self.collecting(indent)

    def simple(self, indent: int) -> None:
        roll = self.rng.randrange(13)
        if roll < 4:
            name = self.name()
            self.line(f"{name} = {self.any(3)}", indent)
            self.names.append(name)
        elif roll == 4:
            one, other = self.name(), self.name()
            self.line(f"{one}, {other} = {self.pick(self.any(1) + ', ' + self.any(1), self.of('list', 1))}", indent)
            self.names += [one, other]
        elif roll == 12:
            one, other = self.name(), self.name()
            self.line(f"{self.pick(f'{one}, *{other}', f'*{one}, {other}')} = {self.of('list', 2)}", indent)
            self.names += [one, other]
        elif roll == 5:
            name = self.name()
            self.line(f"{name} = {self.pick('0', '1.5', repr('a'))}", indent)
            self.line(f"{name} {self.pick('+=', '+=', '*=', '-=')} {self.of('num', 2)}", indent)
            self.names.append(name)
        elif roll == 6 and self.in_loop:
            self.line(self.pick("break", "continue"), indent)
        elif roll == 7:
            self.line(f"if {self.of('bool', 1)}:", indent)
            self.line(f"raise {self.pick('ValueError', 'KeyError', 'RuntimeError')}({self.of('str', 1)})", indent + 1)
        elif roll == 8:
            self.line(f"assert {self.of('bool', 2)}, {self.of('str', 1)}", indent)
        elif roll == 9:
            self.line(f"return {self.decision()}", indent)
        elif roll == 10:
            self.line(f"if {self.of('bool', 2)}:", indent)
            self.line(f"return {self.decision()}", indent + 1)
        else:
            self.line("pass", indent)

    def loop(self, indent: int, depth: int) -> None:
        kind = self.pick("list", "list", "items", "enumerate")
        over = self.of("list", 2)
        one, other = self.name(), self.name()
        if kind == "items":
            self.line(f"for {one}, {other} in {self.of('dict', 1)}.items():", indent)
        elif kind == "enumerate":
            self.line(f"for {one}, {other} in enumerate({over}, 1):", indent)
        else:
            self.line(f"for {one} in {over}:", indent)
            other = one
        known = list(self.names)
        self.names += [one, other]
        self.in_loop += 1
        self.block(indent + 1, depth - 1)
        self.in_loop -= 1
        self.names = known
        if self.rng.random() < 0.3:
            self.line("else:", indent)
            self.block(indent + 1, depth - 1)
        if self.rng.random() < 0.3:
            self.names.append(one)  # it may have no value: then reading it raises

    def attempt(self, indent: int, depth: int) -> None:
        self.line("try:", indent)
        self.block(indent + 1, depth - 1)
        errors = self.pick("KeyError", "(TypeError, ValueError)", "LookupError", "Exception", "AttributeError")
        self.line(f"except {errors}:", indent)
        self.block(indent + 1, depth - 1)
        if self.rng.random() < 0.4:
            self.line("else:", indent)
            self.block(indent + 1, depth - 1)

    def matching(self, indent: int, depth: int) -> None:
        self.line(f"match {self.any(2)}:", indent)
        name = self.name()
        cases = self.rng.sample(
            ["'a' | 'ls'", "5", "None", f"str({name})", f"[{name}, *_]", f"(1, {name})", f"{{'a': {name}}}",
             f"{{'tier': str(), **{name}}}", f"int() as {name}", "True", f"[1, {name}] | [2, {name}]", "[]",
             f"{{'kind': 'a' | 'b', 'x': {name}}}", f"[*{name}, 'b']"],
            self.rng.randrange(1, 4),
        )  # fmt: skip
        for case in cases:
            guard = f" if {self.of('bool', 1)}" if self.rng.random() < 0.3 else ""
            self.line(f"case {case}{guard}:", indent + 1)
            known = list(self.names)
            if name in case:
                self.names.append(name)
            self.block(indent + 2, depth - 1)
            self.names = known
        if self.rng.random() < 0.5:
            self.line("case _:", indent + 1)
            self.block(indent + 2, depth - 1)

    def collecting(self, indent: int) -> None:
        """A list or a dict that grows in a loop."""
        made, item = self.name(), self.name()
        if self.rng.random() < 0.2:
            self.line(f"{made} = sorted({self.of('list', 2)})", indent)
            self.line(f"{made}.{self.pick('sort()', 'sort(reverse=True)', 'reverse()', 'clear()')}", indent)
            self.line(f"if {made}:", indent)
            self.line(f"return deny(f'{{{made}}}')", indent + 1)
        elif self.rng.random() < 0.5:
            self.line(f"{made} = []", indent)
            self.line(f"for {item} in {self.of('list', 2)}:", indent)
            self.line(
                self.pick(f"{made}.append({item})", f"{made} += [{item}, 1]", f"{made}.extend([{item}])"), indent + 1
            )
            self.line(f"if len({made}) > {self.pick('0', '1', '2')}:", indent)
            self.line(f"return deny(f'{{len({made})}} of {{{made}}}')", indent + 1)
        else:
            self.line(f"{made} = {self.pick('{}', 'dict(req.args)', '{**ctx.extra}')}", indent)
            self.line(f"for {item} in {self.of('list', 2)}:", indent)
            self.line(f"{made}[{item}] = {self.pick(f'{made}.get({item}, 0) + 1', self.any(1))}", indent + 1)
            self.line(f"{made}.setdefault({self.pick(repr('a'), item)}, {self.any(1)})", indent + 1)
            self.line(f"if {self.of('bool', 2)}:", indent)
            self.line(f"return transform({made})", indent + 1)


def text_of(seed: int) -> str:
    """The text of a module with one rule, `made`."""
    for attempt in range(100):
        writer = _Writer(Random(seed * 100 + attempt))
        for _ in range(writer.rng.randrange(2, 6)):
            writer.statement(1, 2)
        writer.line(f"return {writer.decision()}", 1)
        text = HEADER + "def made(req, ctx):\n" + "\n".join(writer.lines) + "\n"
        if _compiles(text):
            return text
    raise AssertionError(f"no rule for the seed {seed}")


def _compiles(text: str) -> bool:
    """True if Python accepts a text: `:=` is not allowed everywhere, and f-strings do not nest freely before 3.12."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            compile(text, "<text>", "exec", dont_inherit=True)
        except SyntaxError:
            return False
    return True


def rule_of(seed: int) -> Any:
    """The rule of a seed, from a module whose text can be found."""
    text, file = text_of(seed), f"<made rule {seed}>"
    module = types.ModuleType(f"made_{seed}")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # `5 is not None` and its like are part of the grammar
        exec(compile(text, file, "exec", dont_inherit=True), vars(module))
    return module.made


def forget(seed: int) -> None:
    """Let go of the text of a rule."""
    linecache.cache.pop(f"<made rule {seed}>", None)
