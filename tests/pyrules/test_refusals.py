"""Code that cannot be lowered exactly is refused at its place, with the reason and a suggestion."""

from __future__ import annotations

import linecache
import re
import time
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import PolicyCompileError, compile_policy, load_policy_file

HEADER = """\
import datetime
import functools
import math
import os
import random
import re
import time
from bobcat import Decision, Verdict, allow, deny, transform

LIMITS = {"gold": 500}
changing = 5
COUNT = 0
later = []
WORD = re.compile("x")
RULES = {"t": lambda req: deny("t")}


def change():
    global changing
    changing = 6
    later.append(5)


def loop(x):
    return loop(x)


def grow(x):
    x.append(5)
    x = []
    return x


def any_name(**xs):
    return xs


def yields(x):
    yield x


@functools.lru_cache
def cached(x):
    return x


class Box:
    def __init__(self):
        self.size = 5

    def grow(self):
        self.size = 6


box = Box()

"""
FILE = "refused_rules.py"


def rule_of(body: str, head: str = "def made(req, ctx):") -> Any:
    """The function of a text that is `rules.py`."""
    text = HEADER + head + "\n" + "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    namespace: dict[str, Any] = {"__name__": "refused_rules"}
    exec(compile(text, FILE, "exec", dont_inherit=True), namespace)
    return namespace["made"]


def findings(rule: Any, **options: Any) -> tuple[bobcat.Diagnostic, ...]:
    try:
        return compile_policy("rules: []", python_rules=[rule], **options).diagnostics
    except PolicyCompileError as error:
        return error.diagnostics


