"""The keys of leaves: what is a path, what is an operator, and which argument names stay usable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.frontend.strict.facet_keys import PartStep
from bobcat.frontend.strict.key_syntax import written
from bobcat.frontend.strict.keys import Key, KeyProblem, parse_key
from bobcat.language.operators import LEADING, NESTING, OPERATORS, ROWS

BELOW_ARGS = frozenset(row.name for row in ROWS if not row.whole)


def parsed(text: str) -> Key:
    key = parse_key(text)
    assert isinstance(key, Key), key
    return key


def problem(text: str) -> KeyProblem:
    found = parse_key(text)
    assert isinstance(found, KeyProblem), found
    return found


NAMES = (
    "age min max pin bin int get let seq req win contents content match matcher_id lat lng like limit "
    "less equal_to regex regexp not_in ne startswith endswith equals any all is has range glob gte lte GT "
    "MATCHES In Between betwen matchs exist contain size path url cmd sql to from subject body amount in_ "
    "not or and if when then else id name type value key "
).split()


@pytest.mark.parametrize("name", NAMES)
def test_every_name_right_under_args_that_is_no_operator_is_an_argument(name: str) -> None:
    assert parsed(f"args.{name}").path == (name,)
    assert parsed(f"args.{name}").op == "eq"
    assert parsed(f"context.extra.{name}").path == ("extra", name)


@pytest.mark.parametrize(
    "name",
    [
        "age",
        "min",
        "match",
        "contents",
        "container",
        "contained_in",
        "size",
        "gender",
        "lens",
        "index",
        "batches",
        "patches",
        "exits",
        "matched",
    ],
)
def test_ordinary_names_are_arguments_at_every_depth(name: str) -> None:
    assert parsed(f"args.user.{name}").path == ("user", name)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_an_argument_when_it_is_quoted(name: str) -> None:
    assert parsed(f'args["{name}"]').path == (name,)
    assert parsed(f"args.x['{name}']").path == ("x", name)
    assert parsed(f'args["{name}"].{name}').op == ("eq" if name in LEADING else name)
    assert parsed(f"args.x.{name}").path == (("x", name) if name in LEADING else ("x",))


@pytest.mark.parametrize("name", OPERATORS)
def test_only_operators_on_mappings_are_operators_directly_under_args(name: str) -> None:
    of_all = parsed(f"args.{name}")
    assert (of_all.path, of_all.op) == (((name,), "eq") if name in BELOW_ARGS else ((), name))
    assert parsed(f"context.extra.{name}").path == (("extra", name) if name in BELOW_ARGS else ("extra",))
    assert parsed(f"args.{name}.gt").path == (name,)


@pytest.mark.parametrize(
    ("text", "path", "chain", "op"),
    [
        ("args.cmd.length", ("cmd",), (), "length"),
        ("args.cmd.length.gt", ("cmd",), ("length",), "gt"),
        ("args.tags.any.eq", ("tags",), ("any",), "eq"),
        ("args.tags.none.lower.starts_with", ("tags",), ("none", "lower"), "starts_with"),
        ("args.length.length", ("length",), (), "length"),
        ("args.length.gt", ("length",), (), "gt"),
        ("args.any.any.any", ("any",), ("any",), "any"),
        ('args.cmd["length"].gt', ("cmd", "length"), (), "gt"),
        ('args.cmd["any"].length', ("cmd", "any"), (), "length"),
        ("args.box.length.cm", ("box", "length", "cm"), (), "eq"),
        ("context.extra.team.lower.eq", ("extra", "team"), ("lower",), "eq"),
        ("tool.lower.glob", (), ("lower",), "glob"),
        ("declared.scope.all.starts_with", ("scope",), ("all",), "starts_with"),
    ],
)
def test_deriving_operators_precede_the_testing_one(
    text: str, path: tuple[str, ...], chain: tuple[str, ...], op: str
) -> None:
    key = parsed(text)
    assert (key.path, key.chain, key.op) == (path, chain, op)


@pytest.mark.parametrize("text", ["args.items.any.price", "args.items.all.price.gt", "args.x.none.y.z"])
def test_the_keys_of_elements_are_written_as_a_mapping(text: str) -> None:
    found = problem(text)
    assert found.code == "E0303"
    assert found.help is not None
    assert "write the keys of elements as a mapping" in found.help


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("args.cmd.regex", "args.cmd.matches"),
        ("args.cmd.nin", "args.cmd.not_in"),
        ("args.cmd.ne", "not: {args.cmd.eq: ...}"),
        ("args.cmd.startswith", "args.cmd.starts_with"),
        ("args.cmd.endsWith", "args.cmd.ends_with"),
        ("args.cmd.len", "args.cmd.length"),
        ("args.cmd.lenght", "args.cmd.length"),
        ("args.cmd.icontains", "args.cmd.lower.contains"),
        ("args.tags.any.equals", "args.tags.any.eq"),
        ("args.tags.some", "args.tags.any"),
        ("tool.lower.equals", "tool.lower.eq"),
        ("declared.scope.none_of", "declared.scope.none"),
        ("args.cmd.equals", "args.cmd.eq"),
        ("args.n.GT", "args.n.gt"),
        ("args.cmd.MATCHES", "args.cmd.matches"),
        ("args.cmd.matchs", "args.cmd.matches"),
        ("args.n.betwen", "args.n.between"),
        ("args.cmd.not", "not: {args.cmd.eq: ...}"),
        ("tool.notin", "tool.not_in"),
        ("declared.cost.equals", "declared.cost.eq"),
    ],
)
def test_what_was_meant_as_an_operator_is_named(text: str, help: str) -> None:
    found = problem(text)
    assert found.code == "E0303"
    assert found.help is not None
    assert help in found.help


@pytest.mark.parametrize(
    ("text", "code", "help"),
    [
        ("arg.cmd", "E0301", "args.cmd"),
        ("Args.cmd", "E0301", "args.cmd"),
        ("ctx.environment", "E0301", "context.environment"),
        ("contex.environment", "E0301", "context.environment"),
        ("environment", "E0301", "context.environment"),
        ("cost.in", "E0301", "declared.cost.in"),
        ("cmd", "E0301", "args.cmd"),
        ("declared.scop", "E0302", "declared.scope"),
        ("context.enviroment", "E0302", "context.environment"),
        ("context.env", "E0302", "context.environment"),
        ("declared.blast.gt", "E0302", "declared.blast_radius_hint.gt"),
        ("context.principal.nam", "E0302", "context.principal.name"),
        ("anyof", "E0304", "any_of"),
        ("ANY_OF", "E0304", "any_of"),
        ("or", "E0304", "any_of"),
        ("all", "E0304", "all_of"),
        ("none_of", "E0304", "not"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_closest_known_one(text: str, code: str, help: str) -> None:
    found = problem(text)
    assert found.code == code
    assert found.help is not None
    assert f"`{help}`" in found.help


@pytest.mark.parametrize(
    "text",
    [
        "args..x",
        "args.",
        ".args",
        "args.x.",
        "args[0]",
        "args[x]",
        'args["x',
        'args["x"]y',
        '["x"]',
        "args. x",
        "args.x .eq",
        'args["\\q"]',
        'args["\\ud800"]',
        "args.a\u200bb",
        "args.a\tb",
        "",
        " tool",
        "args.x[]",
    ],
)
def test_what_is_not_a_path_is_an_error(text: str) -> None:
    assert problem(text).code in ("E0305", "E0301")


@pytest.mark.parametrize(
    "text", ["declared", "context", "declared.eq", "context.principal", "context.principal.exists"]
)
def test_a_group_of_fields_is_no_value(text: str) -> None:
    assert problem(text).code == "E0309"


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from([*NESTING, "gt"]), max_size=4
    ),
    st.sampled_from([None, *sorted(OPERATORS.keys() - LEADING)]),
)
def test_every_path_can_be_written_and_reads_as_itself(steps: list[str], operator: str | None) -> None:
    path = tuple(step for step in steps if all(char.isprintable() or ord(char) <= 0xFFFF for char in step))
    if operator in BELOW_ARGS and not path:
        path = ("x",)
    key = parsed(written("args", path, operator))
    assert (key.path, key.op) == (path, operator or "eq")


@given(st.text(max_size=30))
def test_no_text_makes_the_parser_fail(text: str) -> None:
    assert isinstance(parse_key(text), Key | KeyProblem)


@pytest.mark.parametrize(
    ("key", "path", "chain", "op"),
    [
        ("args.x.first", ("x", "first"), (), "eq"),
        ("args.x.first.in", ("x",), ("first",), "in"),
        ("args.x.any.first.lower.eq", ("x",), ("any", "first", "lower"), "eq"),
        ("args.first.in", ("first",), (), "in"),
        ("args.x.first.name", ("x", "first", "name"), (), "eq"),
        ('args.x["first"].in', ("x", "first"), (), "in"),
        ("args.x.byte_length", ("x", "byte_length"), (), "eq"),
        ("args.x.byte_length.le", ("x",), ("byte_length",), "le"),
        ("args.urls.first.url.host", ("urls",), ("first", "url", PartStep(("host",))), "eq"),
        ("args.x.json.name.first", ("x",), ("json", PartStep(("name", "first"))), "eq"),
        ("args.x.json.name.first.in", ("x",), ("json", PartStep(("name",)), "first"), "in"),
        ("args.x.json.items.first.id", ("x",), ("json", PartStep(("items", "first", "id"))), "eq"),
    ],
)
def test_first_and_byte_length_are_operators_only_before_another_one(
    key: str, path: tuple[str, ...], chain: tuple[object, ...], op: str
) -> None:
    found = parsed(key)
    assert (found.path, found.chain, found.op) == (path, chain, op)
