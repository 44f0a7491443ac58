"""Rules built in Python: what can be written, what a mistake is answered with, and where findings point."""

from __future__ import annotations

import linecache
import operator
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bobcat import PolicyCompileError, compile_policy, load_bundle, request_from_json
from bobcat.build import Policy, Rule, all_of, always, any_of, args, context, declared, path, tool, when
from bobcat.bundle.model import PolicyBundle
from bobcat.lint.check import check_source
from bobcat.model.constructors import deny


def module(text: str, name: str = "rules_under_test.py") -> Any:  # Any: a namespace
    """The names of a module with this text, of which Python can find the lines."""
    text = textwrap.dedent(text)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "rules_under_test"}
    exec(compile(text, name, "exec"), names)
    return SimpleNamespace(**names)


def one(rule: Rule) -> PolicyBundle:
    return compile_policy(Policy(rule))


@pytest.mark.parametrize(
    "build",
    [
        lambda: args.x == 1 and args.y == 2,
        lambda: args.x == 1 or args.y == 2,
        lambda: operator.not_(args.x == 1),
        lambda: 1 < args.x < 5,
        lambda: bool(args.x == 1),
        lambda: [1 for _ in [0] if args.x == 1],
        lambda: any([args.x == 1]),
    ],
)
def test_the_truth_of_a_condition_is_an_error_that_names_the_operators(build: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"combine conditions with `&`, `\|` and `~`"):
        build()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: when(args.x), r"`args.x` is a path, not a condition: compare it, or write `args.x.exists\(\)`"),
        (lambda: when(args), "`args` is a path, not a condition"),
        (lambda: when(args.user.length == 5), r'`args.cmd\["length"\] == 5`'),
        (lambda: when("args.x"), "expected a condition, not a value of type `str`"),
        (lambda: when([args.x == 1, 5]), "not a value of type `int`"),
        (lambda: operator.and_(args.x == 1, args.y), "`args.y` is a path, not a condition"),
        (lambda: (args.x == 1) | True, "`True` is not a condition"),
        (lambda: args.x == (1 & args.y), "put each comparison in parentheses"),
        (lambda: "rm" in args.cmd, r"write `args.cmd.contains\('rm'\)`"),
        (lambda: len(args.cmd), r"write `args.cmd.length\(\)`"),
        (lambda: list(args.tags), r"write `args.tags.any\(\)`"),
        (lambda: bool(args.x), r"compare it, or write `args.x.exists\(\)`"),
        (lambda: ~args.x, "put each comparison in parentheses"),
        (lambda: args[0], "a step of a path is a string, not `0`"),
        (lambda: args.items.any().price, "the result of `any` has no fields"),
        (lambda: args.x == (args.y == 1), "is a condition, not a value to compare with"),
        (lambda: args.x == context, "is a group of paths"),
        (lambda: args == {}, "is a group of paths"),
        (lambda: path("args").length(), "does not apply to a mapping"),
        (lambda: Policy(when(args.x == 1)), r"has no verdict: add `.allow\(\)`"),
        (lambda: Policy(deny("no")), "expected a rule, not a value of type `Decision`"),
        (lambda: when(args.x == 1).transform(args.y == 2), "`transform` takes an edit"),  # type: ignore[arg-type]
        (lambda: Policy(on_no_match="deny") + Policy(on_no_match="allow"), "both policies have defaults"),
    ],
)
def test_a_mistake_that_python_sees_is_a_type_error_with_a_way_out(build: Callable[[], object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        build()


@pytest.mark.parametrize(
    ("text", "words"), [("arg.x", "did you mean `args.x`"), ("args.x.gt", "ends with an operator"), ("a b.c", "not a")]
)
def test_a_text_that_is_no_path_is_a_value_error(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        path(text)


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        (tool == "shell", "tool == 'shell'"),
        (args.x != 1, "~(args.x == 1)"),
        (~(args.x != 1), "args.x == 1"),
        (operator.lt(5, args["a.b"].c), "args['a.b'].c > 5"),
        (args.user["length"].in_({"b", "a"}), "args.user['length'].in_('a', 'b')"),
        (args.length == 1, "args.length == 1"),
        (args.x.in_(args.y), "args.x.in_(args.y)"),
        (args.x.in_([]), "args.x.in_()"),
        (args.to.all().lower().ends_with(".org", ".net"), "args.to.all().lower().ends_with(['.org', '.net'])"),
        (args.n.any(gt=2, in_=[3]), "args.n.any(gt=2, in_=[3])"),
        ((args.x == 1) & (args.y == 2) | (args.z == 3), "((args.x == 1) & (args.y == 2)) | (args.z == 3)"),
        (all_of(args.x.exists()), "all_of(args.x.exists())"),
        (any_of(), "any_of()"),
        (path("args").contains("force"), "path('args').contains('force')"),
        (context.extra.team == context.principal.id, "context.extra.team == context.principal.id"),
        (
            context.timestamp > datetime(2026, 1, 31, tzinfo=UTC),
            "context.timestamp > '2026-01-31T00:00:00+00:00'",
        ),
    ],
)
def test_a_condition_reads_like_the_python_that_builds_it(condition: object, shown: str) -> None:
    assert repr(condition) == shown


def test_a_rule_and_a_policy_read_like_the_python_that_builds_them() -> None:
    ask = when(args.n > 5).approve_required("large", approvers=["alice"], timeout_seconds=0, id="ask", priority=2)
    assert repr(ask) == (
        "when(args.n > 5).approve_required('large', approvers=['alice'], timeout_seconds=0, id='ask', priority=2)"
    )
    cut = always.transform(args.q.append(" LIMIT 5"))
    assert repr(Policy(ask, cut, on_no_match="allow")).splitlines()[2:] == [
        "    always.transform(args.q.append(' LIMIT 5')),",
        "    on_no_match='allow',",
        ")",
    ]


def test_where_something_was_written_is_no_part_of_what_it_is() -> None:
    first = when(args.x == [1, "a"], args.y.exists()).deny("no")
    second = when(
        args.x == [1, "a"],
        args.y.exists(),
    ).deny("no")
    assert first == second
    assert first != when(args.x == [1, "b"], args.y.exists()).deny("no")
    assert Policy(first) == Policy([second])
    assert one(first).id == one(second).id


def test_what_counts_for_nothing_in_yaml_counts_for_nothing_here() -> None:
    plain = one(when(tool == "a").approve_required(id="r"))
    assert one(when(tool == "a").approve_required("", approvers=(), priority=0, description="said", id="r")) == plain
    timed = one(when(tool == "a").approve_required(timeout_seconds=0, id="r"))
    assert timed != plain


RULES = """
    from bobcat.build import Policy, args, context, declared, tool, when

    NO_RM = when(tool == "shell", args.cmd.matches("rm (-rf")).deny(id="no-rm")

    POLICY = Policy(
        when(
            tool == "é",
            context.enviroment == "prod" ,
        ).allow(),
        when((args.to.lower() == "Bob") & (declared.cost == "cheap")).deny(id="no-rm"),
    )
"""


def test_findings_point_at_the_expressions_in_python() -> None:
    built = module(RULES)
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy(built.POLICY, python_rules=[built.NO_RM])
    spans = [(item.code, item.span) for item in caught.value.diagnostics]
    found = [(code, span.file, span.line, span.column) for code, span in spans if span is not None]
    assert found == [
        ("E0302", "rules_under_test.py", 9, 9),
        ("E0405", "rules_under_test.py", 11, 11),
        ("W0113", "rules_under_test.py", 11, 40),
        ("E0701", "rules_under_test.py", 4, 31),
    ]
    text = str(caught.value)
    assert 'context.enviroment == "prod" ,\n  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^' in text.replace("9 |", "  |")


def test_explanations_lints_and_bundles_know_the_places() -> None:
    built = module(
        """
        from bobcat.build import Policy, args, tool, when

        POLICY = Policy(
            when(args.txt.matches("ls")).allow(id="loose", description="not anchored"),
            when(args.txt.matches("ls"), tool == "x").deny(id="never"),
        )
        """
    )
    found = check_source(built.POLICY)
    assert [(item.code, item.span.line if item.span else 0) for item in found] == [("W0106", 5), ("W0101", 6)]
    bundle = built.POLICY.compile()
    explanation = bundle.explain(request_from_json({"tool": "x", "args": {"txt": "ls"}}))
    assert "rules_under_test.py:5:10" in explanation.to_text()
    assert load_bundle(bundle.to_bytes(sources=True)).id == bundle.id
    assert bundle.source_map is not None
    assert bundle.source_map.rules[0].description == "not anchored"
    assert any("not anchored" in text for text in bundle.sources.values())


def test_rules_come_in_the_order_of_priority_then_file_then_built_then_functions() -> None:
    def asks(request: Any, context: Any) -> None:
        return None

    bundle = compile_policy(
        "rules: [{id: file, match: {}, decision: deny}, {id: high, priority: 2, match: {}, decision: deny}]",
        python_rules=[asks, Policy(when(tool == "a").deny(id="built"), when(tool == "b").deny(id="top", priority=2))],
    )
    assert [getattr(rule, "id", getattr(rule, "name", "")) for rule in bundle.ir.rules] == [
        "high", "top", "file", "built", "asks",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([when(tool == "a").deny(id="file")], "E0210"),
        ([when(tool == "a").deny(id="x"), when(tool == "b").deny(id="x")], "E0210"),
        ([when(tool == "a").deny()], "E0820"),
        ([Policy(when(tool == "a").deny(), on_rule_error="continue")], "E0821"),
        ([Policy(when(tool == "a").deny(id=""))], "E0211"),
        ([Policy(when(tool == "a").deny(priority=2**31))], "E0209"),
        ([Policy(when(tool == "a").deny(id=5))], "E0204"),  # type: ignore[arg-type]
        ([Policy(when(args.x == {1: 2}).deny())], "E0112"),
        ([Policy(when(args.x == object()).deny())], "E0113"),
        ([Policy(when(args.x == "\ud800").deny())], "E0102"),
        ([Policy(when(declared.scope.any().lower() == "A").deny())], "E0405"),
        ([Policy(when(args.x.any(startswith="a")).deny())], "E0303"),
        ([Policy(when(args.x.matches(args.y)).deny())], "E0414"),  # type: ignore[arg-type]
    ],
)
def test_what_only_the_compiler_sees_is_a_finding_with_a_place(rules: list[Any], code: str) -> None:
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy("rules: [{id: file, match: {}, decision: deny}]", python_rules=rules)
    codes = {item.code: item.span for item in caught.value.diagnostics}
    assert code in codes
    if code != "E0821":
        span = codes[code]
        assert span is not None
        assert span.file.endswith("test_built_rules.py")
        assert span.line > 0


def test_the_lynx_profile_has_no_built_rules() -> None:
    with pytest.raises(PolicyCompileError, match="belongs to the strict profile"):
        Policy(when(tool == "a").deny()).compile(profile="lynx")


def test_paths_that_are_made_from_values_are_no_operands() -> None:
    with pytest.raises(TypeError, match="only a path without operators"):
        Policy(when(args.x == args.y.lower()).deny()).compile()


@pytest.mark.parametrize(
    ("condition", "match"),
    [
        (args.argv.first().in_("status", "log"), {"args.argv.first.in": ["status", "log"]}),
        (args.argv.first(starts_with="a", length=1), {"args.argv.first": {"starts_with": "a", "length": 1}}),
        (args.rows.any().first(eq=1), {"args.rows.any": {"first": {"eq": 1}}}),
        (args.content.byte_length() <= 10, {"args.content.byte_length.le": 10}),
        (args.path.path().within("./ws"), {"args.path.path.within": "./ws"}),
    ],
)
def test_first_and_byte_length_mean_the_same_as_in_yaml(condition: Any, match: dict[str, Any]) -> None:
    written = compile_policy({"rules": [{"match": match, "decision": "allow"}]})
    assert Policy(when(condition).allow()).compile().id == written.id