SHAPES = [
    ("while True:\n    pass", "loops with `while`"),
    ("with open('x'):\n    pass", "uses `with`"),
    ("return yields(req.tool)", "yields"),
    ("return loop(req.tool)", "calls `loop`, which calls itself"),
    ("return any_name(x=req.tool)", "accepts arbitrary keyword arguments"),
    ("return cached(req.tool)", "calls the function `cached`"),
    ("return req", "uses the request as a value"),
    ("return f'{ctx.principal}'", "uses the principal as a value"),
    ("return [req.declared]", "uses the declared as a value"),
    ("return req.args == ctx", "uses the context as a value"),
    ("return req.args['n'] % req.args['m']", "applies `%`"),
    ("return 'a %s %s' % req.args['x']", "formats text with `%`"),
    ("return 'a %s' % (1, 2)", "formats 2 values into 1 places"),
    ("return 'a %(x)s' % req.args", "formats text with `%`"),
    ("return 'a %05.1f' % 5", "formats text with `%`"),
    ("return req.tool % 5", "formats text with `%`"),
    ("return req.tool.format(5)", "calls the method `format`"),
    ("return '{x[0]}'.format(x=req.tool)", "uses the format field `x[0]`"),
    ("return '{:{}}'.format(req.tool, 5)", "uses the format field"),
    ("return '{} {1}'.format(1, 2)", "mixes numbered and"),
    ("return '{'.format(1)", "that Python rejects"),
    ("return int(req.tool, 16)", "passes `int` two arguments"),
    ("return type(req.args['x']) is list", "compares a type"),
    ("return type(req.args['x'])", "calls `type`"),
    ("return sorted(req.args['x'], key=req.args['y'])", "only known at run time"),
    ("return max((x for x in req.args['x']), key=len)", "passes a generator to `max` with a key"),
    ("return getattr(ctx, 'timestamp')", "calls `getattr`"),
    ("return req.args['x'] << 2", "has no lowered form"),
    ("return req.tool is ctx.environment", "compares by identity"),
    ("return getattr(req, req.tool)", "calls `getattr`"),
    ("return type(req.tool)", "calls `type`"),
    ("return req.args['path'].parts", "reads the attribute `parts`"),
    ("return ctx.timestamp - ctx.timestamp", "uses arithmetic on datetimes"),
    ("return ctx.timestamp.strftime('%H')", "calls `strftime` of a datetime"),
    ("return str(ctx.timestamp)", "shows a datetime"),
    ("req.args['x'] = 5", "mutates a value that it did not create"),
    ("x = req.args\nx['y'] = 5", "changes `x`, which may have another reference"),
    ("x = []\ny = x\nx.append(1)\nreturn y", "changes `x`, which may have another reference"),
    (
        "x = [1]\nfor a in x:\n    if a == 1:\n        x.append(2)\nreturn len(x)",
        "changes `x`, which may have another reference",
    ),
    ("x = [1]\nfor a, b in enumerate(x):\n    x.append(b)", "changes `x`, which may have another reference"),
    (
        "x = [1]\ndef f():\n    return x\ny = f()\nx.append(2)\nreturn y",
        "changes `x`, which may have another reference",
    ),
    ("x = [1]\nx.extend(list(x))", "extends a list with itself"),
    ("x = {'a': req.args['l']}\nx['a'] *= 3\nreturn x", "mutates an item in place, which may be a shared list"),
    ("x = {'a': req.tool}\nx['a'] %= 3\nreturn x", "mutates an item in place, which may be a shared list"),
    ("return grow(req.args['l'])", "changes `x`, which may have another reference"),
    ("x = req.args['l']\nx += [1]", "mutates `x`"),
    ("for x in {1, 2}:\n    pass", "iterates over a set"),
    ("return ', '.join({req.tool})", "iterates over a set"),
    ("return f'{ {req.tool} }'", "shows a set"),
    ("return list(set(req.args['x']))", "iterates over a set"),
    ("x = req.args.items()\nreturn x", "keeps a view"),
    ("return lambda: 5", "keeps a function as a value"),
    ("return (x for x in req.args)", "keeps a generator"),
    ("return re.search(req.tool, 'x')", "only known at run time"),
    ("return re.sub('a', 'b', req.tool)", "calls the function `sub`"),
    ("return WORD.findall(req.tool)", "calls `findall` of a pattern"),
    ("return re.search(r'(a)\\1', req.tool)", "cannot run in linear time"),
    ("return max(req.args['x'], keys=len)", "by name"),
    ("return deny(*req.args['x'])", "calls with `*`"),
    ("return deny()", "without `reason`"),
    ("return deny('x', why='y')", "the argument `why`"),
    ("return Decision(req.tool)", "verdict is only known"),
    ("return Decision(Verdict.ALLOW, approvers=('a',))", "the field `approvers`"),
    ("raise re.error('x')", "not a builtin one"),
    ("try:\n    pass\nfinally:\n    pass", "uses `finally`"),
    ("try:\n    pass\nexcept KeyError as e:\n    return deny(e)", "reads the exception"),
    ("try:\n    pass\nexcept KeyError:\n    raise", "raises again"),
    ("import no_such_module", "imports `no_such_module`"),
    ("match req:\n    case _:\n        pass", "uses the request as a value"),
    ("return req.tool @ 5", "uses an operator"),
    ("for a, *b in req.args['x']: pass", "unpacks several values with `*`"),
    ("return f'{req.tool:{ctx.step_seq}}'", "calculates a format"),
    ("return f'{req.tool:z<x}'", "formats with `z<x`"),
    ("return " + "(" * 120 + "req.tool" + " + 'a')" * 120, "code is deeper than 100 levels"),
    ("class X: pass", "defines a class"),
    ("return undefined_name", "which is not defined"),
    ("return Box", "the class `Box`"),
    ("if req.tool:\n    word = WORD\nreturn word.search(req.tool)", "reads `word`, which may be unassigned here"),
    ("if req.tool:\n    f = len\nreturn f(req.tool)", "reads `f`, which may be unassigned here"),
    ("if req.tool:\n    def f(x):\n        return x\nreturn f(req.tool)", "reads `f`, which may be unassigned here"),
    ("if req.tool:\n    import math\nreturn math.floor(5)", "reads `math`, which may be unassigned here"),
    ("if req.tool:\n    x = 'a'\nreturn re.search(x, req.tool)", "only known at run time"),
    ("if req.tool:\n    get = req.args.get\nreturn get('x')", "reads `get`, which may be unassigned here"),
    ("get = req.args.get\nreturn str(get)", "uses `get` as a value"),
    ("if req.tool:\n    rule = RULES.get(req.tool)\nreturn rule(req)", "reads `rule`, which may be unassigned here"),
    ("return [RULES.get(req.tool)]", "keeps an object of a table"),
    ("return deny(str(ctx.timestamp.time()))", "calls `time` of a datetime"),
    ("return ctx.timestamp.time() < req.args['x']", "compares a time of day with something else"),
    ("return ctx.timestamp.time() < ctx.timestamp.date()", "compares a time of day with a date"),
    ("return any_name(**req.args)", "calls with `**`"),
    ("return sum(req.args[p.pattern] for p in (WORD,))", "passes `sum` a value that may not be a number"),
    (
        "for p in (WORD,):\n    if req.tool:\n        break\n    continue",
        "uses both `break` and `continue` in a loop over a table",
    ),
    ("return math", "a value of type `module`"),
    ("import urllib.parse\nreturn urllib.parse.urlparse(req.tool)", "calls the function `urlparse`"),
    ("return [x for x in req.args['x'] if (lambda: y)()]\ny = 5", "may be unassigned here"),
]
IMPURE = [
    ("return time.time()", "reads a clock"),
    ("return datetime.datetime.now()", "reads a clock"),
    ("return datetime.date.today()", "reads a clock"),
    ("return os.environ['X']", "reads the environment"),
    ("return os.environ.get('X')", "reads the environment"),
    ("return os.getenv('X')", "reads the environment"),
    ("return os.path.exists(req.tool)", "reads files"),
    ("return open(req.tool)", "reads files"),
    ("return random.random()", "uses randomness"),
    ("return random.choice([1, 2])", "uses randomness"),
    ("return hash(req.tool)", "differs from process to process"),
    ("return id(req.args)", "differs from process to process"),
    ("print(req.tool)", "has side effects"),
    ("LIMITS['x'] = 5", "reads `LIMITS`, which changes in line"),
    ("return changing", "reads `changing`, which changes in line"),
    ("return later", "reads `later`, which changes in line"),
    ("return box.size", "of an object that may change"),
]


