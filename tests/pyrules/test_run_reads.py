"""Reads of the run in Python rules: spellings, refusals, bundles, explanations."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import pytest

from bobcat import Policy, PolicyCompileError, Request, explain
from bobcat._core import CoreError, Program, RunState
from bobcat.ir import canonical

SOURCES = "sources: {directory: {tool: find, fields: [email]}, posted: {tool: read, fields: [email]}}"
POLICY = "{" + SOURCES + ", rules: []}"
HEADER = """\
from bobcat import allow, deny
from bobcat.facets import json, links, occurs_in, url

NAMES = {"task", "directory"}
READS = {"tool.in": ["read", "find"]}


"""
numbers = itertools.count()


def rule_of(body: str) -> Any:
    """The function `r` with this body, whose source can be read."""
    file = f"reads_{next(numbers)}.py"
    text = HEADER + "def r(request, context):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"__name__": "reads"}
    exec(compile(text, file, "exec", dont_inherit=True), namespace)
    return namespace["r"]


def compiled(body: str, policy: str = POLICY) -> Policy:
    return Policy.compile(policy, python_rules=[rule_of(body)])


def state_of(policy: Policy) -> RunState:
    """A run that found ann, read cy, and paid 5 and 7."""
    state = RunState(policy, task="Write to bob about invoice 17")
    for number, (tool, args, value) in enumerate([
        ("find", {}, [{"email": "ann"}]), ("read", {}, [{"email": "cy"}, {"email": "Dan"}]),
        ("pay", {"amount": 5}, None), ("pay", {"amount": 7, "to": {"name": "x"}}, None),
    ]):  # fmt: skip
        request = Request(tool, args)
        state.call(request, f"c{number}")
        state.result(f"c{number}", value, request.context.timestamp)
        state.next_reply()
    return state


def holds(condition: str, tool: str = "pay", args: dict[str, Any] | None = None) -> bool:
    policy = compiled(f"return allow() if {condition} else None")
    decision = policy.evaluate(Request(tool, args or {}), state=state_of(policy))
    assert not [name for name in decision.matched_rules if name.startswith("<rule_error")], decision
    return decision.verdict == "allow"


VALUES = [
    ("request.run.count('pay') == 2", True),
    ("request.run.count('pay', with_this=True) == 3", True),
    ("request.run.count(of=READS) == 2", True),
    ("request.run.count(of={'tool': 'pay', 'args.amount.gt': 5}, within='1h') == 1", True),
    ("request.run.sum('pay', 'amount') == 12", True),
    ("request.run.sum('pay', argument='amount', with_this=True) == 15", True),
    ("request.run.sum(of={'tool': 'pay'}, argument='amount', within=60) + 1 == 13", True),
    ("request.run.after('read') and not request.run.after('write')", True),
    ("request.run.last('pay') and not request.run.last(READS)", True),
    ("request.run.formerly({'result': {'tool': 'read'}}, within='1d')", True),
    ("request.run.formerly('read')", True),
    ("request.run.previous({'call': {'tool': 'read'}})", False),
    ("request.run.since(holds={'not': {'call': {'tool': 'write'}}}, start={'call': {'tool': 'find'}})", True),
    ("request.run.never({'call': {'tool': 'pay'}}, since={'result': {'tool': 'read'}})", False),
    ("(run := 3) and request.run.count('pay') < run", True),
]
ORIGINS = [
    ("'directory' in request.origin('to')", "ann", True),
    ("'directory' not in request.origin('to')", "ann", False),
    ("'posted' in request.origin('to')", "ann", False),
    ("'task' in request.origin('to')", "bob", True),
    ("request.origin('to') & {'task', 'directory'}", "bob", True),
    ("request.origin('to') & NAMES", "cy", False),
    ("{'task', 'directory'} & request.origin('to')", "ann", True),
    ("request.origin('to').intersection(['task', 'posted'])", "cy", True),
    ("request.origin('to')", "cy", True),
    ("request.origin('to')", "eve", False),
    ("not request.origin('to')", "eve", True),
    ("bool(request.origin('to') - {'posted'})", "cy", False),
    ("request.origin('to') == {'posted'}", "cy", True),
    ("request.origin('to') == set()", "cy", False),
    ("request.origin('to') != {'directory'}", "cy", True),
    ("{'posted'} <= request.origin('to')", "cy", True),
    ("request.origin('to') >= {'posted', 'task'}", "cy", False),
    ("request.origin('to') <= {'posted', 'task'}", "cy", True),
    ("request.origin('to') <= {'posted', 'task'}", "ann", False),
    ("request.origin('to') <= {'posted', 'task'}", "eve", True),
    ("request.origin('to').isdisjoint({'posted'})", "cy", False),
    ("request.origin('to').issuperset({'posted'})", "cy", True),
    ("request.origin('to').issubset({'posted'})", "cy", True),
    ("'posted' in request.origin('to')", "dan", False),
    ("'posted' in request.origin('to', lower=True)", "DAN", True),
    ("'posted' in request.origin_of(request.args['to'], lower=True)", "DAN", True),
    ("'directory' in request.origin('no')", "ann", False),
    ("'directory' in request.origin('no.such')", "ann", False),
    ("request.origin_of(request.args.get('no'))", "ann", False),
    ("request.origin_of(request.args['to'].strip())", " ann ", True),
    ("all(request.origin_of(x) & NAMES for x in [request.args['to'], 'bob'])", "ann", True),
    ("any('posted' in request.origin_of(x) for x in [request.args['to'], 'bob'])", "ann", False),
    ("request.origin('to') & {'posted'} and request.run.count('pay') > 1", "cy", True),
    ("occurs_in(request.args['to'], context.task)", "bob", False),  # the context of the request has no task
    ("occurs_in(request.args['to'], 'ask ann', None)", "ann", True),
    ("occurs_in(request.args['to'], 'ask Ann', lower=True)", "ANN", True),
    ("occurs_in(17, 'invoice 17')", "ann", True),
    ("links(request.args['to']) == ['https://a.example/x']", "see https://a.example/x.", True),
    ("url(links(request.args['to'])[0]).host == 'a.example'", "see https://a.example/x.", True),
    ("json(request.args['to'])['n'][1] == {'a': None}", '{"n": [1.5, {"a": null}]}', True),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "expected"), VALUES)
def test_a_value_of_the_run(condition: str, expected: bool) -> None:
    assert holds(condition, args={"amount": 3}) is expected


@pytest.mark.parametrize(("condition", "to", "expected"), ORIGINS)
def test_a_test_of_an_origin(condition: str, to: str, expected: bool) -> None:
    assert holds(condition, "send", {"to": to}) is expected


def test_names_for_the_run_and_for_an_origin() -> None:
    body = """\