@pytest.mark.parametrize(("body", "says"), SHAPES)
def test_what_has_no_exact_counterpart_is_refused_where_it_stands(body: str, says: str) -> None:
    with_warnings = findings(rule_of(body))
    found = [item for item in with_warnings if item.code == "E0807"]
    assert found, with_warnings
    assert says in found[0].message
    assert found[0].span is not None
    assert found[0].span.file == FILE
    assert found[0].help is not None
    assert found[0].help.endswith('`uncompiled="callable"` keeps the rule as a callable')


@pytest.mark.parametrize(("body", "says"), IMPURE)
def test_what_reads_more_than_the_call_is_named_as_impure(body: str, says: str) -> None:
    found = [item for item in findings(rule_of(body)) if item.code == "E0808"]
    assert found
    assert says in found[0].message
    assert found[0].span is not None
    assert found[0].span.line > HEADER.count("\n")


@pytest.mark.parametrize(("body", "says"), SHAPES[:5] + IMPURE[:5])
def test_a_host_rule_is_a_warning_that_says_the_same(body: str, says: str) -> None:
    rule = rule_of(body)
    bundle = compile_policy("rules: []", python_rules=[rule], uncompiled="callable")
    assert [fn for _, _, fn in bundle.python_rules] == [rule]
    assert any(item.code in ("W0115", "W0116") and says in item.message for item in bundle.warnings)


def test_the_report_shows_the_line_and_marks_the_expression() -> None:
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy("rules: []", python_rules=[rule_of("x = 1\nif time.time() > 5: return deny('é')")])
    report = str(caught.value)
    line = HEADER.count("\n") + 3
    assert f"--> {FILE}:{line}:8" in report
    assert "if time.time() > 5" in report
    assert re.search(r"^ *\| +\^{9}$", report, re.MULTILINE)


def test_every_statement_that_cannot_be_lowered_is_reported() -> None:
    found = findings(rule_of("x = time.time()\nwhile True:\n    pass\nreturn req"))
    assert [item.code for item in found] == ["E0808", "E0807", "E0807"]


def test_a_column_counts_characters() -> None:
    found = findings(rule_of("x = 'é\U0001f600'; y = time.time()"))
    assert found[0].span is not None
    assert found[0].span.column == 19


def test_a_function_without_a_text_is_refused_as_that() -> None:
    namespace: dict[str, Any] = {}
    exec("def typed_in(req, ctx):\n    return None\n", namespace)
    (found,) = findings(namespace["typed_in"])
    assert (found.code, found.span) == ("E0807", None)
    assert "its source text" in found.message


def test_a_text_that_has_changed_since_is_no_source() -> None:
    rule = rule_of("return deny('old')")
    rule_of("return deny('new')")
    (found,) = findings(rule)
    assert "has changed since it was compiled" in found.message


@pytest.mark.parametrize("head", ["def made(req):", "def made():", "def made(req, *ctx):", "def made(a, b, c):"])
def test_a_function_that_is_not_called_with_a_request_and_a_context_is_refused(head: str) -> None:
    assert [item.code for item in findings(rule_of("return None", head))] == ["E0807"]


def test_a_builtin_and_a_bound_builtin_are_refused() -> None:
    for rule in (len, [].append, time.time):
        assert "E0807" in [item.code for item in findings(rule)]


@pytest.mark.parametrize(
    ("module", "changes"),
    [
        ("name = 1\nname = 2", True),
        ("for name in (1, 2):\n    pass", True),
        ("name = 1\nname += 1", True),
        ("name = 1\nwith open(os.devnull):\n    name = 2", True),
        ("name = 1\ndel name\nname = 2", True),
        ("if os.sep == '/':\n    name = 1\nelse:\n    name = 2", False),
        ("try:\n    name = 1\nexcept ValueError:\n    name = 2", False),
        ("name = 1", False),
    ],
)
def test_a_name_that_a_module_binds_twice_is_one_that_changes(module: str, changes: bool) -> None:
    rule = rule_of("return deny('no') if ctx.step_seq == name else None", f"{module}\n\n\ndef made(req, ctx):")
    assert [item.code for item in findings(rule)] == (["E0808"] if changes else [])


@pytest.mark.parametrize("name", ["list", "sorted", "set", "dict", "len"])
def test_nothing_is_changed_in_place_where_a_name_of_the_builtins_is_somebody_elses(name: str) -> None:
    """A `list` of the module's own may hand back what it was given."""
    body = f"x = [1]\ny = {name}(x)\nz = []\nz.append(2)\nreturn deny('both') if x == [1] else None"
    found = findings(rule_of(body, f"def {name}(x):\n    return x\n\n\ndef made(req, ctx):"))
    assert "E0807" in [item.code for item in found]
    assert any("changes `z`, which may have another reference" in item.message for item in found)


def test_a_rule_inside_of_a_decorator_is_refused_as_that() -> None:
    inner = "    @functools.wraps(f)\n    def inner(req, ctx):\n        return f(req, ctx)\n    return inner\n\n\n"
    (found,) = findings(rule_of("return None", f"def logged(f):\n{inner}@logged\ndef made(req, ctx):"))
    assert found.code == "E0807"
    assert "it is wrapped by a decorator" in found.message


def test_a_rule_of_very_many_expressions_is_refused_where_they_become_too_many() -> None:
    body = "\n".join(f"if req.tool == 't{number}':\n    return deny('no')" for number in range(7_000))
    found = findings(rule_of(body))
    assert found[0].code == "E0807"
    assert "has more than 20000 expressions" in found[0].message
    assert found[0].span is not None
    assert found[0].span.line > HEADER.count("\n") + 5_000


def test_a_table_in_small_letters_is_frozen_with_a_warning() -> None:
    namespace = rule_of("return deny('x') if req.tool in table else None", "table = ['a']\ndef made(req, ctx):")
    (found,) = findings(namespace)
    assert found.code == "W0117"
    assert "`table`" in found.message


@pytest.mark.parametrize(
    "body",
    [
        "return deny(str([m is None for x in req.args['x'] if (m := WORD.search(x))]))",
        "return deny(f'{1.5:>8.2f}{5:05d}{2:,}{7:*^9}')",
        "x = []\nfor y in req.args['x']:\n    if y and not x:\n        x.append(y)\nreturn deny(str(x))",
        "x = dict(req.args)\nx['a'] = 5\ndel x['a']\nreturn transform(x)",
        "return deny('x') if any(p.search(req.tool) for p in (WORD,)) else None",
    ],
)
def test_what_reads_like_it_is_lowered(body: str) -> None:
    assert [item.code for item in findings(rule_of(body))] == []


def test_a_loop_over_patterns_may_change_what_the_rule_made() -> None:
    loop = "for word in WORDS:\n    if word.search(req.tool):\n        found.append(len(found))\n"
    body = f"found = []\n{loop}return deny(str(found))"
    rule = rule_of(body, "WORDS = (re.compile('a'), re.compile('b'), re.compile('c'))\n\n\ndef made(req, ctx):")
    bundle = compile_policy("rules: []", python_rules=[rule])
    for tool in ("a", "bc", "cab", "none"):
        request = bobcat.request_from_json({"tool": tool})
        assert bundle.evaluate(request).reason == rule(request, request.context).reason


@pytest.mark.parametrize("options", [{"uncompiled": "maybe"}, {"host": "maybe"}])
def test_an_unknown_word_for_uncompiled_rules_is_a_mistake_of_the_caller(options: Any) -> None:
    with pytest.raises(ValueError, match="`uncompiled` must be one of error, callable, not 'maybe'"):
        compile_policy("rules: []", **options)