run = request.run
origin = request.origin("to")
if run.count("pay") != 2:
    return None
if "directory" in origin or origin & {"posted"}:
    return allow()
return None"""
    policy = compiled(body)
    state = state_of(policy)
    verdicts = [policy.evaluate(Request("send", {"to": to}), state=state).verdict for to in ("ann", "cy", "bob")]
    assert [verdict == "allow" for verdict in verdicts] == [True, True, False]


def test_other_functions_read_the_run_of_their_request() -> None:
    body = """\
def few(tool, asked):
    return asked.run.count("pay") < 3 and "directory" in asked.origin("to")
return allow() if few(request.tool, request) else None"""
    policy = compiled(body)
    assert policy.evaluate(Request("send", {"to": "ann"}), state=state_of(policy)).verdict == "allow"


@pytest.mark.parametrize(
    ("condition", "args", "code"),
    [
        ("request.run.sum('pay', 'amount', with_this=True) < 5", {"amount": "x"}, "bad_state"),
        ("'directory' in request.origin('to')", {"to": ["ann"]}, "wrong_type"),
        ("'directory' in request.origin('to')", {"to": None}, "wrong_type"),
        ("'directory' in request.origin('to.name')", {"to": "ann"}, "wrong_type"),
        ("'directory' in request.origin_of(request.args['to'])", {"to": ["ann"]}, "wrong_type"),
        ("'directory' in request.origin_of(request.args['to'])", {"to": float("nan")}, "nan"),
        ("occurs_in(request.args['to'], 'x')", {"to": ["ann"]}, "TypeError"),
        ("occurs_in('x', request.args['to'])", {"to": 5}, "TypeError"),
        ("json(request.args['to'])", {"to": '{"a": 1, "a": 2}'}, "undecidable"),
    ],
)  # fmt: skip
def test_an_error_denies_and_no_handler_catches_one_of_the_run(condition: str, args: dict[str, Any], code: str) -> None:
    policy = compiled(f"return allow() if {condition} else None")
    decision = policy.evaluate(Request("pay", args), state=state_of(policy))
    assert (decision.verdict, decision.matched_rules) == ("deny", (f"<rule_error:r:{code}>",))
    if code != "TypeError":
        body = f"try:\n    if {condition}:\n        pass\nexcept Exception:\n    return allow()\nreturn None"
        caught = compiled(body)
        assert caught.evaluate(Request("pay", args), state=state_of(caught)).verdict == "deny"


def test_without_a_state_what_reads_the_run_is_an_error() -> None:
    for condition in ("request.run.count('pay') < 3", "'task' in request.origin('to')"):
        decision = compiled(f"return allow() if {condition} else None").evaluate(Request("pay", {"to": "ann"}))
        assert decision.matched_rules == ("<rule_error:r:no_state>",)


REFUSED = [
    ("return request.run.count(request.tool) < 3", "E0807", "known at run time only"),
    ("return request.run.count() < 3", "E0807", "without a tool"),
    ("return request.run.count('pay', of={}) < 3", "E0807", "with a tool and `of`"),
    ("return request.run.count('pay', since=3) < 3", "E0807", "with `since`"),
    ("return request.run.count('pay', within='soon') < 3", "E1006", "soon"),
    ("return request.run.count('pay', by='user') < 3", "E0206", "user"),
    ("return request.run.sum('pay') < 3", "E0807", "adds no argument"),
    ("return request.run.counts('pay') < 3", "E0807", "`counts`"),
    ("return request.run.after({'tol': 'pay'})", "E0301", "tol"),
    ("return request.run.after('pay', within=3)", "E0807", "with `within`"),
    ("return request.run.formerly({'tool': 'pay'})", "E1007", "tool"),
    ("return request.run.after(5)", "E0807", "something other than a match"),
    ("x = [request.run]\nreturn None", "E0807", "keeps `request.run`"),
    ("x = request.run.count\nreturn x('pay')", "E0807", "without calling it"),
    ("return request.origin('to')", "E0807", "keeps the origin"),
    ("return [request.origin('to')]", "E0807", "keeps the origin"),
    ("return len(request.origin('to'))", "E0807", "keeps the origin"),
    ("return 'directry' in request.origin('to')", "E1001", "directry"),
    ("return request.tool in request.origin('to')", "E0807", "known at run time only"),
    ("return request.origin('to') & request.args['x']", "E0807", "other than names of sources"),
    ("return request.origin(request.args['to']) & {'task'}", "E0807", "other than the name of an argument"),
    ("return request.origin('a..b') & {'task'}", "E0807", "names no argument"),
    ("x = 'a'\no = request.origin_of(x)\nx = 'b'\nreturn allow() if o else None", "E0807", "keeps the origin"),
    ("return request.origin('to') < {'task'}", "E0807", "no lowered form"),
    ("return request.origin", "E0807", "without calling it"),
    ("return url", "E0807", "cannot be frozen"),
    ("x = url(request.tool)\nreturn x.host", "E0807", "keeps the parts of `url`"),
    ("return occurs_in(request.tool)", "E0807", "without a value and a text"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "code", "says"), REFUSED)
def test_what_cannot_be_compiled_is_refused_where_it_stands(body: str, code: str, says: str) -> None:
    rule = rule_of(body)
    for uncompiled in ("error", "callable"):
        if uncompiled == "callable" and ("run" not in body and "origin(" not in body):
            continue
        with pytest.raises(PolicyCompileError) as caught:
            Policy.compile(POLICY, python_rules=[rule], uncompiled=uncompiled)  # type: ignore[arg-type]  # a literal
        found = [item for item in caught.value.diagnostics if item.code == code]
        assert found, caught.value
        assert says in found[0].message
        assert found[0].help
        assert found[0].span is not None
        assert found[0].span.file == rule.__code__.co_filename
        assert found[0].span.line > HEADER.count("\n")
        if "run" in body or "origin(" in body:
            assert "keeps the rule as a callable" not in found[0].help


def test_a_subset_has_a_warning() -> None:
    found = compiled("return allow() if request.origin('to') <= {'task'} else None").warnings
    assert [item.code for item in found if item.code != "W0145"] == ["W0118"]


def test_a_source_that_only_python_reads_is_used() -> None:
    policy = compiled("return allow() if 'directory' in request.origin('to') else None")
    assert [item.message for item in policy.warnings] == [
        item.message for item in policy.warnings if "`posted`" in item.message
    ]
    assert [name.partition("-")[0] for name in policy.ir.memory] == ["directory"]  # type: ignore[union-attr]


def test_a_callable_gets_an_error_from_the_run() -> None:
    request = Request("pay", {})
    for read in (lambda: request.run.count("pay"), lambda: request.origin("to"), lambda: request.origin_of("x")):
        with pytest.raises(RuntimeError, match="compiled rules only"):
            read()


def test_bundles_hold_what_functions_read() -> None:
    policy = compiled("return allow() if request.run.count('pay') < 3 and 'task' in request.origin('to') else None")
    again = Policy.load(policy.to_bytes())
    assert again == policy
    assert again.evaluate(Request("send", {"to": "bob"}), state=state_of(again)).verdict == "allow"
    data = canonical.encode(policy.ir)
    for damaged in (
        data.replace(b'"k":"run"', b'"k":"ran"'),
        data.replace(b'"sources":["task"]', b'"sources":[]'),
        data.replace(b'"sources":["task"]', b'"sources":["x"]'),
        data.replace(b'"path":["to"]', b'"path":[]'),
        data.replace(b'"lower":false', b'"lower":0'),
    ):
        assert damaged != data
        with pytest.raises(CoreError) as caught:
            Program(damaged, ())
        assert caught.value.code == "bad_ir"


def test_an_explanation_shows_what_a_condition_read() -> None:
    policy = compiled(
        "if request.run.count('pay') > 1 and 'posted' in request.origin('to'):\n    return allow()\nreturn None"
    )
    told = str(explain(policy, Request("send", {"to": "cy"}), state=state_of(policy)))
    assert "run.count.pay" in told
    assert "args.to" in told


@pytest.mark.parametrize(
    ("condition", "reads"),
    [
        ("context.task == 'x'", True),
        ("occurs_in(request.args['to'], request.context.task)", True),
        ("'task' in request.origin('to')", True),
        ("'directory' in request.origin('to')", False),
        ("request.args['to'] == 'task'", False),
    ],
)
def test_a_policy_says_that_its_functions_read_the_task(condition: str, reads: bool) -> None:
    """Hooks ask their host for the user's words only where it does."""
    assert compiled(f"return allow() if {condition} else None").reads_task is reads