@pytest.mark.parametrize("options", [{"host": "allow"}, {"host": "callable"}, {"uncompiled": "allow"}])
def test_the_older_keyword_and_its_words_are_read_with_a_warning(options: Any, tmp_path: Path) -> None:
    rule = rule_of("vars(req)")
    (tmp_path / "empty.yaml").write_text("rules: []")
    word, value = next(iter(options.items()))
    for compile_it, source in ((compile_policy, "rules: []"), (load_policy_file, tmp_path / "empty.yaml")):
        with pytest.warns(DeprecationWarning, match=f"`{word}='{value}'` is now `uncompiled='callable'`") as caught:
            bundle = compile_it(source, python_rules=[rule], **options)  # type: ignore[operator]
        assert [fn for _, _, fn in bundle.python_rules] == [rule]
        assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(DeprecationWarning, match="uncompiled='error'"), pytest.raises(PolicyCompileError):
        compile_policy("rules: []", python_rules=[rule], host="refuse")


MISTAKES = [
    ("return 'deny'", "returns `'deny'`, which is not a decision", 12),
    ("return True", "returns `True`, which is not a decision", 12),
    ("if req.tool:\n    return False", "returns `False`, which is not a decision", 16),
    ("return {'decision': 'deny'}", "returns `{'decision': 'deny'}`, which is not a decision", 12),
    ("return deny('a'), 'b'", "returns `(deny('a'), 'b')`, which is not a decision", 12),
    ("x = 'deny'\nreturn x", "returns `x`, which is not a decision", 12),
    ("return deny('a') if req.tool else 0", "returns `0`, which is not a decision", 39),
    ("return req.tool == 'x' and deny('a')", "returns `req.tool == 'x'` where the value before `and` is false", 12),
    ("return req.tool or deny('a')", "returns `req.tool` where the value before `or` is true", 12),
    ("deny('a')", "makes `deny('a')` and does not return it", 5),
    ("return deny(5)", "passes a decision `5` as its `reason`", 17),
    ("return transform([1])", "passes a decision `[1]` as its `transform_args`", 22),
    ("return Decision(Verdict.DENY, None)", "passes a decision `None` as its `reason`", 35),
    ("return deny('x') if req.name == 't' else None", "reads `name`, which is not a field that a request has", 25),
    ("return deny('x') if ctx.user else None", "reads `user`, which is not a field that a context has", 25),
    (
        "return deny('x') if req.declared.costs else None",
        "reads `costs`, which is not a field that a tool declares",
        25,
    ),
    (
        "return deny('x') if ctx.principal.roles else None",
        "reads `roles`, which is not a field that a principal has",
        25,
    ),
]


@pytest.mark.parametrize(("body", "problem", "column"), MISTAKES)
def test_a_definite_mistake_is_reported_at_its_place(body: str, problem: str, column: int) -> None:
    (found,) = findings(rule_of(body))
    assert (found.code, found.message) == ("W0118", f"the Python rule `made` {problem}")
    assert found.span is not None
    assert found.span.column == column
    assert found.help


@pytest.mark.parametrize(
    "body",
    [
        "return req.args.get('x') and deny('a')",
        "x = None\nif req.tool:\n    x = deny('a')\nreturn x",
        "def check(x):\n    return len(x) > 5\nreturn deny('a') if check(req.tool) else None",
        "def check(x):\n    return deny(x) if x else None\nreturn check(req.tool) or check(ctx.environment)",
        "return transform({**req.args}, reason=req.tool)",
    ],
)
def test_a_possible_decision_is_not_reported(body: str) -> None:
    assert findings(rule_of(body)) == ()


@pytest.mark.parametrize(
    ("body", "help"),
    [
        ("return deny('x') if req.name else None", "write `request.tool`"),
        ("return deny('x') if ctx.user else None", "write `context.principal.id`"),
        ("return deny('x') if ctx.enviroment else None", "did you mean `environment`?"),
        ("return deny('x') if req.args['x'].startwith('a') else None", "did you mean `startswith`?"),
        ("return Verdict.DENY", "return a decision: `deny(...)`"),
    ],
)
def test_a_slip_in_a_name_is_answered_with_the_name(body: str, help: str) -> None:
    (found,) = findings(rule_of(body))
    assert found.code == ("W0118" if "not a field" in found.message else "E0807")
    assert found.help is not None
    assert found.help.startswith(help)


def test_a_mistake_keeps_the_meaning_of_python() -> None:
    for body, error in (
        ("return 'deny'", "not_a_decision"),
        ("return deny('x') if ctx.user else None", "AttributeError"),
    ):
        bundle = compile_policy("rules: []", python_rules=[rule_of(body)])
        decision = bundle.evaluate(bobcat.request_from_json({"tool": "t"}))
        assert decision.verdict is bobcat.Verdict.DENY
        assert decision.matched_rules == (f"<rule_error:made:{error}>",)
